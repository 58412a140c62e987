-- The last calls of each agent's last turn, in the order in which they began: what a loop is looked for in.
--
-- Parameters: $session_id (NULL: all), $calls: at most so many of an agent.
--
-- session_id, agent_id, key, name, start_ns, end_ns
-- input, result          digests of the arguments and of the result; NULL where no witness has them
-- words                  1: the response that issued the call also has text
WITH mine AS (
    SELECT * FROM boundaries WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
turns AS (
    SELECT session_id, agent_id, start_ns, end_ns,
        ROW_NUMBER() OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns DESC, key) AS n
    FROM mine
    WHERE boundary = 'turn'
),
texts AS (
    SELECT DISTINCT session_id, parent_key FROM mine WHERE boundary = 'stream_event' AND name = 'text'
),
calls AS (
    SELECT
        mine.session_id, mine.agent_id, mine.key, mine.parent_key, mine.name, mine.start_ns, mine.end_ns, mine.attributes,
        ROW_NUMBER() OVER (PARTITION BY mine.session_id, COALESCE(mine.agent_id, '') ORDER BY mine.start_ns DESC, mine.key DESC) AS n
    FROM mine
    LEFT JOIN turns
      ON turns.session_id = mine.session_id AND COALESCE(turns.agent_id, '') = COALESCE(mine.agent_id, '') AND turns.n = 1
    WHERE mine.boundary = 'tool_schedule' AND mine.end_ns IS NOT NULL
      AND (turns.start_ns IS NULL OR (turns.end_ns IS NULL AND mine.start_ns >= turns.start_ns))
)
SELECT
    calls.session_id,
    calls.agent_id,
    calls.key,
    calls.name,
    calls.start_ns,
    calls.end_ns,
    calls.attributes['tracekit.tool.input_digest'] AS input,
    calls.attributes['tracekit.tool.result_digest'] AS result,
    CASE WHEN texts.session_id IS NULL THEN 0 ELSE 1 END AS words
FROM calls
LEFT JOIN texts ON texts.session_id = calls.session_id AND texts.parent_key = calls.parent_key
WHERE calls.n <= $calls
ORDER BY calls.session_id, calls.agent_id, calls.start_ns, calls.key;
