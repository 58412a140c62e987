-- How long things took, sorted into buckets, for a metrics store. One row a measure, label and bucket.
--
-- Only what is measured: both edges together open by no more than $tolerance_ns, and then the middle of the range. What is less
-- certain is counted under the same measure with the bucket -1 and no length.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a thing counts by its start), $tolerance_ns
--
-- measure       ttft (request to first byte), stream (first byte to message_stop), request, tool, hook
-- label         the model, the tool, the hook's event
-- bucket        number of the bucket, from 0; the last has no upper bound; -1: not measured
-- session_id, n, total_ns, first_ns (when the label was first seen)
WITH mine AS (
    SELECT *, CAST(attributes['tracekit.response.first_byte_ns'] AS BIGINT) AS first_byte_ns
    FROM boundaries
    WHERE ($session_id IS NULL OR session_id = $session_id)
      AND ($since_ns IS NULL OR start_ns >= $since_ns)
      AND ($until_ns IS NULL OR start_ns < $until_ns)
      AND boundary IN ('model_request', 'tool_execution', 'hook_reply')
      AND witnesses <> 'progress'
),
lengths AS (
    SELECT session_id, 'ttft' AS measure, name AS label, start_ns AS at_ns,
        first_byte_ns - start_ns - start_slack_ns AS lower_ns, first_byte_ns - start_ns AS upper_ns
    FROM mine
    WHERE boundary = 'model_request' AND first_byte_ns IS NOT NULL
    UNION ALL
    SELECT session_id, 'stream', name, start_ns, end_ns - end_slack_ns - first_byte_ns, end_ns - first_byte_ns
    FROM mine
    WHERE boundary = 'model_request' AND first_byte_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT
        session_id,
        CASE boundary WHEN 'model_request' THEN 'request' WHEN 'tool_execution' THEN 'tool' ELSE 'hook' END,
        CASE WHEN boundary = 'hook_reply' THEN COALESCE(attributes['tracekit.hook.event'], name) ELSE name END,
        start_ns,
        end_ns - end_slack_ns - start_ns - start_slack_ns,
        end_ns - start_ns
    FROM mine
    WHERE end_ns IS NOT NULL
),
judged AS (
    SELECT
        session_id,
        measure,
        label,
        at_ns,
        CASE WHEN upper_ns - lower_ns <= $tolerance_ns THEN GREATEST(0, (lower_ns + upper_ns) / 2) END AS length_ns
    FROM lengths
),
sorted AS (
    SELECT
        *,
        CASE
            WHEN length_ns IS NULL THEN -1
            WHEN length_ns <= 100000000 THEN 0
            WHEN length_ns <= 250000000 THEN 1
            WHEN length_ns <= 500000000 THEN 2
            WHEN length_ns <= 1000000000 THEN 3
            WHEN length_ns <= 2500000000 THEN 4
            WHEN length_ns <= 5000000000 THEN 5
            WHEN length_ns <= 10000000000 THEN 6
            WHEN length_ns <= 30000000000 THEN 7
            WHEN length_ns <= 60000000000 THEN 8
            WHEN length_ns <= 120000000000 THEN 9
            WHEN length_ns <= 300000000000 THEN 10
            WHEN length_ns <= 600000000000 THEN 11
            ELSE 12
        END AS bucket
    FROM judged
)
SELECT
    session_id,
    measure,
    label,
    bucket,
    COUNT(*) AS n,
    CAST(SUM(COALESCE(length_ns, 0)) AS BIGINT) AS total_ns,
    MIN(MIN(at_ns)) OVER (PARTITION BY measure, label) AS first_ns
FROM sorted
GROUP BY session_id, measure, label, bucket
ORDER BY first_ns, measure, label, bucket, session_id;
