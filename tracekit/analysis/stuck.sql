-- Open obligations: what each agent's last turn still waits for. One row an open boundary, and one for an open turn with none.
--
-- A boundary that a later turn followed is not open any more: its source closed it.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; counted by the beginning of the wait).
--
-- session_id, agent_id, turn_key
-- boundary, key, name    what is open; `turn` where nothing inside it is visible
-- since_ns               latest time that it can have begun
-- last_seen_ns           the last thing that any witness saw of the session
-- attributes             of the open boundary
-- blocks                 blocks of an open response that had come
-- first_byte_ns          when the first byte of an open response had come, where a witness saw it
-- witnesses              who saw the boundary
WITH mine AS (
    SELECT * FROM boundaries WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
seen AS (
    SELECT
        session_id,
        MAX(GREATEST(
            COALESCE(end_ns - end_slack_ns, start_ns + start_slack_ns),
            COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0)
        )) AS last_seen_ns
    FROM mine
    GROUP BY session_id
),
last_turns AS (
    SELECT session_id, agent_id, key, start_ns, end_ns, attributes, witnesses, name,
        ROW_NUMBER() OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns DESC, key) AS n
    FROM mine
    WHERE boundary = 'turn'
),
open_turns AS (
    SELECT * FROM last_turns WHERE n = 1 AND end_ns IS NULL
),
obligations AS (
    SELECT
        open_turns.session_id,
        open_turns.agent_id,
        open_turns.key AS turn_key,
        mine.boundary,
        mine.key,
        mine.name,
        mine.start_ns + mine.start_slack_ns AS since_ns,
        mine.attributes,
        mine.witnesses
    FROM open_turns
    JOIN mine
      ON mine.session_id = open_turns.session_id
     AND COALESCE(mine.agent_id, '') = COALESCE(open_turns.agent_id, '')
     AND mine.end_ns IS NULL
     AND mine.start_ns + mine.start_slack_ns >= open_turns.start_ns
    WHERE mine.boundary IN (
        'model_request', 'retry_wait', 'tool_schedule', 'tool_execution', 'permission_wait', 'mcp_call', 'mcp_connection', 'hook_reply', 'compaction'
    )
),
told AS (
    -- A call is open as a schedule, an execution and an MCP call at once: the innermost tells the most.
    SELECT o.*
    FROM obligations AS o
    LEFT JOIN obligations AS inside
      ON inside.session_id = o.session_id
     AND inside.key = o.key
     AND (
        (o.boundary = 'tool_schedule' AND inside.boundary IN ('tool_execution', 'permission_wait', 'mcp_call'))
        OR (o.boundary = 'tool_execution' AND inside.boundary IN ('mcp_call', 'permission_wait'))
     )
    WHERE inside.key IS NULL
),
arrived AS (
    SELECT session_id, parent_key, COUNT(*) AS blocks, MIN(start_ns) AS first_start_ns
    FROM mine
    WHERE boundary = 'stream_event'
    GROUP BY session_id, parent_key
),
bare AS (
    SELECT open_turns.session_id, open_turns.agent_id, open_turns.key AS turn_key, 'turn' AS boundary, open_turns.key, open_turns.name,
        COALESCE(CAST(open_turns.attributes['tracekit.turn.last_seen_ns'] AS BIGINT), open_turns.start_ns) AS since_ns,
        open_turns.attributes, open_turns.witnesses
    FROM open_turns
    LEFT JOIN told
      ON told.session_id = open_turns.session_id AND COALESCE(told.agent_id, '') = COALESCE(open_turns.agent_id, '')
    WHERE told.key IS NULL
),
everything AS (
    SELECT * FROM told
    UNION ALL
    SELECT * FROM bare
)
SELECT
    e.session_id,
    e.agent_id,
    e.turn_key,
    e.boundary,
    e.key,
    e.name,
    e.since_ns,
    seen.last_seen_ns,
    e.attributes,
    COALESCE(arrived.blocks, 0) AS blocks,
    COALESCE(CAST(e.attributes['tracekit.response.first_byte_ns'] AS BIGINT), arrived.first_start_ns) AS first_byte_ns,
    e.witnesses
FROM everything AS e
JOIN seen ON seen.session_id = e.session_id
LEFT JOIN arrived ON arrived.session_id = e.session_id AND arrived.parent_key = e.key
WHERE ($since_ns IS NULL OR e.since_ns >= $since_ns) AND ($until_ns IS NULL OR e.since_ns < $until_ns)
ORDER BY e.since_ns, e.session_id, e.key;
