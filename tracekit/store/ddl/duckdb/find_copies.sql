-- Fills `copies`: boundaries with the same key in several sessions. Keys are identities of the world (`msg_…`, `toolu_…`, uuids),
-- so the same key in two sessions is one thing that was copied; a sub-agent's short id is no such identity. Its owner is the
-- session whose first span is the earliest. Looks only at keys of the sessions in `touched`, and expects them to be gone from
-- `copies`.
INSERT INTO copies
WITH candidates AS (
    SELECT session_id, boundary, key
    FROM spans
    WHERE boundary NOT IN ('session', 'subagent', 'mcp_connection') AND source IN ('transcript', 'progress')
),
changed AS (
    SELECT DISTINCT boundary, key FROM candidates JOIN touched USING (session_id)
),
shared AS (
    SELECT boundary, key
    FROM candidates JOIN changed USING (boundary, key)
    GROUP BY boundary, key
    HAVING MIN(session_id) <> MAX(session_id)
),
holders AS (
    SELECT DISTINCT session_id, boundary, key FROM candidates JOIN shared USING (boundary, key)
),
sessions AS (
    SELECT session_id, MIN(start_ns) AS began_ns
    FROM spans
    WHERE session_id IN (SELECT session_id FROM holders)
    GROUP BY session_id
),
owners AS (
    SELECT
        holders.session_id,
        boundary,
        key,
        FIRST_VALUE(holders.session_id) OVER (PARTITION BY boundary, key ORDER BY began_ns, holders.session_id) AS owner
    FROM holders JOIN sessions ON sessions.session_id = holders.session_id
)
SELECT session_id, boundary, key, owner FROM owners WHERE session_id <> owner;
