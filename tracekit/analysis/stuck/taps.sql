-- MCP servers of which a tap saw anything: what reaches these is seen.
--
-- Parameters: $session_id (NULL: all).
--
-- session_id, server
SELECT DISTINCT session_id, attributes['tracekit.mcp.server'] AS server
FROM boundaries
WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses LIKE '%mcp_tap%' AND attributes['tracekit.mcp.server'] IS NOT NULL
ORDER BY session_id, server;
