-- The best observation that each witness has of each boundary: a closed one before an open one, a later end before an
-- earlier one (a longer copy of the same file knows more), of open ones the last that was written. Copies of another session's
-- entries are left out, and so are marks: who verified a session's work from outside saw nothing of the session.
--
-- rank   orders the witnesses, the best first
-- alone  1: no other witness that counts saw this boundary. A parent's mirror of its sub-agent (progress) is no second opinion:
--        it counts where the agent's own witness is missing.
-- sees   how closely a witness that has it open sees a response: 2 each byte, 1 what the client prints; 0: nobody has it open
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
        MAX(CASE WHEN rank < 8 THEN rank END) OVER (PARTITION BY session_id, boundary, key) AS worst_rank,
        MAX(CASE WHEN source IN ('gateway', 'instrument') THEN CASE WHEN end_ns IS NULL THEN 0 ELSE 1 END END)
            OVER (PARTITION BY session_id, boundary, key) AS bytes_ended,
        MAX(CASE source WHEN 'stream_json' THEN CASE WHEN end_ns IS NULL THEN 0 ELSE 1 END END)
            OVER (PARTITION BY session_id, boundary, key) AS lines_ended
    FROM met
    SEMI JOIN meetings USING (session_id, boundary, key)
    ANTI JOIN copies USING (session_id, boundary, key)
)
SELECT
    * EXCLUDE (n, best_rank, worst_rank, bytes_ended, lines_ended),
    CASE WHEN COALESCE(worst_rank, best_rank) = best_rank THEN 1 ELSE 0 END AS alone,
    CASE WHEN boundary <> 'model_request' THEN 0 WHEN bytes_ended = 0 THEN 2 WHEN lines_ended = 0 THEN 1 ELSE 0 END AS sees
FROM compared
WHERE n = 1 AND (rank < 8 OR best_rank = 8)
UNION ALL
SELECT *, 1, 0
FROM met
ANTI JOIN meetings USING (session_id, boundary, key)
ANTI JOIN copies USING (session_id, boundary, key);
