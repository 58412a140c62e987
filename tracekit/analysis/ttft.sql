-- Time to the first byte of each response. One row a response whose first byte a witness saw.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a response counts by its request's start).
--
-- session_id
-- lower_ns, upper_ns    from the latest and from the earliest start of the request
SELECT
    session_id,
    GREATEST(0, CAST(attributes['tracekit.response.first_byte_ns'] AS BIGINT) - start_ns - start_slack_ns) AS lower_ns,
    GREATEST(0, CAST(attributes['tracekit.response.first_byte_ns'] AS BIGINT) - start_ns) AS upper_ns
FROM boundaries
WHERE boundary = 'model_request'
  AND witnesses <> 'progress'
  AND attributes['tracekit.response.first_byte_ns'] IS NOT NULL
  AND ($session_id IS NULL OR session_id = $session_id)
  AND ($since_ns IS NULL OR start_ns >= $since_ns)
  AND ($until_ns IS NULL OR start_ns < $until_ns)
ORDER BY session_id, start_ns, key;
