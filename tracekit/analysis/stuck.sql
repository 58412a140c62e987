-- Open obligations: what each agent's last turn still waits for. One row an open boundary, and one for an open turn with none.
--
-- A boundary that a later turn followed is not open any more: its source closed it. Recorders see things before a transcript tells
-- of their turn, or see no turns at all: they are believed without one, because they close what ends.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; counted by the beginning of the wait).
--
-- session_id, agent_id
-- turn_key               empty where no witness has told of the turn
-- boundary, key, name    what is open; `turn` where nothing inside it is visible
-- since_ns               latest time that it can have begun
-- last_seen_ns           the last thing that any witness saw of the session
-- attributes             of the open boundary
-- blocks                 blocks of an open response that had come
-- first_byte_ns          when the first byte of an open response had come, where a witness saw it
-- witnesses              who saw the boundary
-- watched                1: a gateway sees the agent's requests of this turn, so that none of them can be open unseen
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
waits AS (
    SELECT session_id, agent_id, boundary, key, parent_key, name, start_ns + start_slack_ns AS since_ns, attributes, witnesses
    FROM mine
    WHERE end_ns IS NULL AND boundary IN (
        'model_request', 'request_attempt', 'retry_wait', 'tool_schedule', 'tool_execution', 'permission_wait', 'mcp_call',
        'mcp_connection', 'hook_reply', 'compaction'
    )
),
obligations AS (
    SELECT open_turns.session_id, open_turns.agent_id, open_turns.key AS turn_key,
        waits.boundary, waits.key, waits.parent_key, waits.name, waits.since_ns, waits.attributes, waits.witnesses
    FROM open_turns
    JOIN waits
      ON waits.session_id = open_turns.session_id
     AND COALESCE(waits.agent_id, '') = COALESCE(open_turns.agent_id, '')
     AND waits.since_ns >= open_turns.start_ns
    UNION ALL
    SELECT waits.session_id, waits.agent_id, '' AS turn_key,
        waits.boundary, waits.key, waits.parent_key, waits.name, waits.since_ns, waits.attributes, waits.witnesses
    FROM waits
    LEFT JOIN last_turns
      ON last_turns.session_id = waits.session_id AND COALESCE(last_turns.agent_id, '') = COALESCE(waits.agent_id, '') AND last_turns.n = 1
    WHERE (last_turns.key IS NULL OR last_turns.end_ns <= waits.since_ns)
      AND (
        waits.witnesses LIKE '%gateway%' OR waits.witnesses LIKE '%mcp_tap%' OR waits.witnesses LIKE '%instrument%'
        OR waits.witnesses LIKE '%hooks%'
      )
),
told AS (
    -- A call is open as a schedule, an execution and an MCP call at once: the innermost tells the most. An attempt whose response
    -- has begun is open as the request too, and that tells more.
    SELECT o.*
    FROM obligations AS o
    LEFT JOIN obligations AS inside
      ON inside.session_id = o.session_id
     AND (
        (o.boundary = 'request_attempt' AND inside.boundary = 'model_request'
            AND (inside.key = o.parent_key OR inside.attributes['tracekit.opened_as'] = o.parent_key))
        OR (o.boundary = 'tool_schedule' AND inside.boundary IN ('tool_execution', 'permission_wait', 'mcp_call') AND inside.key = o.key)
        OR (o.boundary = 'tool_execution' AND inside.boundary IN ('mcp_call', 'permission_wait') AND inside.key = o.key)
     )
    WHERE inside.key IS NULL
),
watched AS (
    SELECT DISTINCT open_turns.session_id, COALESCE(open_turns.agent_id, '') AS agent
    FROM open_turns
    JOIN mine
      ON mine.session_id = open_turns.session_id
     AND COALESCE(mine.agent_id, '') = COALESCE(open_turns.agent_id, '')
     AND mine.start_ns >= open_turns.start_ns
    WHERE mine.boundary = 'request_attempt' AND mine.witnesses LIKE '%gateway%'
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
    SELECT session_id, agent_id, turn_key, boundary, key, name, since_ns, attributes, witnesses FROM told
    UNION ALL
    SELECT session_id, agent_id, turn_key, boundary, key, name, since_ns, attributes, witnesses FROM bare
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
    e.witnesses,
    CASE WHEN watched.session_id IS NULL THEN 0 ELSE 1 END AS watched
FROM everything AS e
JOIN seen ON seen.session_id = e.session_id
LEFT JOIN watched ON watched.session_id = e.session_id AND watched.agent = COALESCE(e.agent_id, '')
LEFT JOIN arrived ON arrived.session_id = e.session_id AND arrived.parent_key = e.key
WHERE ($since_ns IS NULL OR e.since_ns >= $since_ns) AND ($until_ns IS NULL OR e.since_ns < $until_ns)
ORDER BY e.since_ns, e.session_id, e.key;
