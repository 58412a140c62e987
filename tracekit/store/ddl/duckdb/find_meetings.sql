-- Fills `meetings`, for the sessions in `touched`; expects them to be gone from it, and `aliases` to be complete.
INSERT INTO meetings
SELECT spans.session_id, boundary, COALESCE(canonical, spans.key)
FROM spans
JOIN touched ON touched.session_id = spans.session_id
LEFT JOIN aliases ON aliases.session_id = spans.session_id AND aliases.key = spans.key
WHERE source <> 'marks'
GROUP BY spans.session_id, boundary, COALESCE(canonical, spans.key)
HAVING COUNT(*) > 1;
