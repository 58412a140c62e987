-- Where every nanosecond of each turn went. One row a turn and category; over a turn the durations sum to its wall.
--
-- At each instant of a turn the category is that of the boundary that is open: first what certainly was (between a boundary's
-- latest start and earliest end), in the order compaction, retry wait, streaming, model wait, tool, permission, hook, MCP
-- connection; then what possibly was (between earliest start and latest end); then nothing: the client itself, or `unobserved`
-- where nothing of the turn was seen at all, or nothing more of a turn that is still open.
-- Streaming with a tool certainly running under it is a category of its own.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a turn counts by its start).
--
-- session_id    the session
-- agent_id      NULL: the main agent
-- turn_key      identity of the turn
-- turn_start_ns Unix time
-- wall_ns       length of the turn
-- category      see above
-- certain       1: it certainly was this; 0: it may have been this, the witnesses cannot tell
-- duration_ns   time in this category
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
seen AS (
    -- The last thing of an agent that any witness saw: a gateway still tells of a stream when nothing more is written to a transcript.
    SELECT
        session_id,
        COALESCE(agent_id, '') AS agent,
        MAX(GREATEST(
            COALESCE(end_ns - end_slack_ns, start_ns + start_slack_ns),
            COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0),
            COALESCE(CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT), 0)
        )) AS seen_ns
    FROM mine
    WHERE boundary <> 'session'
    GROUP BY session_id, COALESCE(agent_id, '')
),
all_turns AS (
    SELECT
        session_id,
        COALESCE(agent_id, '') AS agent,
        agent_id,
        key,
        start_ns,
        end_ns,
        CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT) AS last_seen_ns,
        ROW_NUMBER() OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns DESC, key) AS latest
    FROM mine
    WHERE boundary = 'turn'
),
turns AS (
    -- An open turn lasts at least as long as it was seen to; the latest one, as long as anything of its agent was.
    SELECT
        all_turns.session_id,
        all_turns.agent,
        agent_id,
        key AS turn_key,
        start_ns AS turn_start,
        CASE
            WHEN end_ns IS NOT NULL THEN GREATEST(end_ns, start_ns)
            WHEN latest = 1 THEN GREATEST(seen_ns, start_ns)
            ELSE GREATEST(COALESCE(last_seen_ns, start_ns), start_ns)
        END AS turn_end,
        CASE WHEN end_ns IS NULL THEN 1 ELSE 0 END AS is_open
    FROM all_turns
    JOIN seen ON seen.session_id = all_turns.session_id AND seen.agent = all_turns.agent
    WHERE ($since_ns IS NULL OR start_ns >= $since_ns)
      AND ($until_ns IS NULL OR start_ns < $until_ns)
),
pieces AS (
    SELECT
        session_id,
        COALESCE(agent_id, '') AS agent,
        key,
        boundary,
        start_ns,
        start_ns + start_slack_ns AS latest_start,
        end_ns - end_slack_ns AS earliest_end,
        end_ns,
        CAST(attributes['tracekit.response.first_byte_ns'] AS BIGINT) AS first_byte,
        CAST(attributes['tracekit.response.last_block_ns'] AS BIGINT) AS last_block
    FROM mine
    WHERE boundary IN (
        'model_request', 'tool_execution', 'permission_wait', 'hook_reply', 'retry_wait', 'compaction', 'mcp_connection'
    )
),
first_blocks AS (
    SELECT session_id, parent_key, MIN(end_ns) AS first_block
    FROM mine
    WHERE boundary = 'stream_event'
    GROUP BY session_id, parent_key
),
requests AS (
    SELECT
        pieces.*,
        first_block,
        -- From here on the response was certainly coming: its first byte, or, unseen, its first whole block.
        COALESCE(first_byte, first_block) AS streaming_from
    FROM pieces LEFT JOIN first_blocks ON first_blocks.session_id = pieces.session_id AND first_blocks.parent_key = pieces.key
    WHERE boundary = 'model_request'
),
intervals AS (
    SELECT session_id, agent, 'streaming' AS category, 1 AS certain, streaming_from AS t0, GREATEST(earliest_end, last_block) AS t1 FROM requests
    UNION ALL
    SELECT session_id, agent, 'streaming', 0, streaming_from, end_ns FROM requests
    UNION ALL
    SELECT session_id, agent, 'model_wait', 1, latest_start, first_byte FROM requests WHERE first_byte IS NOT NULL
    UNION ALL
    SELECT session_id, agent, 'model_wait', 0, start_ns, COALESCE(streaming_from, end_ns) FROM requests
    UNION ALL
    SELECT
        session_id,
        agent,
        CASE boundary
            WHEN 'tool_execution' THEN 'tool' WHEN 'permission_wait' THEN 'permission' WHEN 'hook_reply' THEN 'hook'
            ELSE boundary
        END,
        1,
        latest_start,
        earliest_end
    FROM pieces
    WHERE boundary <> 'model_request'
    UNION ALL
    SELECT
        session_id,
        agent,
        CASE boundary
            WHEN 'tool_execution' THEN 'tool' WHEN 'permission_wait' THEN 'permission' WHEN 'hook_reply' THEN 'hook'
            ELSE boundary
        END,
        0,
        start_ns,
        end_ns
    FROM pieces
    WHERE boundary <> 'model_request'
),
clipped AS (
    SELECT
        turns.session_id,
        turns.agent,
        turn_key,
        category,
        certain,
        GREATEST(t0, turn_start) AS t0,
        -- What is still open lasts to the end of what was seen of the turn.
        LEAST(COALESCE(t1, turn_end), turn_end) AS t1
    FROM turns
    JOIN intervals ON intervals.session_id = turns.session_id AND intervals.agent = turns.agent
    WHERE t0 < turn_end AND COALESCE(t1, turn_end) > turn_start AND t0 < COALESCE(t1, turn_end)
),
edges AS (
    SELECT session_id, agent, turn_key, category, certain, t0 AS t, 1 AS delta FROM clipped
    UNION ALL
    SELECT session_id, agent, turn_key, category, certain, t1, -1 FROM clipped
    UNION ALL
    SELECT session_id, agent, turn_key, 'turn', 1, turn_start, 0 FROM turns
    UNION ALL
    SELECT session_id, agent, turn_key, 'turn', 1, turn_end, 0 FROM turns
),
moments AS (
    SELECT
        session_id,
        agent,
        turn_key,
        t,
        SUM(CASE WHEN certain = 1 AND category = 'compaction' THEN delta ELSE 0 END) AS c_compaction,
        SUM(CASE WHEN certain = 1 AND category = 'retry_wait' THEN delta ELSE 0 END) AS c_retry,
        SUM(CASE WHEN certain = 1 AND category = 'streaming' THEN delta ELSE 0 END) AS c_streaming,
        SUM(CASE WHEN certain = 1 AND category = 'model_wait' THEN delta ELSE 0 END) AS c_model,
        SUM(CASE WHEN certain = 1 AND category = 'tool' THEN delta ELSE 0 END) AS c_tool,
        SUM(CASE WHEN certain = 1 AND category = 'permission' THEN delta ELSE 0 END) AS c_permission,
        SUM(CASE WHEN certain = 1 AND category = 'hook' THEN delta ELSE 0 END) AS c_hook,
        SUM(CASE WHEN certain = 1 AND category = 'mcp_connection' THEN delta ELSE 0 END) AS c_mcp,
        SUM(CASE WHEN certain = 0 AND category = 'tool' THEN delta ELSE 0 END) AS p_tool,
        SUM(CASE WHEN certain = 0 AND category = 'permission' THEN delta ELSE 0 END) AS p_permission,
        SUM(CASE WHEN certain = 0 AND category = 'compaction' THEN delta ELSE 0 END) AS p_compaction,
        SUM(CASE WHEN certain = 0 AND category = 'streaming' THEN delta ELSE 0 END) AS p_streaming,
        SUM(CASE WHEN certain = 0 AND category = 'model_wait' THEN delta ELSE 0 END) AS p_model,
        SUM(CASE WHEN certain = 0 AND category = 'hook' THEN delta ELSE 0 END) AS p_hook,
        SUM(CASE WHEN certain = 0 AND category = 'mcp_connection' THEN delta ELSE 0 END) AS p_mcp,
        SUM(CASE WHEN delta > 0 THEN 1 ELSE 0 END) AS begun
    FROM edges
    GROUP BY session_id, agent, turn_key, t
),
running AS (
    SELECT
        session_id,
        agent,
        turn_key,
        t,
        LEAD(t) OVER (PARTITION BY session_id, agent, turn_key ORDER BY t) AS until,
        SUM(c_compaction) OVER w AS c_compaction,
        SUM(c_retry) OVER w AS c_retry,
        SUM(c_streaming) OVER w AS c_streaming,
        SUM(c_model) OVER w AS c_model,
        SUM(c_tool) OVER w AS c_tool,
        SUM(c_permission) OVER w AS c_permission,
        SUM(c_hook) OVER w AS c_hook,
        SUM(c_mcp) OVER w AS c_mcp,
        SUM(p_tool) OVER w AS p_tool,
        SUM(p_permission) OVER w AS p_permission,
        SUM(p_compaction) OVER w AS p_compaction,
        SUM(p_streaming) OVER w AS p_streaming,
        SUM(p_model) OVER w AS p_model,
        SUM(p_hook) OVER w AS p_hook,
        SUM(p_mcp) OVER w AS p_mcp,
        SUM(begun) OVER w AS begun,
        SUM(begun) OVER (PARTITION BY session_id, agent, turn_key) AS begun_in_all
    FROM moments
    WINDOW w AS (PARTITION BY session_id, agent, turn_key ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
segments AS (
    SELECT
        running.session_id,
        running.agent,
        running.turn_key,
        until - t AS length,
        CASE
            WHEN c_compaction > 0 THEN 'compaction'
            WHEN c_retry > 0 THEN 'retry_wait'
            WHEN c_streaming > 0 AND c_tool > 0 THEN 'streaming_hidden'
            WHEN c_streaming > 0 THEN 'streaming'
            WHEN c_model > 0 THEN 'model_wait'
            WHEN c_tool > 0 THEN 'tool'
            WHEN c_permission > 0 THEN 'permission'
            WHEN c_hook > 0 THEN 'hook'
            WHEN c_mcp > 0 THEN 'mcp_connection'
            WHEN p_tool > 0 THEN 'tool'
            WHEN p_permission > 0 THEN 'permission'
            WHEN p_compaction > 0 THEN 'compaction'
            WHEN p_model > 0 THEN 'model_wait'
            WHEN p_streaming > 0 THEN 'streaming'
            WHEN p_hook > 0 THEN 'hook'
            WHEN p_mcp > 0 THEN 'mcp_connection'
            WHEN begun_in_all = 0 OR begun = begun_in_all AND is_open = 1 THEN 'unobserved'
            ELSE 'client'
        END AS category,
        CASE
            WHEN c_compaction + c_retry + c_streaming + c_model + c_tool + c_permission + c_hook + c_mcp > 0 THEN 1
            WHEN p_tool + p_permission + p_compaction + p_streaming + p_model + p_hook + p_mcp > 0 THEN 0
            ELSE 1
        END AS certain
    FROM running
    JOIN turns ON turns.session_id = running.session_id AND turns.agent = running.agent AND turns.turn_key = running.turn_key
    WHERE until IS NOT NULL
)
SELECT
    turns.session_id,
    turns.agent_id,
    turns.turn_key,
    turns.turn_start AS turn_start_ns,
    turns.turn_end - turns.turn_start AS wall_ns,
    turns.is_open,
    segments.category,
    segments.certain,
    CAST(SUM(segments.length) AS BIGINT) AS duration_ns
FROM turns
JOIN segments ON segments.session_id = turns.session_id AND segments.agent = turns.agent AND segments.turn_key = turns.turn_key
GROUP BY
    turns.session_id, turns.agent_id, turns.turn_key, turns.turn_start, turns.turn_end, turns.is_open, segments.category, segments.certain
ORDER BY turns.turn_start, turns.session_id, turns.turn_key, duration_ns DESC;
