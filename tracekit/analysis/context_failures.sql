-- Failures of tools that came again and again and stayed in the conversation. One row a tool and what was alike.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a call counts by its start), $at_least (times).
--
-- session_id, agent_id (NULL: the main agent), name (the tool)
-- alike          `arguments`: the very same call; `result`: the very same answer, whatever the call
-- digest         of what was alike
-- key            of the first call
-- times          calls
-- first_ns       start of the first
-- last_ns        end of the last
-- filled_bytes   arguments and results of all of them, as characters
WITH failed AS (
    SELECT
        session_id,
        agent_id,
        name,
        key,
        start_ns,
        end_ns,
        attributes['tracekit.tool.input_digest'] AS input_digest,
        attributes['tracekit.tool.result_digest'] AS result_digest,
        COALESCE(CAST(attributes['tracekit.tool.input_size'] AS BIGINT), 0)
            + COALESCE(CAST(attributes['tracekit.tool.result_size'] AS BIGINT), 0) AS size
    FROM boundaries
    WHERE boundary = 'tool_schedule' AND status = 'error' AND end_ns IS NOT NULL
      AND ($session_id IS NULL OR session_id = $session_id)
      AND ($since_ns IS NULL OR start_ns >= $since_ns)
      AND ($until_ns IS NULL OR start_ns < $until_ns)
),
alike AS (
    SELECT *, 'arguments' AS alike, input_digest AS digest FROM failed WHERE input_digest IS NOT NULL
    UNION ALL
    SELECT *, 'result', result_digest FROM failed WHERE result_digest IS NOT NULL
)
SELECT
    session_id,
    agent_id,
    name,
    alike,
    digest,
    MIN(key) AS key,
    COUNT(*) AS times,
    MIN(start_ns) AS first_ns,
    MAX(end_ns) AS last_ns,
    CAST(SUM(size) AS BIGINT) AS filled_bytes
FROM alike
GROUP BY session_id, agent_id, name, alike, digest
HAVING COUNT(*) >= $at_least
ORDER BY session_id, agent_id NULLS FIRST, times DESC, first_ns, alike;
