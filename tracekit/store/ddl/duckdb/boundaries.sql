-- Every boundary once, fused from its witnesses. Each edge comes from the witness with the least slack, ties by rank; where
-- the others agree with it, their bounds narrow it. How far they disagree stands in its own column and is never averaged away.
-- A transcript, and a client that prints whole messages, take the last block that they have for the end of a response. Where somebody
-- who sees more of the stream has it open, and no stop reason came, that is no end.
CREATE VIEW boundaries AS
WITH seen AS (
    SELECT
        * REPLACE (
            CASE
                WHEN sees > CASE source WHEN 'transcript' THEN 0 WHEN 'progress' THEN 0 WHEN 'stream_json' THEN 1 ELSE 2 END
                 AND attributes['gen_ai.response.finish_reasons'] IS NULL
                    THEN NULL
                ELSE end_ns
            END AS end_ns
        )
    FROM witnesses
    WHERE alone = 0
),
edges AS (
    SELECT
        seen.*,
        start_ns + start_slack_ns AS latest_start_ns,
        end_ns - end_slack_ns AS earliest_end_ns,
        start_slack_ns * 16 + rank AS start_order,
        CASE WHEN end_ns IS NULL THEN NULL ELSE end_slack_ns * 16 + rank END AS end_order
    FROM seen
),
fused AS (
    SELECT
        session_id,
        boundary,
        key,
        COUNT(*) AS witness_count,
        STRING_AGG(source, ',' ORDER BY rank) AS witnesses,
        ARG_MIN(agent_id, rank) AS agent_id,
        ARG_MIN(parent_key, rank) AS parent_key,
        ARG_MIN(name, rank) AS name,
        ARG_MIN(source, start_order) AS start_source,
        ARG_MIN(source, end_order) AS end_source,
        MAX(start_ns) AS start_low,
        MIN(latest_start_ns) AS start_high,
        ARG_MIN(start_ns, start_order) AS start_ns,
        ARG_MIN(start_slack_ns, start_order) AS start_slack_ns,
        MAX(earliest_end_ns) AS end_low,
        MIN(end_ns) AS end_high,
        ARG_MIN(end_ns, end_order) AS end_ns,
        ARG_MIN(end_slack_ns, end_order) AS end_slack_ns,
        MAX(CASE status WHEN 'error' THEN 3 WHEN 'cancelled' THEN 2 WHEN 'ok' THEN 1 ELSE 0 END) AS worst,
        -- The tokens of a compaction are best known to whoever writes the conversation down; all else to the better witness.
        LIST_REDUCE(LIST(attributes ORDER BY CASE boundary WHEN 'compaction' THEN -rank ELSE rank END DESC), lambda a, b: MAP_CONCAT(a, b))
            AS attributes,
        MAX(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT)) AS last_seen_ns
    FROM edges
    GROUP BY session_id, boundary, key
)
SELECT
    session_id,                                                                             -- the session
    agent_id,                                                                               -- NULL: the main agent
    boundary,                                                                               -- what kind of boundary
    key,                                                                                    -- its identity
    CASE boundary                                                                           -- identity of what it is part of: a hook
        WHEN 'hook_reply' THEN COALESCE(attributes['tracekit.hook.tool_use_id'], parent_key) -- that of a call, where anybody knows it
        ELSE parent_key
    END AS parent_key,
    name,                                                                                   -- tool, model, hook, …
    CASE WHEN start_low <= start_high THEN start_low ELSE start_ns END AS start_ns,         -- earliest start
    CASE WHEN start_low <= start_high THEN start_high - start_low ELSE start_slack_ns END AS start_slack_ns,
    CASE WHEN end_low <= end_high THEN end_high ELSE end_ns END AS end_ns,                  -- latest end; NULL: open
    COALESCE(CASE WHEN end_low <= end_high THEN end_high - end_low ELSE end_slack_ns END, 0) AS end_slack_ns,
    CASE worst WHEN 3 THEN 'error' WHEN 2 THEN 'cancelled' WHEN 1 THEN 'ok' ELSE 'unset' END AS status,
    CASE                                                                                    -- of all witnesses, the best one's values first;
        WHEN last_seen_ns IS NULL THEN attributes                                           -- what was seen last is the latest of all
        ELSE MAP_CONCAT(attributes, MAP {'tracekit.turn.last_seen_ns': CAST(last_seen_ns AS VARCHAR)})
    END AS attributes,
    start_source,                                                                           -- the witness that gave the start
    end_source,                                                                             -- the witness that gave the end
    witnesses,                                                                              -- all of them, best first
    witness_count,
    GREATEST(start_low - start_high, 0) AS start_disagreement_ns,                           -- gap between the witnesses' bounds
    GREATEST(COALESCE(end_low - end_high, 0), 0) AS end_disagreement_ns
FROM fused
UNION ALL
-- What one witness alone saw stands as that witness saw it: by far the most rows, and the cheap way.
SELECT
    session_id,
    agent_id,
    boundary,
    key,
    parent_key,
    name,
    start_ns,
    start_slack_ns,
    end_ns,
    CASE WHEN end_ns IS NULL THEN 0 ELSE end_slack_ns END,
    status,
    attributes,
    source,
    CASE WHEN end_ns IS NULL THEN NULL ELSE source END,
    source,
    1,
    0,
    0
FROM witnesses
WHERE alone = 1;
