-- Each tool against the stream of the response that issued it: what hid, what could have, and what stood in the way.
--
-- could hide = min(duration, max(0, stop - block completion)); missed = could hide - hidden. What filled the gap between the
-- block's completion and the tool's start is split, in this order, into permission, hook, queue (another tool of the same response
-- was running) and dispatch (nothing visible); missed time is shared out in those proportions. Under a response that was cut nothing
-- could hide for good, so nothing was missed.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a tool counts by its block's completion).
--
-- session_id, agent_id, request_key, model, tool_key, tool_name, ready_ns (the block was complete)
-- has_best         1: the start is measured or proven, so that points can be given
-- cut              1: the response ended without message_stop; what hid under it may be done twice
-- tool_lower_ns, tool_best_ns, tool_upper_ns               duration
-- hidden_lower_ns, hidden_best_ns, hidden_upper_ns
-- could_hide_best_ns, could_hide_upper_ns
-- gap_ns                                                   block completion to start, as far as it lies before message_stop
-- permission_ns, hook_ns, queue_ns                         what filled it
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
    -- As in overlap.sql: a response that was cut ended at its last event, and where that was not measured it certainly lasted to its
    -- last block; one that is open at least began.
    SELECT
        r.session_id,
        r.key AS request_key,
        r.name AS model,
        r.start_ns AS s_out,
        r.start_ns + r.start_slack_ns AS s_in,
        CASE WHEN cut = 1 THEN COALESCE(last_event, r.end_ns) ELSE r.end_ns END AS stop_out,
        CASE
            WHEN r.end_ns IS NULL THEN r.start_ns + r.start_slack_ns
            WHEN cut = 0 OR r.end_slack_ns = 0 AND last_event IS NULL THEN r.end_ns - r.end_slack_ns
            ELSE COALESCE(last_event, LEAST(last_block, r.end_ns - r.end_slack_ns))
        END AS stop_in,
        CASE WHEN r.attributes['tracekit.response.tools_wait'] = 'true' THEN 1 ELSE 0 END AS waits,
        cut,
        COALESCE(proofs.eager, 0) AS eager,
        CASE
            WHEN cut = 1 AND last_event IS NOT NULL AND r.end_ns IS NOT NULL THEN last_event
            WHEN r.end_slack_ns = 0 THEN r.end_ns
            WHEN cut = 1 OR r.end_ns IS NULL THEN NULL
            ELSE LEAST(GREATEST(COALESCE(last_block, r.end_ns), r.end_ns - r.end_slack_ns), r.end_ns)
        END AS stop_best
    FROM (
        SELECT
            mine.*,
            CASE WHEN attributes['tracekit.response.cut'] IS NULL THEN 0 ELSE 1 END AS cut,
            CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT) AS last_event,
            CAST(attributes['tracekit.response.last_block_ns'] AS BIGINT) AS last_block
        FROM mine
        WHERE boundary = 'model_request'
    ) AS r
    LEFT JOIN proofs ON proofs.session_id = r.session_id
),
schedules AS (
    SELECT session_id, key, parent_key, start_ns + start_slack_ns AS ready_ns
    FROM mine
    WHERE boundary = 'tool_schedule'
),
tools AS (
    SELECT
        e.session_id,
        e.agent_id,
        requests.request_key,
        requests.model,
        e.key AS tool_key,
        e.name AS tool_name,
        COALESCE(schedules.ready_ns, e.start_ns) AS ready_ns,
        e.start_ns AS e_out,
        e.start_ns + e.start_slack_ns AS e_in,
        e.end_ns AS end_out,
        e.end_ns - e.end_slack_ns AS end_in,
        s_out,
        s_in,
        stop_out,
        stop_in,
        stop_best,
        waits,
        cut,
        CASE
            WHEN waits = 1 THEN 1
            WHEN stop_best IS NULL THEN 0
            WHEN eager = 1 OR e.start_slack_ns = 0 AND e.start_source <> 'transcript' THEN 1
            ELSE 0
        END AS has_best
    FROM mine AS e
    LEFT JOIN schedules ON schedules.session_id = e.session_id AND schedules.key = e.key
    JOIN requests ON requests.session_id = e.session_id AND requests.request_key = COALESCE(schedules.parent_key, e.parent_key)
    WHERE e.boundary = 'tool_execution'
      AND e.end_ns IS NOT NULL
      AND ($since_ns IS NULL OR COALESCE(schedules.ready_ns, e.start_ns) >= $since_ns)
      AND ($until_ns IS NULL OR COALESCE(schedules.ready_ns, e.start_ns) < $until_ns)
),
gaps AS (
    SELECT *, GREATEST(0, LEAST(e_out, stop_best) - ready_ns) AS gap
    FROM tools
),
blockers AS (
    SELECT gaps.session_id, gaps.tool_key, 'permission' AS cause, b.start_ns AS t0, b.end_ns AS t1
    FROM gaps JOIN mine AS b ON b.session_id = gaps.session_id AND b.key = gaps.tool_key
    WHERE b.boundary = 'permission_wait' AND gap > 0
    UNION ALL
    SELECT gaps.session_id, gaps.tool_key, 'hook', b.start_ns, b.end_ns
    FROM gaps JOIN mine AS b ON b.session_id = gaps.session_id AND b.parent_key = gaps.tool_key
    WHERE b.boundary = 'hook_reply' AND b.attributes['tracekit.hook.event'] = 'PreToolUse' AND gap > 0
    UNION ALL
    SELECT gaps.session_id, gaps.tool_key, 'queue', other.e_out, other.end_out
    FROM gaps
    JOIN tools AS other
      ON other.session_id = gaps.session_id AND other.request_key = gaps.request_key AND other.tool_key <> gaps.tool_key
    WHERE gap > 0
),
edges AS (
    SELECT b.session_id, b.tool_key, cause, GREATEST(t0, ready_ns) AS t, 1 AS delta
    FROM blockers AS b JOIN gaps ON gaps.session_id = b.session_id AND gaps.tool_key = b.tool_key
    WHERE t0 < ready_ns + gap AND t1 > ready_ns
    UNION ALL
    SELECT b.session_id, b.tool_key, cause, LEAST(t1, ready_ns + gap), -1
    FROM blockers AS b JOIN gaps ON gaps.session_id = b.session_id AND gaps.tool_key = b.tool_key
    WHERE t0 < ready_ns + gap AND t1 > ready_ns
),
moments AS (
    SELECT
        session_id,
        tool_key,
        t,
        SUM(CASE WHEN cause = 'permission' THEN delta ELSE 0 END) AS permission,
        SUM(CASE WHEN cause = 'hook' THEN delta ELSE 0 END) AS hook,
        SUM(CASE WHEN cause = 'queue' THEN delta ELSE 0 END) AS queue
    FROM edges
    GROUP BY session_id, tool_key, t
),
running AS (
    SELECT
        session_id,
        tool_key,
        LEAD(t) OVER (PARTITION BY session_id, tool_key ORDER BY t) - t AS length,
        SUM(permission) OVER (PARTITION BY session_id, tool_key ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS permission,
        SUM(hook) OVER (PARTITION BY session_id, tool_key ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS hook,
        SUM(queue) OVER (PARTITION BY session_id, tool_key ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS queue
    FROM moments
),
filled AS (
    SELECT
        session_id,
        tool_key,
        SUM(CASE WHEN permission > 0 THEN length ELSE 0 END) AS permission_ns,
        SUM(CASE WHEN permission = 0 AND hook > 0 THEN length ELSE 0 END) AS hook_ns,
        SUM(CASE WHEN permission = 0 AND hook = 0 AND queue > 0 THEN length ELSE 0 END) AS queue_ns
    FROM running
    GROUP BY session_id, tool_key
)
SELECT
    gaps.session_id,
    gaps.agent_id,
    gaps.request_key,
    gaps.model,
    gaps.tool_key,
    gaps.tool_name,
    gaps.ready_ns,
    gaps.has_best,
    gaps.cut,
    CAST(GREATEST(0, end_in - e_in) AS BIGINT) AS tool_lower_ns,
    CAST(CASE WHEN has_best = 1 THEN end_out - e_out END AS BIGINT) AS tool_best_ns,
    CAST(end_out - e_out AS BIGINT) AS tool_upper_ns,
    CAST(CASE WHEN waits = 1 THEN 0 ELSE GREATEST(0, LEAST(end_in, stop_in) - GREATEST(e_in, s_in)) END AS BIGINT) AS hidden_lower_ns,
    CAST(
        CASE WHEN waits = 1 THEN 0 WHEN has_best = 1 THEN GREATEST(0, LEAST(end_out, stop_best) - GREATEST(e_out, s_out)) END AS BIGINT
    ) AS hidden_best_ns,
    CAST(CASE WHEN waits = 1 THEN 0 ELSE GREATEST(0, LEAST(end_out, COALESCE(stop_out, end_out)) - GREATEST(e_out, s_out)) END AS BIGINT)
        AS hidden_upper_ns,
    CAST(
        CASE
            WHEN cut = 1 THEN 0
            WHEN has_best = 1 AND waits = 0 THEN LEAST(end_out - e_out, GREATEST(0, stop_best - ready_ns))
        END AS BIGINT
    ) AS could_hide_best_ns,
    CAST(CASE WHEN cut = 1 THEN 0 ELSE LEAST(end_out - e_out, GREATEST(0, COALESCE(stop_out, end_out) - ready_ns)) END AS BIGINT)
        AS could_hide_upper_ns,
    CAST(CASE WHEN cut = 1 THEN 0 WHEN has_best = 1 AND waits = 0 THEN gap END AS BIGINT) AS gap_ns,
    CAST(COALESCE(permission_ns, 0) AS BIGINT) AS permission_ns,
    CAST(COALESCE(hook_ns, 0) AS BIGINT) AS hook_ns,
    CAST(COALESCE(queue_ns, 0) AS BIGINT) AS queue_ns
FROM gaps LEFT JOIN filled ON filled.session_id = gaps.session_id AND filled.tool_key = gaps.tool_key
ORDER BY gaps.ready_ns, gaps.session_id, gaps.tool_key;
