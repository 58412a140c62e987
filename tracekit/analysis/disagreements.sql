-- What contradicts another witness, or itself. One row a contradiction.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound), $tolerance_ns (the clock's resolution and what the
-- client itself needs to write a line).
--
-- session_id, agent_id, boundary, key, name, start_ns
-- about           outcome: one says that it went well and another that it failed
--                 stream: a witness calls a response a success that had no message_stop by its own word
--                 result: a result message says success and error at once
--                 exit: a run is called a success whose last thing is a tool's result that nobody took up
--                 still running: one says that a call is over, another saw it go on
--                 edge: their bounds for an edge do not meet, by more than the tolerance
-- well_source     says that it went well       failed_source   says otherwise; the same one where it contradicts itself
-- failed_text     the words of the other
-- gap_ns          how far the two lie apart in time; NULL where the outcome is what they disagree about
WITH mine AS (
    SELECT * FROM witnesses WHERE $session_id IS NULL OR session_id = $session_id
),
seen AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
status AS (
    SELECT
        well.session_id,
        failed.agent_id,
        well.boundary,
        well.key,
        well.name,
        well.start_ns,
        'outcome' AS about,
        well.source AS well_source,
        failed.source AS failed_source,
        COALESCE(
            failed.attributes['tracekit.error.text'],
            CASE WHEN failed.attributes['tracekit.response.cut'] = 'true' THEN 'no message_stop' ELSE failed.attributes['tracekit.response.cut'] END,
            failed.status
        ) AS failed_text,
        CAST(NULL AS BIGINT) AS gap_ns
    FROM mine AS well
    JOIN mine AS failed ON failed.session_id = well.session_id AND failed.boundary = well.boundary AND failed.key = well.key
    WHERE well.status = 'ok' AND failed.status = 'error'
),
streams AS (
    SELECT
        session_id, agent_id, boundary, key, name, start_ns,
        'stream' AS about,
        source AS well_source,
        source AS failed_source,
        CASE WHEN attributes['tracekit.response.cut'] = 'true' THEN 'no message_stop'
             ELSE CONCAT('no message_stop: ', attributes['tracekit.response.cut']) END AS failed_text,
        CAST(NULL AS BIGINT) AS gap_ns
    FROM mine
    WHERE boundary IN ('model_request', 'request_attempt') AND status = 'ok' AND attributes['tracekit.response.cut'] IS NOT NULL
),
results AS (
    -- A session's result is that of its last turn: where turns tell theirs, theirs count.
    SELECT
        session_id, agent_id, boundary, key, name, start_ns,
        'result' AS about,
        source AS well_source,
        source AS failed_source,
        CONCAT('is_error', COALESCE(CONCAT(': ', attributes['tracekit.result.terminal_reason']), '')) AS failed_text,
        CAST(NULL AS BIGINT) AS gap_ns,
        CASE WHEN boundary = 'turn' THEN 1 ELSE 0 END AS of_turn,
        MAX(CASE WHEN boundary = 'turn' THEN 1 ELSE 0 END) OVER (PARTITION BY session_id, source) AS turns_tell
    FROM mine
    WHERE boundary IN ('session', 'turn') AND attributes['tracekit.result.subtype'] = 'success'
      AND attributes['tracekit.result.is_error'] = 'true'
),
answers AS (
    SELECT session_id, MAX(COALESCE(end_ns, start_ns)) AS answer_ns
    FROM seen
    WHERE boundary = 'model_request' AND agent_id IS NULL
    GROUP BY session_id
),
last_results AS (
    SELECT session_id, key, name, end_ns, status,
        ROW_NUMBER() OVER (PARTITION BY session_id ORDER BY end_ns DESC, key) AS place
    FROM seen
    WHERE boundary = 'tool_schedule' AND agent_id IS NULL AND end_ns IS NOT NULL
),
exits AS (
    SELECT
        ended.session_id, ended.agent_id, ended.boundary, ended.key, ended.name, ended.start_ns,
        'exit' AS about,
        ended.source AS well_source,
        ended.source AS failed_source,
        CONCAT('the last thing is the result of ', last_results.name, ', and no request took it up') AS failed_text,
        CAST(NULL AS BIGINT) AS gap_ns
    FROM mine AS ended
    JOIN last_results ON last_results.session_id = ended.session_id AND last_results.place = 1
    LEFT JOIN answers ON answers.session_id = ended.session_id
    WHERE ended.boundary = 'session' AND ended.end_ns IS NOT NULL
      AND (ended.status = 'ok' OR (ended.attributes['tracekit.result.subtype'] = 'success' AND ended.attributes['tracekit.result.is_error'] = 'false'))
      AND last_results.status IN ('ok', 'error')
      AND (answers.answer_ns IS NULL OR last_results.end_ns > answers.answer_ns)
),
ended AS (
    SELECT session_id, key, source, end_ns, status, attributes
    FROM mine
    WHERE boundary IN ('tool_execution', 'mcp_call', 'tool_schedule') AND end_ns IS NOT NULL AND status IN ('error', 'cancelled')
),
running AS (
    SELECT
        going.session_id, going.agent_id, going.boundary, going.key, going.name, going.start_ns,
        'still running' AS about,
        ended.source AS well_source,
        going.source AS failed_source,
        CASE WHEN going.end_ns IS NULL THEN 'it had not ended' ELSE 'it went on' END AS failed_text,
        going.end_ns - going.end_slack_ns - ended.end_ns AS gap_ns,
        ROW_NUMBER() OVER (PARTITION BY going.session_id, going.key, going.source ORDER BY ended.end_ns, ended.source) AS place
    FROM mine AS going
    JOIN ended ON ended.session_id = going.session_id AND ended.key = going.key AND ended.source <> going.source
    -- Only those who stand at the tool itself know that it goes on: others may just have missed its end.
    WHERE going.source IN ('stamps', 'mcp_tap') AND going.boundary IN ('tool_execution', 'mcp_call')
      AND (going.end_ns IS NULL OR going.end_ns - going.end_slack_ns - ended.end_ns > $tolerance_ns)
),
edges AS (
    SELECT
        session_id,
        agent_id,
        boundary,
        key,
        name,
        start_ns,
        'edge' AS about,
        end_source AS well_source,
        witnesses AS failed_source,
        'their bounds do not meet' AS failed_text,
        GREATEST(start_disagreement_ns, end_disagreement_ns) AS gap_ns
    FROM seen
    WHERE boundary IN ('model_request', 'tool_execution', 'stream_event')
      AND GREATEST(start_disagreement_ns, end_disagreement_ns) > $tolerance_ns
),
found AS (
    SELECT * FROM status
    UNION ALL
    SELECT * FROM streams
    UNION ALL
    SELECT session_id, agent_id, boundary, key, name, start_ns, about, well_source, failed_source, failed_text, gap_ns FROM results WHERE of_turn = turns_tell
    UNION ALL
    SELECT * FROM exits
    UNION ALL
    SELECT session_id, agent_id, boundary, key, name, start_ns, about, well_source, failed_source, failed_text, gap_ns FROM running WHERE place = 1
    UNION ALL
    SELECT edges.* FROM edges
    -- A call that goes on ends later for whoever sees it: said once.
    LEFT JOIN running ON running.session_id = edges.session_id AND running.key = edges.key AND running.place = 1
    WHERE running.key IS NULL
)
SELECT * FROM found
WHERE ($since_ns IS NULL OR start_ns >= $since_ns) AND ($until_ns IS NULL OR start_ns < $until_ns)
ORDER BY start_ns, session_id, key, about;
