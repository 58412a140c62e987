-- What is open in the sessions of a scope, and what else is known of the same tool calls. One row a boundary.
--
-- A boundary that a later turn followed is not open any more: its source closed it. Recorders see things before a transcript tells
-- of their turn, or see no turns at all: they are believed without one, because they close what ends. A gateway is believed also
-- where a transcript says that its turn is over: that takes the last block for the end, and the stream goes on. A wait that is
-- planned to end later than $as_of_ns is open until then.
--
-- Parameters: $session_id (NULL: all), $as_of_ns.
--
-- session_id, agent_id
-- boundary, key, parent_key, name, attributes
-- start_ns, since_ns     earliest and latest time that it can have begun
-- end_ns                 NULL: open; in the future: planned; else over, and here because its call is not
-- witnesses              who saw it
-- end_source             who saw it end
-- status                 how it ended
-- blocks                 blocks of a response that have come
-- first_start_ns         when the first of them began at the earliest
WITH mine AS (
    SELECT session_id, agent_id, boundary, key, parent_key, name, start_ns, start_slack_ns, end_ns, status, attributes, end_source, witnesses
    FROM boundaries
    WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
last_turns AS (
    SELECT session_id, agent_id, key, start_ns, end_ns,
        ROW_NUMBER() OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns DESC, key) AS n
    FROM mine
    WHERE boundary = 'turn'
),
agent_ends AS (
    SELECT session_id, key AS agent_id, end_ns FROM mine WHERE boundary = 'subagent' AND end_ns IS NOT NULL
),
waits AS (
    SELECT mine.*, mine.start_ns + mine.start_slack_ns AS since_ns
    FROM mine
    WHERE (end_ns IS NULL OR end_ns > $as_of_ns) AND boundary IN (
        'model_request', 'request_attempt', 'retry_wait', 'tool_schedule', 'tool_execution', 'permission_wait', 'mcp_call',
        'mcp_connection', 'hook_reply', 'compaction'
    )
),
owed AS (
    SELECT waits.*
    FROM waits
    LEFT JOIN last_turns
      ON last_turns.session_id = waits.session_id AND COALESCE(last_turns.agent_id, '') = COALESCE(waits.agent_id, '') AND last_turns.n = 1
    LEFT JOIN agent_ends ON agent_ends.session_id = waits.session_id AND agent_ends.agent_id = waits.agent_id
    WHERE (agent_ends.end_ns IS NULL OR agent_ends.end_ns <= waits.since_ns)
      AND (
        last_turns.key IS NULL
        OR (last_turns.end_ns IS NULL AND waits.since_ns >= last_turns.start_ns)
        OR last_turns.end_ns <= waits.since_ns
        OR (
            waits.boundary IN ('model_request', 'request_attempt') AND waits.since_ns >= last_turns.start_ns
            AND (waits.witnesses LIKE '%gateway%' OR waits.witnesses LIKE '%instrument%')
        )
      )
),
calls AS (
    SELECT DISTINCT session_id, key FROM owed WHERE boundary IN ('tool_schedule', 'tool_execution', 'permission_wait', 'mcp_call')
),
told AS (
    SELECT session_id, agent_id, boundary, key, parent_key, name, attributes, start_ns, since_ns, end_ns, witnesses, end_source, status
    FROM owed
    UNION ALL
    SELECT mine.session_id, mine.agent_id, mine.boundary, mine.key, mine.parent_key, mine.name, mine.attributes,
        mine.start_ns, mine.start_ns + mine.start_slack_ns AS since_ns, mine.end_ns, mine.witnesses, mine.end_source, mine.status
    FROM mine
    JOIN calls ON calls.session_id = mine.session_id AND calls.key = mine.key
    WHERE mine.boundary IN ('tool_schedule', 'tool_execution', 'permission_wait', 'mcp_call') AND mine.end_ns <= $as_of_ns
),
arrived AS (
    SELECT session_id, parent_key, COUNT(*) AS blocks, MIN(start_ns) AS first_start_ns
    FROM mine
    WHERE boundary = 'stream_event'
    GROUP BY session_id, parent_key
)
SELECT
    told.session_id,
    told.agent_id,
    told.boundary,
    told.key,
    told.parent_key,
    told.name,
    told.attributes,
    told.start_ns,
    told.since_ns,
    told.end_ns,
    told.witnesses,
    told.end_source,
    told.status,
    COALESCE(arrived.blocks, 0) AS blocks,
    arrived.first_start_ns
FROM told
LEFT JOIN arrived ON told.boundary = 'model_request' AND arrived.session_id = told.session_id AND arrived.parent_key = told.key
ORDER BY told.since_ns, told.session_id, told.key, told.boundary;
