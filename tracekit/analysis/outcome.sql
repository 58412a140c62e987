-- How each session ended, as far as its main agent shows it: one row a session.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a session counts by its start).
--
-- session_id, start_ns, seen_ns     first and last sign of it
-- closed                            1: the client's process was seen to end, or the session was
-- verified, verified_by             what somebody said who checked the work: pass, fail; by what
-- subtype, is_error, reason         of its last result message; NULL where there is none
-- turns                             of the main agent
-- turn_open, turn_status, interrupted   of its last turn; interrupted: what was running when the user stopped it
-- request_key, request_open, request_status, stop_reason, cut, gave_up   of its last request
-- answer_ns                         when that request ended, or began where it is open
-- result_ns                         when the last result of a tool was given back to the main agent; NULL: never
-- stopped_result                    1: that result is an interrupt's or a person's no: the agent is not expected to go on
-- open_calls                        calls of the main agent without a result, that no later turn replaced
-- calls, answered_calls             calls of all agents; those that got a result, were turned down or were stopped
-- requests, whole, cut_requests, failed_requests   of all agents: all; those whose answer came whole, by a witness who can tell; broke off; never came
-- hooks, broken_hooks               hook runs; those that did not answer as the protocol wants (a refusal does)
WITH mine AS (
    SELECT * FROM boundaries WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
span AS (
    SELECT
        session_id,
        MIN(start_ns) AS start_ns,
        MAX(GREATEST(
            COALESCE(end_ns, start_ns),
            COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0),
            COALESCE(CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT), 0)
        )) AS seen_ns,
        MAX(CASE WHEN boundary = 'session' AND end_ns IS NOT NULL THEN 1 ELSE 0 END) AS closed,
        MAX(CASE WHEN boundary = 'session' THEN attributes['tracekit.verified'] END) AS verified,
        MAX(CASE WHEN boundary = 'session' THEN attributes['tracekit.verified.evidence'] END) AS verified_by
    FROM mine
    GROUP BY session_id
),
results AS (
    SELECT
        session_id,
        attributes['tracekit.result.subtype'] AS subtype,
        attributes['tracekit.result.is_error'] AS is_error,
        attributes['tracekit.result.terminal_reason'] AS reason,
        ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY COALESCE(end_ns, start_ns) DESC, CASE boundary WHEN 'turn' THEN 0 ELSE 1 END) AS place
    FROM mine
    WHERE boundary IN ('session', 'turn') AND agent_id IS NULL
      AND (attributes['tracekit.result.subtype'] IS NOT NULL OR attributes['tracekit.result.is_error'] IS NOT NULL)
),
turns AS (
    SELECT
        session_id, key, start_ns, end_ns, status, attributes['tracekit.turn.interrupted'] AS interrupted,
        COUNT(*) OVER (PARTITION BY session_id) AS turns,
        ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY start_ns DESC, key) AS place
    FROM mine
    WHERE boundary = 'turn' AND agent_id IS NULL
),
requests AS (
    SELECT
        session_id, key, start_ns, end_ns, status, attributes,
        ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY start_ns + start_slack_ns DESC, COALESCE(end_ns, start_ns) DESC, key) AS place
    FROM mine
    WHERE boundary = 'model_request' AND agent_id IS NULL
),
calls AS (
    SELECT
        c.session_id,
        c.agent_id,
        c.end_ns,
        c.start_ns,
        c.status,
        CASE
            WHEN c.attributes['tracekit.tool.denial_kind'] IN ('user-rejected', 'interrupted') THEN 1
            WHEN c.attributes['tracekit.permission.source'] IN ('user_reject', 'user_abort') THEN 1
            WHEN c.attributes['tracekit.error.text'] LIKE 'The user doesn''t want to proceed%' THEN 1
            WHEN c.attributes['tracekit.error.text'] LIKE '%[Request interrupted by user%' THEN 1
            WHEN c.status = 'cancelled' THEN 1
            ELSE 0
        END AS stopped
    FROM mine AS c
    WHERE c.boundary = 'tool_schedule'
),
last_results AS (
    SELECT session_id, end_ns AS result_ns, stopped,
        ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY end_ns DESC, stopped DESC) AS place
    FROM calls
    WHERE agent_id IS NULL AND end_ns IS NOT NULL
),
call_counts AS (
    SELECT
        calls.session_id,
        COUNT(*) AS calls,
        SUM(CASE WHEN calls.end_ns IS NOT NULL THEN 1 ELSE 0 END) AS answered_calls,
        SUM(CASE WHEN calls.agent_id IS NULL AND calls.end_ns IS NULL AND calls.start_ns >= turns.start_ns THEN 1 ELSE 0 END) AS open_calls
    FROM calls
    LEFT JOIN turns ON turns.session_id = calls.session_id AND turns.place = 1
    GROUP BY calls.session_id
),
request_counts AS (
    SELECT
        session_id,
        COUNT(*) AS requests,
        SUM(CASE WHEN attributes['tracekit.response.cut'] IS NOT NULL THEN 1 ELSE 0 END) AS cut_requests,
        SUM(CASE WHEN attributes['tracekit.response.cut'] IS NULL AND status = 'error' THEN 1 ELSE 0 END) AS failed_requests,
        -- Telemetry calls a response a success whether or not message_stop came: alone it vouches for none.
        SUM(
            CASE WHEN attributes['tracekit.response.cut'] IS NULL AND status <> 'error' AND end_ns IS NOT NULL AND witnesses <> 'otel'
                THEN 1 ELSE 0 END
        ) AS whole
    FROM mine
    WHERE boundary = 'model_request'
    GROUP BY session_id
),
hook_counts AS (
    SELECT
        session_id,
        COUNT(*) AS hooks,
        SUM(CASE WHEN attributes['tracekit.hook.outcome'] IN ('error', 'timeout', 'cancelled') THEN 1 ELSE 0 END) AS broken_hooks
    FROM mine
    WHERE boundary = 'hook_reply'
    GROUP BY session_id
)
SELECT
    span.session_id,
    span.start_ns,
    span.seen_ns,
    span.closed,
    span.verified,
    span.verified_by,
    results.subtype,
    results.is_error,
    results.reason,
    COALESCE(turns.turns, 0) AS turns,
    CASE WHEN turns.key IS NOT NULL AND turns.end_ns IS NULL THEN 1 ELSE 0 END AS turn_open,
    turns.status AS turn_status,
    turns.interrupted,
    requests.key AS request_key,
    CASE WHEN requests.key IS NOT NULL AND requests.end_ns IS NULL THEN 1 ELSE 0 END AS request_open,
    requests.status AS request_status,
    requests.attributes['gen_ai.response.finish_reasons'] AS stop_reason,
    requests.attributes['tracekit.response.cut'] AS cut,
    requests.attributes['tracekit.request.gave_up'] AS gave_up,
    COALESCE(requests.end_ns, requests.start_ns) AS answer_ns,
    last_results.result_ns,
    COALESCE(last_results.stopped, 0) AS stopped_result,
    COALESCE(call_counts.open_calls, 0) AS open_calls,
    COALESCE(call_counts.calls, 0) AS calls,
    COALESCE(call_counts.answered_calls, 0) AS answered_calls,
    COALESCE(request_counts.requests, 0) AS requests,
    COALESCE(request_counts.whole, 0) AS whole,
    COALESCE(request_counts.cut_requests, 0) AS cut_requests,
    COALESCE(request_counts.failed_requests, 0) AS failed_requests,
    COALESCE(hook_counts.hooks, 0) AS hooks,
    COALESCE(hook_counts.broken_hooks, 0) AS broken_hooks
FROM span
LEFT JOIN results ON results.session_id = span.session_id AND results.place = 1
LEFT JOIN turns ON turns.session_id = span.session_id AND turns.place = 1
LEFT JOIN requests ON requests.session_id = span.session_id AND requests.place = 1
LEFT JOIN last_results ON last_results.session_id = span.session_id AND last_results.place = 1
LEFT JOIN call_counts ON call_counts.session_id = span.session_id
LEFT JOIN request_counts ON request_counts.session_id = span.session_id
LEFT JOIN hook_counts ON hook_counts.session_id = span.session_id
WHERE ($since_ns IS NULL OR span.start_ns >= $since_ns)
  AND ($until_ns IS NULL OR span.start_ns < $until_ns)
ORDER BY span.start_ns DESC, span.session_id;
