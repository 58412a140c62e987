-- Fills `copies`: boundaries with the same key in several sessions. Keys are identities of the world (`msg_…`, `toolu_…`, uuids),
-- so the same key in two sessions is one thing that was copied; a sub-agent's short id is no such identity. Its owner is the session whose first span is the earliest.
INSERT INTO copies
WITH sessions AS (
    SELECT session_id, MIN(start_ns) AS began_ns FROM spans GROUP BY session_id
),
shared AS (
    SELECT boundary, key
    FROM spans
    WHERE boundary NOT IN ('session', 'subagent', 'mcp_connection') AND source IN ('transcript', 'progress')
    GROUP BY boundary, key
    HAVING MIN(session_id) <> MAX(session_id)
),
holders AS (
    SELECT DISTINCT spans.session_id, boundary, key, began_ns
    FROM spans JOIN shared USING (boundary, key) JOIN sessions ON sessions.session_id = spans.session_id
),
owners AS (
    SELECT
        session_id,
        boundary,
        key,
        FIRST_VALUE(session_id) OVER (PARTITION BY boundary, key ORDER BY began_ns, session_id) AS owner
    FROM holders
)
SELECT session_id, boundary, key, owner FROM owners WHERE session_id <> owner;
