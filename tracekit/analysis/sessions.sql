-- One row a session. Sub-agents known only from their parent's progress lines are left out of the counts.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a session counts by its start).
--
-- session_id, project, client_version
-- start_ns                    first thing seen of it
-- last_ns                     last thing seen of it
-- turns, agents               prompts of the main agent; sub-agents
-- active_ns                   sum of the walls of the main agent's turns: without the user's idle time
-- messages                    responses of the model, by message id
-- tool_calls, tool_unanswered, tool_errors
-- use_to_result_ns            sum of result time minus tool_use time: permission, queue and, up to client 2.1.23, the rest of the stream are in it
-- results_before_last_block   results stamped before the last block of their own message: proof of streaming tool execution
-- input_tokens, output_tokens, cache_read_tokens, cache_write_tokens
-- compactions, microcompactions, api_errors (failed attempts), api_error_messages (requests given up), interrupts
-- witnesses                   who saw the session
-- verified                    pass or fail, as whoever checked the work from outside said last; NULL: unknown
-- verified_evidence, verified_ns   by what, and when it was said
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
whole AS (
    SELECT
        session_id,
        MIN(start_ns + CASE WHEN boundary = 'model_request' OR boundary = 'request_attempt' THEN start_slack_ns ELSE 0 END) AS start_ns,
        MAX(COALESCE(end_ns - end_slack_ns, start_ns + start_slack_ns)) AS last_ns,
        MAX(CASE WHEN witnesses LIKE '%gateway%' THEN 1 ELSE 0 END) AS by_gateway,
        MAX(CASE WHEN witnesses LIKE '%mcp_tap%' THEN 1 ELSE 0 END) AS by_mcp_tap,
        MAX(CASE WHEN witnesses LIKE '%instrument%' THEN 1 ELSE 0 END) AS by_instrument,
        MAX(CASE WHEN witnesses LIKE '%otel%' THEN 1 ELSE 0 END) AS by_otel,
        MAX(CASE WHEN witnesses LIKE '%hooks%' THEN 1 ELSE 0 END) AS by_hooks,
        MAX(CASE WHEN witnesses LIKE '%stream_json%' THEN 1 ELSE 0 END) AS by_stream_json,
        MAX(CASE WHEN witnesses LIKE '%transcript%' THEN 1 ELSE 0 END) AS by_transcript,
        COUNT(DISTINCT agent_id) AS agents
    FROM mine
    GROUP BY session_id
),
seen AS (
    -- An open turn lasts as long as anything of its agent was seen, as in the account.
    SELECT
        session_id,
        MAX(GREATEST(
            COALESCE(end_ns - end_slack_ns, start_ns + start_slack_ns),
            COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0),
            COALESCE(CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT), 0)
        )) AS seen_ns
    FROM mine
    WHERE boundary <> 'session' AND agent_id IS NULL
    GROUP BY session_id
),
walls AS (
    SELECT
        session_id,
        GREATEST(0, COALESCE(end_ns, CASE WHEN latest = 1 THEN seen_ns END, last_seen_ns, start_ns) - start_ns) AS wall_ns
    FROM (
        SELECT
            mine.session_id,
            mine.start_ns,
            mine.end_ns,
            CAST(mine.attributes['tracekit.turn.last_seen_ns'] AS BIGINT) AS last_seen_ns,
            seen.seen_ns,
            ROW_NUMBER() OVER (PARTITION BY mine.session_id ORDER BY mine.start_ns DESC, mine.key) AS latest
        FROM mine JOIN seen ON seen.session_id = mine.session_id
        WHERE mine.boundary = 'turn' AND mine.agent_id IS NULL AND mine.witnesses <> 'progress'
    ) AS main_turns
),
active AS (
    SELECT session_id, SUM(wall_ns) AS active_ns FROM walls GROUP BY session_id
),
told AS (
    -- A client may be updated within a session: the version of the latest turn that tells one is told.
    SELECT *, ROW_NUMBER() OVER (
        PARTITION BY session_id
        ORDER BY CASE WHEN attributes['tracekit.client.version'] IS NULL THEN 1 ELSE 0 END, start_ns DESC, key
    ) AS latest
    FROM mine
    WHERE boundary IN ('turn', 'session') AND witnesses <> 'progress'
),
turns AS (
    SELECT
        session_id,
        MIN(attributes['tracekit.project']) AS project,
        MAX(CASE WHEN latest = 1 THEN attributes['tracekit.client.version'] END) AS client_version,
        SUM(CASE WHEN boundary = 'turn' AND agent_id IS NULL THEN 1 ELSE 0 END) AS turns,
        SUM(CAST(COALESCE(attributes['tracekit.turn.interrupts'], '0') AS BIGINT)) AS interrupts
    FROM told
    GROUP BY session_id
),
requests AS (
    SELECT
        session_id,
        COUNT(DISTINCT attributes['gen_ai.response.id']) AS messages,
        SUM(CAST(COALESCE(attributes['tracekit.usage.input_tokens'], '0') AS BIGINT)) AS input_tokens,
        SUM(CAST(COALESCE(attributes['gen_ai.usage.output_tokens'], '0') AS BIGINT)) AS output_tokens,
        SUM(CAST(COALESCE(attributes['gen_ai.usage.cache_read.input_tokens'], '0') AS BIGINT)) AS cache_read_tokens,
        SUM(CAST(COALESCE(attributes['gen_ai.usage.cache_write.input_tokens'], '0') AS BIGINT)) AS cache_write_tokens,
        SUM(CASE WHEN attributes['tracekit.request.gave_up'] = 'true' THEN 1 ELSE 0 END) AS api_error_messages
    FROM mine
    WHERE boundary = 'model_request' AND witnesses <> 'progress'
    GROUP BY session_id
),
last_blocks AS (
    SELECT session_id, parent_key, MAX(end_ns) AS last_block_ns
    FROM mine
    WHERE boundary = 'stream_event'
    GROUP BY session_id, parent_key
),
calls AS (
    SELECT
        c.session_id,
        COUNT(*) AS tool_calls,
        SUM(CASE WHEN c.end_ns IS NULL OR c.attributes['tracekit.tool.result_size'] IS NULL AND c.witnesses = 'transcript' THEN 1 ELSE 0 END)
            AS tool_unanswered,
        SUM(CASE WHEN c.status = 'error' THEN 1 ELSE 0 END) AS tool_errors,
        SUM(
            CASE WHEN c.attributes['tracekit.tool.result_size'] IS NOT NULL OR c.witnesses <> 'transcript'
                THEN c.end_ns - c.start_ns - c.start_slack_ns END
        ) AS use_to_result_ns,
        SUM(CASE WHEN c.end_ns < b.last_block_ns AND c.attributes['tracekit.tool.result_size'] IS NOT NULL THEN 1 ELSE 0 END)
            AS results_before_last_block
    FROM mine AS c
    LEFT JOIN last_blocks AS b ON b.session_id = c.session_id AND b.parent_key = c.parent_key
    WHERE c.boundary = 'tool_schedule' AND c.witnesses <> 'progress'
    GROUP BY c.session_id
),
others AS (
    SELECT
        session_id,
        -- Telemetry has no id for a compaction, so it cannot meet the transcript's: the witness that saw more is believed.
        GREATEST(
            SUM(CASE WHEN boundary = 'compaction' AND name = 'compact' THEN 1 ELSE 0 END),
            SUM(CASE WHEN boundary = 'compaction' AND name <> 'compact' AND attributes['tracekit.compaction.kind'] = 'full' THEN 1 ELSE 0 END)
        ) AS compactions,
        SUM(CASE WHEN boundary = 'compaction' AND name = 'microcompact' THEN 1 ELSE 0 END) AS microcompactions,
        SUM(CASE WHEN boundary = 'request_attempt' AND status = 'error' THEN 1 ELSE 0 END) AS api_errors
    FROM mine
    WHERE boundary IN ('compaction', 'request_attempt') AND witnesses <> 'progress'
    GROUP BY session_id
),
marks AS (
    -- The last word counts; one that takes an earlier back leaves it unknown.
    SELECT session_id, attributes['tracekit.verified'] AS verified, attributes['tracekit.verified.evidence'] AS evidence, start_ns
    FROM (
        SELECT spans.*, ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY start_ns DESC, file_id DESC, position DESC) AS n
        FROM spans
        WHERE source = 'marks' AND ($session_id IS NULL OR session_id = $session_id)
    ) AS said
    WHERE n = 1 AND attributes['tracekit.verified'] <> 'unknown'
)
SELECT
    whole.session_id,
    turns.project,
    turns.client_version,
    whole.start_ns,
    whole.last_ns,
    COALESCE(turns.turns, 0) AS turns,
    whole.agents,
    CAST(COALESCE(active.active_ns, 0) AS BIGINT) AS active_ns,
    COALESCE(requests.messages, 0) AS messages,
    COALESCE(calls.tool_calls, 0) AS tool_calls,
    COALESCE(calls.tool_unanswered, 0) AS tool_unanswered,
    COALESCE(calls.tool_errors, 0) AS tool_errors,
    CAST(COALESCE(calls.use_to_result_ns, 0) AS BIGINT) AS use_to_result_ns,
    COALESCE(calls.results_before_last_block, 0) AS results_before_last_block,
    CAST(COALESCE(requests.input_tokens, 0) AS BIGINT) AS input_tokens,
    CAST(COALESCE(requests.output_tokens, 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(requests.cache_read_tokens, 0) AS BIGINT) AS cache_read_tokens,
    CAST(COALESCE(requests.cache_write_tokens, 0) AS BIGINT) AS cache_write_tokens,
    COALESCE(others.compactions, 0) AS compactions,
    COALESCE(others.microcompactions, 0) AS microcompactions,
    COALESCE(others.api_errors, 0) AS api_errors,
    COALESCE(requests.api_error_messages, 0) AS api_error_messages,
    CAST(COALESCE(turns.interrupts, 0) AS BIGINT) AS interrupts,
    by_gateway,
    by_mcp_tap,
    by_instrument,
    by_otel,
    by_hooks,
    by_stream_json,
    by_transcript,
    marks.verified,
    marks.evidence AS verified_evidence,
    marks.start_ns AS verified_ns
FROM whole
LEFT JOIN turns ON turns.session_id = whole.session_id
LEFT JOIN active ON active.session_id = whole.session_id
LEFT JOIN requests ON requests.session_id = whole.session_id
LEFT JOIN calls ON calls.session_id = whole.session_id
LEFT JOIN others ON others.session_id = whole.session_id
LEFT JOIN marks ON marks.session_id = whole.session_id
WHERE ($since_ns IS NULL OR whole.start_ns >= $since_ns)
  AND ($until_ns IS NULL OR whole.start_ns < $until_ns)
ORDER BY whole.start_ns DESC, whole.session_id;
