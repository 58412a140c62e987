-- Calls of which the protocol does not say whether they did their work: candidates for the rules to judge, one row a call.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a call counts by its end, an open one by its start).
--
-- session_id, agent_id, key, request_key, name, status, attributes, witnesses   of the call; its attributes are those of all its parts
-- start_ns, end_ns      of the call; NULL: open
-- ran                   1: some witness saw the tool itself begin
-- run_status            how the tool itself ended, by its witnesses
-- request_cut           why the message that issued the call was cut; NULL where it was not
-- answered              1: a result of the call was given back
-- seen_ns               when anything of the session was last seen
-- went_on               1: its agent did something else after the call had begun: an open call is not what it waits for
-- repeat_key, repeat_ns the first later call of the same tool with the same arguments
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
parts AS (
    SELECT
        session_id,
        key,
        MAX(agent_id) AS agent_id,
        MAX(CASE WHEN boundary = 'tool_schedule' THEN parent_key END) AS request_key,
        MAX(CASE WHEN boundary = 'mcp_call' THEN NULL ELSE name END) AS name,
        MAX(CASE WHEN boundary = 'mcp_call' THEN name END) AS mcp_name,
        MIN(start_ns) AS start_ns,
        MAX(end_ns) AS end_ns,
        MAX(CASE WHEN end_ns IS NULL THEN 1 ELSE 0 END) AS open,
        MAX(CASE WHEN boundary IN ('tool_execution', 'mcp_call') THEN 1 ELSE 0 END) AS ran,
        MAX(CASE WHEN boundary = 'tool_execution' THEN status END) AS run_status,
        MAX(CASE status WHEN 'error' THEN 3 WHEN 'cancelled' THEN 2 WHEN 'ok' THEN 1 ELSE 0 END) AS worst,
        MAX(attributes['tracekit.tool.input_digest']) AS digest,
        MAX(CASE WHEN attributes['tracekit.tool.result_size'] IS NULL THEN 0 ELSE 1 END) AS answered
    FROM mine
    WHERE boundary IN ('tool_schedule', 'tool_execution', 'mcp_call')
    GROUP BY session_id, key
),
told AS (
    -- The outermost part tells what went wrong.
    SELECT
        session_id, key, boundary, attributes, witnesses,
        ROW_NUMBER() OVER (
            PARTITION BY session_id, key
            ORDER BY
                CASE WHEN attributes['tracekit.error.text'] IS NULL AND attributes['tracekit.tool.denial_kind'] IS NULL THEN 1 ELSE 0 END,
                CASE boundary WHEN 'tool_schedule' THEN 0 WHEN 'tool_execution' THEN 1 ELSE 2 END
        ) AS place
    FROM mine
    WHERE boundary IN ('tool_schedule', 'tool_execution', 'mcp_call')
),
requests AS (
    SELECT session_id, key, attributes['tracekit.response.cut'] AS request_cut
    FROM mine
    WHERE boundary = 'model_request' AND attributes['tracekit.response.cut'] IS NOT NULL
),
candidates AS (
    SELECT parts.*, requests.request_cut
    FROM parts
    LEFT JOIN requests ON requests.session_id = parts.session_id AND requests.key = parts.request_key
    WHERE parts.worst >= 2 OR parts.open = 1 OR (requests.request_cut IS NOT NULL AND parts.ran = 1)
),
-- The moment of the last sign of each agent, and of the session.
seen AS (
    SELECT session_id, COALESCE(agent_id, '') AS agent, MAX(start_ns) AS last_start_ns
    FROM mine
    WHERE boundary IN ('model_request', 'turn')
    GROUP BY session_id, COALESCE(agent_id, '')
),
whole AS (
    SELECT
        session_id,
        MAX(COALESCE(end_ns, start_ns)) AS seen_ns,
        MAX(CASE WHEN boundary = 'session' AND end_ns IS NOT NULL THEN 1 ELSE 0 END) AS closed
    FROM mine
    GROUP BY session_id
),
repeats AS (
    SELECT
        c.session_id, c.key, p.key AS repeat_key, p.start_ns AS repeat_ns,
        ROW_NUMBER() OVER (PARTITION BY c.session_id, c.key ORDER BY p.start_ns, p.key) AS place
    FROM candidates AS c
    JOIN parts AS p
      ON p.session_id = c.session_id AND p.name = c.name AND p.digest = c.digest AND p.key <> c.key
     AND (p.request_key IS NULL OR c.request_key IS NULL OR p.request_key <> c.request_key)
     AND p.start_ns >= c.start_ns
)
SELECT
    c.session_id,
    c.agent_id,
    c.key,
    c.request_key,
    COALESCE(c.name, c.mcp_name) AS name,
    CASE c.worst WHEN 3 THEN 'error' WHEN 2 THEN 'cancelled' WHEN 1 THEN 'ok' ELSE 'unset' END AS status,
    told.boundary,
    told.attributes,
    told.witnesses,
    c.start_ns,
    CASE WHEN c.open = 1 THEN NULL ELSE c.end_ns END AS end_ns,
    c.ran,
    c.run_status,
    c.request_cut,
    c.answered,
    whole.seen_ns,
    CASE WHEN seen.last_start_ns > c.start_ns OR whole.closed = 1 THEN 1 ELSE 0 END AS went_on,
    repeats.repeat_key,
    repeats.repeat_ns
FROM candidates AS c
JOIN told ON told.session_id = c.session_id AND told.key = c.key AND told.place = 1
JOIN whole ON whole.session_id = c.session_id
LEFT JOIN seen ON seen.session_id = c.session_id AND seen.agent = COALESCE(c.agent_id, '')
LEFT JOIN repeats ON repeats.session_id = c.session_id AND repeats.key = c.key AND repeats.place = 1
WHERE ($since_ns IS NULL OR COALESCE(c.end_ns, c.start_ns) >= $since_ns)
  AND ($until_ns IS NULL OR COALESCE(c.end_ns, c.start_ns) < $until_ns)
ORDER BY c.start_ns, c.session_id, c.key;
