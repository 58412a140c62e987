-- The best observation that each witness has of each boundary: a closed one before an open one, a later end before an
-- earlier one (a longer copy of the same file knows more), of open ones the last that was written. Copies of another session's
-- entries are left out, and so are marks: who verified a session's work from outside saw nothing of the session.
--
-- rank   orders the witnesses, the best first
-- alone  1: no other witness that counts saw this boundary. A parent's mirror of its sub-agent (progress) is no second opinion:
--        it counts where the agent's own witness is missing.
CREATE VIEW witnesses AS
WITH met AS NOT MATERIALIZED (
    SELECT
        spans.* REPLACE (COALESCE(own.canonical, spans.key) AS key, COALESCE(parent.canonical, spans.parent_key) AS parent_key),
        CASE source
            WHEN 'stamps' THEN 0 WHEN 'gateway' THEN 1 WHEN 'mcp_tap' THEN 2 WHEN 'instrument' THEN 3 WHEN 'otel' THEN 4
            WHEN 'hooks' THEN 5 WHEN 'stream_json' THEN 6 WHEN 'transcript' THEN 7 ELSE 8
        END AS rank
    FROM spans
    LEFT JOIN aliases AS own ON own.session_id = spans.session_id AND own.key = spans.key
    LEFT JOIN aliases AS parent ON parent.session_id = spans.session_id AND parent.key = spans.parent_key
    WHERE source <> 'marks'
),
compared AS (
    SELECT
        met.*,
        ROW_NUMBER() OVER (
            PARTITION BY session_id, boundary, key, source
            ORDER BY CASE WHEN end_ns IS NULL THEN 1 ELSE 0 END, end_ns DESC, start_ns,
                CASE WHEN end_ns IS NULL THEN -position END, file_id, position
        ) AS n,
        MIN(rank) OVER (PARTITION BY session_id, boundary, key) AS best_rank,
        MAX(CASE WHEN rank < 8 THEN rank END) OVER (PARTITION BY session_id, boundary, key) AS worst_rank
    FROM met
    SEMI JOIN meetings USING (session_id, boundary, key)
    ANTI JOIN copies USING (session_id, boundary, key)
)
SELECT
    * EXCLUDE (n, best_rank, worst_rank),
    CASE WHEN COALESCE(worst_rank, best_rank) = best_rank THEN 1 ELSE 0 END AS alone
FROM compared
WHERE n = 1 AND (rank < 8 OR best_rank = 8)
UNION ALL
SELECT *, 1
FROM met
ANTI JOIN meetings USING (session_id, boundary, key)
ANTI JOIN copies USING (session_id, boundary, key);
