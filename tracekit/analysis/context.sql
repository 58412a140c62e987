-- What each request held of its model's window. One row a request, in order of agent and time.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a request counts by its start).
--
-- session_id, agent_id (NULL: the main agent), turn_key, request_key, model, start_ns, end_ns
-- input_tokens           uncached input
-- cache_read_tokens, cache_write_tokens, output_tokens
-- cost_usd               what the client reported for it; NULL where it reported nothing
-- aside                  1: not part of the agent's conversation: a summary for a compaction, a title, a check
-- compacts               1: it wrote the summary of a compaction
-- windows                the client's own word on windows: `model=tokens`, with commas
WITH requests AS (
    SELECT
        session_id,
        agent_id,
        parent_key AS turn_key,
        key AS request_key,
        name AS model,
        start_ns,
        end_ns,
        COALESCE(CAST(attributes['tracekit.usage.input_tokens'] AS BIGINT), 0) AS input_tokens,
        COALESCE(CAST(attributes['gen_ai.usage.cache_read.input_tokens'] AS BIGINT), 0) AS cache_read_tokens,
        COALESCE(CAST(attributes['gen_ai.usage.cache_write.input_tokens'] AS BIGINT), 0) AS cache_write_tokens,
        COALESCE(CAST(attributes['gen_ai.usage.output_tokens'] AS BIGINT), 0) AS output_tokens,
        CAST(attributes['tracekit.cost.usd'] AS DOUBLE) AS cost_usd,
        attributes['tracekit.request.query_source'] AS query_source
    FROM boundaries
    WHERE boundary = 'model_request'
      AND ($session_id IS NULL OR session_id = $session_id)
      AND ($since_ns IS NULL OR start_ns >= $since_ns)
      AND ($until_ns IS NULL OR start_ns < $until_ns)
),
told AS (
    SELECT session_id, MAX(attributes['tracekit.context.windows']) AS windows
    FROM boundaries
    WHERE boundary = 'session' AND ($session_id IS NULL OR session_id = $session_id)
    GROUP BY session_id
)
SELECT
    requests.session_id,
    agent_id,
    turn_key,
    request_key,
    model,
    start_ns,
    end_ns,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    cost_usd,
    CASE
        WHEN agent_id LIKE 'acompact%' THEN 1
        WHEN query_source IS NULL OR query_source LIKE 'sdk%' OR query_source LIKE 'repl_main_thread%' OR query_source LIKE 'agent%' THEN 0
        ELSE 1
    END AS aside,
    CASE WHEN agent_id LIKE 'acompact%' OR query_source = 'compact' THEN 1 ELSE 0 END AS compacts,
    told.windows
FROM requests LEFT JOIN told ON told.session_id = requests.session_id
WHERE input_tokens + cache_read_tokens + cache_write_tokens > 0
ORDER BY requests.session_id, agent_id NULLS FIRST, start_ns, request_key;
