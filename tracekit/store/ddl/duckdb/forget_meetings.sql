-- Removes what `copies`, `aliases` and `meetings` say of the sessions in `touched`, so that it can be found anew: of a key that one of these
-- sessions holds, the copies of all sessions, since another may own it now.
DELETE FROM copies
WHERE session_id IN (SELECT session_id FROM touched)
   OR owner IN (SELECT session_id FROM touched)
   OR (boundary, key) IN (SELECT (boundary, key) FROM spans JOIN touched USING (session_id));
DELETE FROM aliases WHERE session_id IN (SELECT session_id FROM touched);
DELETE FROM meetings WHERE session_id IN (SELECT session_id FROM touched);
