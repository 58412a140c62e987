-- Fills `aliases`. Requests with the same message id are one request, named by its request id; turns that hold the same request or
-- compaction are one turn, named by its prompt. Names that a source made up begin with `span:` or `turn:` and give way. Hooks and
-- compactions that each witness names in its own way are one where they ended together and nothing else of their kind did. Looks
-- only at the sessions in `touched`, and expects them to be gone from `aliases`.
INSERT INTO aliases
WITH requests AS (
    SELECT DISTINCT session_id, key, parent_key, attributes['gen_ai.response.id'] AS message_id
    FROM spans JOIN touched USING (session_id)
    WHERE boundary IN ('model_request', 'compaction')
),
named AS (
    SELECT
        session_id,
        message_id,
        SUBSTR(MIN(CASE WHEN STARTS_WITH(key, 'req_') THEN '0' WHEN STARTS_WITH(key, 'msg_') THEN '1' ELSE '2' END || key), 2) AS canonical
    FROM requests
    WHERE message_id IS NOT NULL
    GROUP BY session_id, message_id
    HAVING MIN(key) <> MAX(key)
),
request_aliases AS (
    SELECT DISTINCT requests.session_id, key, canonical
    FROM requests JOIN named ON named.session_id = requests.session_id AND named.message_id = requests.message_id
    WHERE key <> canonical
),
held AS (
    SELECT
        requests.session_id,
        COALESCE(canonical, requests.key) AS request_key,
        parent_key AS turn_key,
        CASE WHEN STARTS_WITH(parent_key, 'turn:') THEN 2 WHEN STARTS_WITH(parent_key, 'span:') THEN 1 ELSE 0 END AS made_up
    FROM requests
    LEFT JOIN request_aliases ON request_aliases.session_id = requests.session_id AND request_aliases.key = requests.key
    WHERE parent_key IS NOT NULL
),
pairs AS (
    SELECT worse.session_id, worse.turn_key, better.turn_key AS canonical, better.made_up, COUNT(*) AS shared
    FROM held AS worse
    JOIN held AS better
      ON better.session_id = worse.session_id AND better.request_key = worse.request_key AND better.made_up < worse.made_up
    GROUP BY worse.session_id, worse.turn_key, better.turn_key, better.made_up
),
ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY session_id, turn_key ORDER BY made_up, shared DESC, canonical) AS n
    FROM pairs
),
ended AS (
    SELECT
        session_id,
        boundary,
        COALESCE(agent_id, '') AS agent,
        CASE boundary WHEN 'hook_reply' THEN name ELSE COALESCE(attributes['tracekit.compaction.kind'], 'full') END AS of_what,
        CASE boundary WHEN 'hook_reply' THEN 50000000 ELSE 1000000000 END AS tolerance_ns,
        key,
        MIN(CASE source WHEN 'transcript' THEN 0 WHEN 'stream_json' THEN 1 ELSE 2 END) AS rank,
        LIST(DISTINCT source) AS sources,
        MAX(end_ns) AS end_ns
    FROM spans JOIN touched USING (session_id)
    WHERE boundary IN ('hook_reply', 'compaction') AND source IN ('transcript', 'stream_json', 'otel') AND end_ns IS NOT NULL
    GROUP BY session_id, boundary, agent, of_what, tolerance_ns, key
),
neighbours AS (
    -- Only what is near in time is compared: a long session has thousands of hooks of one name.
    SELECT *, UNNEST([end_ns // tolerance_ns - 1, end_ns // tolerance_ns, end_ns // tolerance_ns + 1]) AS neighbour FROM ended
),
together AS (
    SELECT
        one.session_id,
        one.key,
        other.key AS canonical,
        other.rank,
        COUNT(*) OVER (PARTITION BY one.session_id, one.key, other.rank) AS others_of_one,
        COUNT(*) OVER (PARTITION BY one.session_id, other.key, one.rank) AS ones_of_other
    FROM neighbours AS one
    JOIN ended AS other
      ON other.session_id = one.session_id AND other.boundary = one.boundary AND other.agent = one.agent
     AND other.of_what = one.of_what AND other.end_ns // other.tolerance_ns = one.neighbour AND other.rank < one.rank
    WHERE ABS(other.end_ns - one.end_ns) <= one.tolerance_ns AND NOT LIST_HAS_ANY(other.sources, one.sources)
)
SELECT session_id, key, canonical FROM request_aliases
UNION ALL
SELECT session_id, key, ARG_MIN(canonical, rank) FROM together WHERE others_of_one = 1 AND ones_of_other = 1 GROUP BY session_id, key
UNION ALL
-- Recorders open a thing before its name is known, and say at its end how they had called it.
SELECT DISTINCT session_id, attributes['tracekit.opened_as'], key
FROM spans JOIN touched USING (session_id)
WHERE source IN ('gateway', 'mcp_tap', 'instrument', 'hooks', 'stamps') AND attributes['tracekit.opened_as'] IS NOT NULL
UNION ALL
-- A gateway sees attempts, and where all of them fail no request: that is the one which others name after one of them.
SELECT attempts.session_id, attempts.parent_key, MIN(requests.key)
FROM spans AS attempts
JOIN touched ON touched.session_id = attempts.session_id
JOIN requests ON requests.session_id = attempts.session_id AND requests.key = attempts.key
WHERE attempts.boundary = 'request_attempt' AND attempts.source = 'gateway' AND attempts.parent_key IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM spans AS said
    WHERE said.session_id = attempts.session_id AND said.boundary = 'model_request'
      AND said.attributes['tracekit.opened_as'] = attempts.parent_key
  )
GROUP BY attempts.session_id, attempts.parent_key
UNION ALL
SELECT session_id, turn_key, canonical FROM ranked WHERE n = 1;
