-- Everything that may have failed, one row a boundary, for the rules to judge. Attempts of one request come with their request.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a failure counts by its end).
--
-- session_id, agent_id, boundary, key, parent_key, name, status, attributes, witnesses
-- start_ns, end_ns      when it began and ended, at the latest
-- wait_ns               of an attempt: how long the client slept after it; NULL where no witness saw the wait
-- answered              1: the request that an attempt belongs to was answered in the end
-- answered_ns           of a request: when the last answer before it came; NULL where there was none
-- turn_key              the turn it belongs to, where known
-- went_on               1: the model answered again in the same turn afterwards
-- reconnected           1: the MCP server was connected later
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
candidates AS (
    SELECT session_id, agent_id, boundary, key, parent_key, name, status, attributes, witnesses, start_ns, COALESCE(end_ns, start_ns) AS end_ns,
        COALESCE(end_ns - end_slack_ns, start_ns) AS earliest_end_ns
    FROM mine
    WHERE (
        (boundary IN ('model_request', 'request_attempt', 'tool_schedule', 'tool_execution', 'mcp_call', 'compaction', 'subagent')
            AND status = 'error')
        -- Telemetry tells of a call that was turned down by the decision alone.
        OR (boundary = 'tool_schedule' AND status = 'cancelled' AND attributes['tracekit.permission.decision'] = 'reject')
        OR (boundary = 'model_request' AND attributes['gen_ai.response.finish_reasons'] IN ('max_tokens', 'refusal', 'model_context_window_exceeded'))
        OR (boundary = 'model_request' AND attributes['tracekit.response.cut'] IS NOT NULL)
        OR (boundary = 'turn' AND attributes['tracekit.turn.interrupts'] IS NOT NULL)
        OR (boundary = 'hook_reply' AND attributes['tracekit.hook.outcome'] IN ('blocking', 'error', 'cancelled', 'timeout'))
        OR (boundary = 'mcp_connection' AND attributes['tracekit.mcp.status'] = 'failed')
        OR (boundary IN ('session', 'turn') AND attributes['tracekit.result.is_error'] = 'true')
      )
      AND ($since_ns IS NULL OR COALESCE(end_ns, start_ns) >= $since_ns)
      AND ($until_ns IS NULL OR COALESCE(end_ns, start_ns) < $until_ns)
),
turns AS (
    SELECT session_id, COALESCE(agent_id, '') AS agent, key AS turn_key, start_ns AS turn_start,
        LEAD(start_ns) OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns) AS next_start
    FROM mine
    WHERE boundary = 'turn'
),
answers AS (
    SELECT session_id, COALESCE(agent_id, '') AS agent, key, start_ns + start_slack_ns AS answer_ns
    FROM mine
    WHERE boundary = 'model_request' AND status <> 'error' AND attributes['gen_ai.response.id'] IS NOT NULL
    UNION ALL
    -- Witnesses without message ids (OTLP alone) know an answer by its stop reason.
    SELECT session_id, COALESCE(agent_id, ''), key, start_ns + start_slack_ns
    FROM mine
    WHERE boundary = 'model_request' AND status <> 'error' AND attributes['gen_ai.response.id'] IS NULL
      AND attributes['gen_ai.response.finish_reasons'] IS NOT NULL
),
connections AS (
    SELECT session_id, name, end_ns
    FROM mine
    WHERE boundary = 'mcp_connection' AND attributes['tracekit.mcp.status'] = 'connected'
),
waits AS (
    SELECT session_id, key, MAX(end_ns - start_ns) AS wait_ns FROM mine WHERE boundary = 'retry_wait' GROUP BY session_id, key
),
earlier AS (
    SELECT c.session_id, c.key, MAX(a.answer_ns) AS answered_ns
    FROM candidates AS c
    JOIN answers AS a
      ON a.session_id = c.session_id AND a.agent = COALESCE(c.agent_id, '') AND a.key <> c.key AND a.answer_ns <= c.end_ns
    WHERE c.boundary = 'model_request'
    GROUP BY c.session_id, c.key
),
requests AS (
    SELECT session_id, key, CASE WHEN end_ns IS NOT NULL AND status <> 'error' THEN 1 ELSE 0 END AS answered
    FROM mine
    WHERE boundary = 'model_request'
),
placed AS (
    SELECT candidates.*, turns.turn_key, turns.next_start
    FROM candidates
    LEFT JOIN turns
      ON turns.session_id = candidates.session_id
     AND turns.agent = COALESCE(candidates.agent_id, '')
     AND candidates.end_ns >= turns.turn_start
     AND (turns.next_start IS NULL OR candidates.end_ns < turns.next_start)
)
SELECT
    p.session_id, p.agent_id, p.boundary, p.key, p.parent_key, p.name, p.status, p.attributes, p.witnesses, p.start_ns, p.end_ns, p.turn_key,
    MAX(w.wait_ns) AS wait_ns,
    MAX(b.answered_ns) AS answered_ns,
    COALESCE(MAX(q.answered), 0) AS answered,
    MAX(CASE WHEN a.answer_ns IS NULL OR p.boundary = 'mcp_connection' THEN 0 ELSE 1 END) AS went_on,
    MAX(CASE WHEN c.end_ns IS NULL THEN 0 ELSE 1 END) AS reconnected
FROM placed AS p
LEFT JOIN waits AS w
  ON p.boundary = 'request_attempt' AND w.session_id = p.session_id AND w.key = p.key
LEFT JOIN earlier AS b
  ON p.boundary = 'model_request' AND b.session_id = p.session_id AND b.key = p.key
LEFT JOIN requests AS q
  ON p.boundary = 'request_attempt' AND q.session_id = p.session_id AND q.key = p.parent_key
LEFT JOIN connections AS c
  ON p.boundary = 'mcp_connection' AND c.session_id = p.session_id AND c.name = p.name AND c.end_ns >= p.end_ns
LEFT JOIN answers AS a
  ON a.session_id = p.session_id
 AND a.agent = COALESCE(p.agent_id, '')
 AND a.key <> p.key
 AND a.answer_ns >= p.earliest_end_ns
 AND (p.next_start IS NULL OR a.answer_ns < p.next_start)
GROUP BY
    p.session_id, p.agent_id, p.boundary, p.key, p.parent_key, p.name, p.status, p.attributes, p.witnesses, p.start_ns, p.end_ns, p.turn_key
ORDER BY p.end_ns, p.session_id, p.key;
