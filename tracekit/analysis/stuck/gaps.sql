-- How long things lasted that somebody's timer may have ended: the raw material of the histogram of gaps.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; counted by the beginning of the gap),
-- $shortest_ns: shorter ones are left out.
--
-- session_id, start_ns
-- kind                   what lasted: `first byte`, `failed attempt`, `hook`, `tool`, `mcp call`, `silence before a request`
-- name                   of which model, tool or hook
-- duration_ns
-- slack_ns               how much shorter it may have been
WITH mine AS (
    SELECT * FROM boundaries WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
requests AS (
    SELECT session_id, agent_id, name, start_ns, start_slack_ns, end_ns, CAST(attributes['tracekit.response.first_byte_ns'] AS BIGINT) AS first_byte_ns
    FROM mine
    WHERE boundary = 'model_request'
),
ends AS (
    SELECT session_id, agent_id, end_ns, end_slack_ns FROM mine WHERE boundary = 'tool_schedule' AND end_ns IS NOT NULL
),
silences AS (
    -- Only the last result before a request tells what it waited for.
    SELECT requests.session_id, requests.name, requests.start_ns, requests.start_slack_ns, MAX(ends.end_ns) AS since_ns
    FROM requests
    JOIN ends
      ON ends.session_id = requests.session_id AND COALESCE(ends.agent_id, '') = COALESCE(requests.agent_id, '')
     AND ends.end_ns <= requests.start_ns + requests.start_slack_ns
    GROUP BY requests.session_id, requests.name, requests.start_ns, requests.start_slack_ns
),
gaps AS (
    SELECT session_id, start_ns, 'first byte' AS kind, name, first_byte_ns - start_ns AS duration_ns, start_slack_ns AS slack_ns
    FROM requests
    WHERE first_byte_ns IS NOT NULL
    UNION ALL
    SELECT session_id, start_ns, 'failed attempt', name, end_ns - start_ns, start_slack_ns + end_slack_ns
    FROM mine
    WHERE boundary = 'request_attempt' AND status IN ('error', 'cancelled') AND end_ns IS NOT NULL
    UNION ALL
    SELECT session_id, start_ns, CASE boundary WHEN 'hook_reply' THEN 'hook' WHEN 'mcp_call' THEN 'mcp call' ELSE 'tool' END, name,
        end_ns - start_ns, start_slack_ns + end_slack_ns
    FROM mine
    WHERE boundary IN ('hook_reply', 'mcp_call', 'tool_execution') AND end_ns IS NOT NULL
    UNION ALL
    SELECT session_id, since_ns, 'silence before a request', name, start_ns + start_slack_ns - since_ns, start_slack_ns
    FROM silences
)
SELECT session_id, start_ns, kind, name, duration_ns, slack_ns
FROM gaps
WHERE duration_ns >= $shortest_ns
  AND ($since_ns IS NULL OR start_ns >= $since_ns) AND ($until_ns IS NULL OR start_ns < $until_ns)
ORDER BY kind, duration_ns, session_id, start_ns;
