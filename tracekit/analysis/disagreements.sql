-- Witnesses that contradict each other about the same boundary. One row a contradiction.
--
-- Two sorts: one says that it went well and another that it failed; or their bounds for an edge do not meet, by more than
-- $tolerance_ns (the clock's resolution and what the client itself needs to write a line).
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound), $tolerance_ns.
--
-- session_id, agent_id, boundary, key, name, start_ns
-- well_source     says that it went well       failed_source   says that it failed
-- failed_text     the failing witness's own words
-- gap_ns          how far the bounds of an edge lie apart; NULL where the status is what they disagree about
WITH mine AS (
    SELECT * FROM witnesses WHERE $session_id IS NULL OR session_id = $session_id
),
status AS (
    SELECT
        well.session_id,
        failed.agent_id,
        well.boundary,
        well.key,
        well.name,
        well.start_ns,
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
edges AS (
    SELECT
        session_id,
        agent_id,
        boundary,
        key,
        name,
        start_ns,
        end_source AS well_source,
        witnesses AS failed_source,
        'their bounds do not meet' AS failed_text,
        GREATEST(start_disagreement_ns, end_disagreement_ns) AS gap_ns
    FROM boundaries
    WHERE boundary IN ('model_request', 'tool_execution', 'stream_event')
      AND GREATEST(start_disagreement_ns, end_disagreement_ns) > $tolerance_ns
      AND ($session_id IS NULL OR session_id = $session_id)
)
SELECT * FROM status WHERE ($since_ns IS NULL OR start_ns >= $since_ns) AND ($until_ns IS NULL OR start_ns < $until_ns)
UNION ALL
SELECT * FROM edges WHERE ($since_ns IS NULL OR start_ns >= $since_ns) AND ($until_ns IS NULL OR start_ns < $until_ns)
ORDER BY start_ns, session_id, key;
