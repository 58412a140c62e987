-- Tool latency and the stream it hid behind. One row a response that issued tools.
--
-- S is the response's window (request start to message_stop), E the execution intervals of the tools that this response issued,
-- |.| the length of a union. hidden = |S n E| = |S| + |E| - |S u E|, exposed = |E| - hidden, parallel saving = sum|E| - |union E|.
-- S is one interval, so |S n E| is the sum of what S shares with each piece that a tool adds to the union of those before it.
-- Each is computed three times: from inner intervals (latest start to earliest end), from outer ones (earliest start to latest
-- end), and, where it can be had, from the best estimates. A range holds the truth; a point is given only where it does.
--
-- best exists where every tool's start is measured, or where the session proves that tools start during the stream (some result
-- stands before its message's last block): a tool is then taken to start when its block is complete. Where its end is open by more
-- than 100 ms, too, that says nothing: recorded runs were then off by up to 0.5 s. In clients that start tools after the message
-- nothing hides, by their construction. A response that was cut ended at its last event, and one that is open has
-- not ended: where no witness measured that event, there is no best.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a response counts by its start).
--
-- session_id, agent_id, request_key, message_id, model, start_ns, version
-- cut             1: the response ended without message_stop; what hid under it may be done twice
-- tools           tool calls that the response issued and that ran
-- stream_ns       best estimate of |S|
-- hidden_lower_ns, hidden_best_ns, hidden_upper_ns
-- exposed_lower_ns, exposed_best_ns, exposed_upper_ns
-- tool_lower_ns, tool_best_ns, tool_upper_ns         |union E|
-- parallel_best_ns, parallel_upper_ns                sum|E| - |union E|
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
proofs AS (
    SELECT session_id, 1 AS eager
    FROM mine
    WHERE boundary = 'model_request'
      AND attributes['tracekit.response.eager_tools'] = 'true'
    GROUP BY session_id
),
requests AS (
    SELECT
        r.session_id,
        r.agent_id,
        r.key AS request_key,
        r.attributes['gen_ai.response.id'] AS message_id,
        r.name AS model,
        r.start_ns AS s_out,
        r.start_ns + r.start_slack_ns AS s_in,
        CASE WHEN r.cut = 1 THEN COALESCE(last_event, r.end_ns) ELSE r.end_ns END AS stop_out,
        CASE WHEN r.cut = 1 THEN COALESCE(last_event, r.end_ns - r.end_slack_ns) ELSE r.end_ns - r.end_slack_ns END AS stop_in,
        CAST(r.attributes['tracekit.response.last_block_ns'] AS BIGINT) AS last_block,
        CASE WHEN r.attributes['tracekit.response.tools_wait'] = 'true' THEN 1 ELSE 0 END AS waits,
        r.cut,
        COALESCE(proofs.eager, 0) AS eager
    FROM (
        SELECT
            mine.*,
            CASE WHEN attributes['tracekit.response.cut'] IS NULL THEN 0 ELSE 1 END AS cut,
            CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT) AS last_event
        FROM mine
        WHERE boundary = 'model_request'
    ) AS r
    LEFT JOIN proofs ON proofs.session_id = r.session_id
    WHERE ($since_ns IS NULL OR r.start_ns >= $since_ns)
      AND ($until_ns IS NULL OR r.start_ns < $until_ns)
),
schedules AS (
    SELECT session_id, key, parent_key, start_ns + start_slack_ns AS ready_ns
    FROM mine
    WHERE boundary = 'tool_schedule'
),
tools AS (
    SELECT
        e.session_id,
        COALESCE(schedules.parent_key, e.parent_key) AS request_key,
        e.key,
        e.start_ns AS e_out,
        e.start_ns + e.start_slack_ns AS e_in,
        e.end_ns AS end_out,
        e.end_ns - e.end_slack_ns AS end_in,
        CASE WHEN e.start_slack_ns = 0 AND e.start_source <> 'transcript' THEN 1 ELSE 0 END AS measured
    FROM mine AS e
    LEFT JOIN schedules ON schedules.session_id = e.session_id AND schedules.key = e.key
    WHERE e.boundary = 'tool_execution' AND e.end_ns IS NOT NULL
),
issued AS (
    SELECT
        requests.*,
        tools.key AS tool_key,
        e_out,
        e_in,
        end_out,
        end_in,
        -- An open response lasts at least as long as its witnesses saw, so possibly over all its tools.
        COALESCE(stop_out, MAX(end_out) OVER (PARTITION BY requests.session_id, requests.request_key)) AS stream_out,
        MIN(measured) OVER (PARTITION BY requests.session_id, requests.request_key) AS all_measured,
        MAX(end_out - end_in) OVER (PARTITION BY requests.session_id, requests.request_key) AS end_slack,
        -- message_stop follows the last block at once; where the end is only bounded, the last block inside the bounds is best.
        CASE
            WHEN stop_in = stop_out THEN stop_out
            WHEN cut = 1 OR stop_out IS NULL THEN NULL
            ELSE LEAST(GREATEST(COALESCE(last_block, stop_out), stop_in), stop_out)
        END AS stop_best
    FROM requests JOIN tools ON tools.session_id = requests.session_id AND tools.request_key = requests.request_key
),
known AS (
    SELECT
        *,
        CASE
            WHEN waits = 1 OR stop_best IS NOT NULL AND (all_measured = 1 OR eager = 1 AND end_slack <= 100000000) THEN 1 ELSE 0
        END AS has_best,
        -- S, inner, outer and best. In clients that start tools after the message nothing hides, so S is empty.
        s_in AS si_0,
        CASE
            WHEN waits = 1 THEN s_in
            -- Of a response that was cut, witnesses may only know when the client gave it up: it certainly lasted to its last block.
            WHEN cut = 1 AND stop_in < stop_out THEN COALESCE(LEAST(last_block, stop_in), s_in)
            ELSE COALESCE(stop_in, s_in)
        END AS si_1,
        CASE WHEN waits = 1 THEN s_out ELSE stream_out END AS so_1,
        CASE WHEN waits = 1 THEN s_out ELSE COALESCE(stop_best, s_out) END AS sb_1
    FROM issued
),
swept AS (
    -- What each tool adds to the union of those that began before it: from here to its own end.
    SELECT
        *,
        GREATEST(e_in, COALESCE(MAX(end_in) OVER (
            PARTITION BY session_id, request_key ORDER BY e_in, end_in, tool_key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), e_in)) AS new_in,
        GREATEST(e_out, COALESCE(MAX(end_out) OVER (
            PARTITION BY session_id, request_key ORDER BY e_out, end_out, tool_key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), e_out)) AS new_out
    FROM known
),
measured AS (
    SELECT
        session_id,
        agent_id,
        request_key,
        message_id,
        model,
        s_out AS start_ns,
        MAX(cut) AS cut,
        MAX(has_best) AS has_best,
        COUNT(*) AS tools,
        MAX(COALESCE(stop_best, last_block, s_in)) - MIN(s_out) AS stream_ns,
        SUM(GREATEST(0, end_in - new_in)) AS e_i,
        SUM(GREATEST(0, end_out - new_out)) AS e_o,
        SUM(GREATEST(0, end_out - e_out)) AS sum_o,
        SUM(GREATEST(0, LEAST(end_in, si_1) - GREATEST(new_in, si_0))) AS inner_in_inner,
        SUM(GREATEST(0, LEAST(end_in, so_1) - GREATEST(new_in, s_out))) AS inner_in_outer,
        SUM(GREATEST(0, LEAST(end_out, si_1) - GREATEST(new_out, si_0))) AS outer_in_inner,
        SUM(GREATEST(0, LEAST(end_out, so_1) - GREATEST(new_out, s_out))) AS outer_in_outer,
        SUM(GREATEST(0, LEAST(end_out, sb_1) - GREATEST(new_out, s_out))) AS outer_in_best
    FROM swept
    GROUP BY session_id, agent_id, request_key, message_id, model, s_out
)
SELECT
    session_id,
    agent_id,
    request_key,
    message_id,
    model,
    start_ns,
    cut,
    tools,
    CAST(stream_ns AS BIGINT) AS stream_ns,
    CAST(inner_in_inner AS BIGINT) AS hidden_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN outer_in_best END AS BIGINT) AS hidden_best_ns,
    CAST(outer_in_outer AS BIGINT) AS hidden_upper_ns,
    CAST(e_i - inner_in_outer AS BIGINT) AS exposed_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN e_o - outer_in_best END AS BIGINT) AS exposed_best_ns,
    CAST(e_o - outer_in_inner AS BIGINT) AS exposed_upper_ns,
    CAST(e_i AS BIGINT) AS tool_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN e_o END AS BIGINT) AS tool_best_ns,
    CAST(e_o AS BIGINT) AS tool_upper_ns,
    CAST(CASE WHEN has_best = 1 THEN sum_o - e_o END AS BIGINT) AS parallel_best_ns,
    CAST(sum_o - e_o AS BIGINT) AS parallel_upper_ns
FROM measured
ORDER BY start_ns, session_id, request_key;
