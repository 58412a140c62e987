-- Tool latency and the stream it hid behind. One row a response that issued tools.
--
-- S is the response's window (request start to message_stop), E the execution intervals of the tools that this response issued,
-- |.| the length of a union. hidden = |S n E| = |S| + |E| - |S u E|, exposed = |E| - hidden, parallel saving = sum|E| - |union E|.
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
        r.end_ns AS stop_out,
        r.end_ns - r.end_slack_ns AS stop_in,
        CAST(r.attributes['tracekit.response.last_block_ns'] AS BIGINT) AS last_block,
        CASE WHEN r.attributes['tracekit.response.tools_wait'] = 'true' THEN 1 ELSE 0 END AS waits,
        CASE WHEN r.attributes['tracekit.response.cut'] IS NULL THEN 0 ELSE 1 END AS cut,
        COALESCE(proofs.eager, 0) AS eager
    FROM mine AS r
    LEFT JOIN proofs ON proofs.session_id = r.session_id
    WHERE r.boundary = 'model_request'
      AND ($since_ns IS NULL OR r.start_ns >= $since_ns)
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
    SELECT *, CASE WHEN waits = 1 OR stop_best IS NOT NULL AND (all_measured = 1 OR eager = 1 AND end_slack <= 100000000) THEN 1 ELSE 0 END AS has_best FROM issued
),
parts AS (
    -- variant x (stream or tool): 'i' inner, 'o' outer, 'b' best
    SELECT session_id, request_key, 'e' AS part, 'i' AS variant, e_in AS t0, end_in AS t1 FROM known
    UNION ALL SELECT session_id, request_key, 'e', 'o', e_out, end_out FROM known
    UNION ALL SELECT session_id, request_key, 'e', 'b', e_out, end_out FROM known WHERE has_best = 1
    -- Of a response that was cut, witnesses may only know when the client gave it up: it certainly lasted to its last block.
    UNION ALL SELECT DISTINCT session_id, request_key, 's', 'i', s_in, CASE WHEN cut = 1 THEN LEAST(last_block, stop_in) ELSE stop_in END
    FROM known WHERE waits = 0
    UNION ALL SELECT DISTINCT session_id, request_key, 's', 'o', s_out, stream_out FROM known WHERE waits = 0
    UNION ALL SELECT DISTINCT session_id, request_key, 's', 'b', s_out, stop_best FROM known WHERE waits = 0 AND has_best = 1
),
combined AS (
    SELECT session_id, request_key, part || variant AS what, t0, t1 FROM parts
    UNION ALL SELECT session_id, request_key, 'both_i', t0, t1 FROM parts WHERE variant = 'i'
    UNION ALL SELECT session_id, request_key, 'both_o', t0, t1 FROM parts WHERE variant = 'o'
    UNION ALL SELECT session_id, request_key, 'both_b', t0, t1 FROM parts WHERE variant = 'b'
    UNION ALL SELECT session_id, request_key, 'ei_so', t0, t1 FROM parts WHERE part || variant IN ('ei', 'so')
    UNION ALL SELECT session_id, request_key, 'eo_si', t0, t1 FROM parts WHERE part || variant IN ('eo', 'si')
),
swept AS (
    SELECT
        session_id,
        request_key,
        what,
        t0,
        t1,
        MAX(t1) OVER (
            PARTITION BY session_id, request_key, what ORDER BY t0, t1 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS covered_to
    FROM combined
    WHERE t1 > t0
),
unions AS (
    SELECT
        session_id,
        request_key,
        what,
        SUM(CASE WHEN covered_to IS NULL OR covered_to < t0 THEN t1 - t0 WHEN covered_to < t1 THEN t1 - covered_to ELSE 0 END) AS length,
        SUM(t1 - t0) AS total
    FROM swept
    GROUP BY session_id, request_key, what
),
lengths AS (
    -- Where nothing has a length there is no union.
    SELECT
        known.session_id,
        known.request_key,
        COALESCE(MAX(CASE WHEN what = 'ei' THEN length END), 0) AS e_i,
        COALESCE(MAX(CASE WHEN what = 'eo' THEN length END), 0) AS e_o,
        COALESCE(MAX(CASE WHEN what = 'eb' THEN length END), 0) AS e_b,
        COALESCE(MAX(CASE WHEN what = 'eb' THEN total END), 0) AS sum_b,
        COALESCE(MAX(CASE WHEN what = 'eo' THEN total END), 0) AS sum_o,
        COALESCE(MAX(CASE WHEN what = 'si' THEN length END), 0) AS s_i,
        COALESCE(MAX(CASE WHEN what = 'so' THEN length END), 0) AS s_o,
        COALESCE(MAX(CASE WHEN what = 'sb' THEN length END), 0) AS s_b,
        COALESCE(MAX(CASE WHEN what = 'both_i' THEN length END), 0) AS both_i,
        COALESCE(MAX(CASE WHEN what = 'both_o' THEN length END), 0) AS both_o,
        COALESCE(MAX(CASE WHEN what = 'both_b' THEN length END), 0) AS both_b,
        COALESCE(MAX(CASE WHEN what = 'ei_so' THEN length END), 0) AS ei_so,
        COALESCE(MAX(CASE WHEN what = 'eo_si' THEN length END), 0) AS eo_si
    FROM known
    LEFT JOIN unions ON unions.session_id = known.session_id AND unions.request_key = known.request_key
    GROUP BY known.session_id, known.request_key
),
facts AS (
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
        MAX(COALESCE(stop_best, last_block, s_in)) - MIN(s_out) AS stream_ns
    FROM known
    GROUP BY session_id, agent_id, request_key, message_id, model, s_out
)
SELECT
    facts.session_id,
    facts.agent_id,
    facts.request_key,
    facts.message_id,
    facts.model,
    facts.start_ns,
    facts.cut,
    facts.tools,
    CAST(facts.stream_ns AS BIGINT) AS stream_ns,
    CAST(e_i + s_i - both_i AS BIGINT) AS hidden_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN e_b + s_b - both_b END AS BIGINT) AS hidden_best_ns,
    CAST(e_o + s_o - both_o AS BIGINT) AS hidden_upper_ns,
    CAST(ei_so - s_o AS BIGINT) AS exposed_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN both_b - s_b END AS BIGINT) AS exposed_best_ns,
    CAST(eo_si - s_i AS BIGINT) AS exposed_upper_ns,
    CAST(e_i AS BIGINT) AS tool_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN e_b END AS BIGINT) AS tool_best_ns,
    CAST(e_o AS BIGINT) AS tool_upper_ns,
    CAST(CASE WHEN has_best = 1 THEN sum_b - e_b END AS BIGINT) AS parallel_best_ns,
    CAST(sum_o - e_o AS BIGINT) AS parallel_upper_ns
FROM facts JOIN lengths ON lengths.session_id = facts.session_id AND lengths.request_key = facts.request_key
ORDER BY facts.start_ns, facts.session_id, facts.request_key;
