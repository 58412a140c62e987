-- What failures are measured against: how many calls of each tool and each server, and requests to each model, there were.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; what has not ended counts by its start).
--
-- session_id, boundary, name   a call's tool, a request's model
-- server                       the MCP server of a call; NULL where it has none
-- total                        how many
SELECT
    session_id,
    boundary,
    COALESCE(CASE WHEN boundary = 'model_request' THEN attributes['gen_ai.request.model'] END, name) AS name,
    CASE
        WHEN name LIKE 'mcp\_\_%' ESCAPE '\' THEN SUBSTR(name, 6, POSITION('__' IN SUBSTR(name, 6)) - 1)
    END AS server,
    COUNT(*) AS total
FROM boundaries
WHERE boundary IN ('tool_schedule', 'model_request')
  AND ($session_id IS NULL OR session_id = $session_id)
  AND ($since_ns IS NULL OR COALESCE(end_ns, start_ns) >= $since_ns)
  AND ($until_ns IS NULL OR COALESCE(end_ns, start_ns) < $until_ns)
GROUP BY session_id, boundary, COALESCE(CASE WHEN boundary = 'model_request' THEN attributes['gen_ai.request.model'] END, name), server
ORDER BY session_id, boundary, name, server;
