-- Tokens of messages, each message once: the largest value per field. One row for each group of messages that are priced alike: of one
-- agent and model, within one hour; or for each message.
--
-- Parameters: $each (1: a row a message), $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a message counts by its
-- request's start).
--
-- session_id, agent_id (NULL: the main agent), agent_type, model
-- request_key                   NULL in a group
-- start_ns                      of the first request
-- partial                       1: the agent is known only from its parent's progress lines, which do not show every message
-- messages                      responses counted
-- input_tokens                  uncached input
-- output_tokens, cache_read_tokens, cache_write_tokens
-- cache_write_5m_tokens, cache_write_1h_tokens    of those that were written to the cache, by how long they live there
-- tiered                        messages of which these two are all of them
-- cost_usd                      sum of what the client reported for single requests; NULL where it reported none of them
-- costed                        messages with a reported cost
WITH requests AS (
    SELECT
        session_id,
        agent_id,
        name AS model,
        CASE WHEN witnesses = 'progress' THEN 1 ELSE 0 END AS partial,
        key,
        start_ns,
        CAST(attributes['tracekit.usage.input_tokens'] AS BIGINT) AS input_tokens,
        CAST(attributes['gen_ai.usage.output_tokens'] AS BIGINT) AS output_tokens,
        COALESCE(CAST(attributes['gen_ai.usage.cache_read.input_tokens'] AS BIGINT), 0) AS cache_read_tokens,
        COALESCE(CAST(attributes['gen_ai.usage.cache_write.input_tokens'] AS BIGINT), 0) AS cache_write_tokens,
        COALESCE(CAST(attributes['tracekit.usage.cache_write_5m_tokens'] AS BIGINT), 0) AS cache_write_5m_tokens,
        COALESCE(CAST(attributes['tracekit.usage.cache_write_1h_tokens'] AS BIGINT), 0) AS cache_write_1h_tokens,
        CAST(attributes['tracekit.cost.usd'] AS DOUBLE) AS cost_usd
    FROM boundaries
    WHERE boundary = 'model_request'
      AND ($session_id IS NULL OR session_id = $session_id)
      AND ($since_ns IS NULL OR start_ns >= $since_ns)
      AND ($until_ns IS NULL OR start_ns < $until_ns)
),
whole_agents AS (
    SELECT DISTINCT session_id, agent_id FROM requests WHERE partial = 0 AND agent_id IS NOT NULL
),
agents AS (
    SELECT session_id, key AS agent_id, MIN(name) AS agent_type
    FROM boundaries
    WHERE boundary = 'subagent' AND ($session_id IS NULL OR session_id = $session_id)
    GROUP BY session_id, key
)
SELECT
    r.session_id,
    r.agent_id,
    agents.agent_type,
    r.model,
    CASE WHEN $each = 1 THEN r.key END AS request_key,
    MIN(r.start_ns) AS start_ns,
    r.partial,
    COUNT(*) AS messages,
    CAST(SUM(COALESCE(input_tokens, 0)) AS BIGINT) AS input_tokens,
    CAST(SUM(COALESCE(output_tokens, 0)) AS BIGINT) AS output_tokens,
    CAST(SUM(cache_read_tokens) AS BIGINT) AS cache_read_tokens,
    CAST(SUM(cache_write_tokens) AS BIGINT) AS cache_write_tokens,
    CAST(SUM(cache_write_5m_tokens) AS BIGINT) AS cache_write_5m_tokens,
    CAST(SUM(cache_write_1h_tokens) AS BIGINT) AS cache_write_1h_tokens,
    CAST(SUM(CASE WHEN cache_write_5m_tokens + cache_write_1h_tokens = cache_write_tokens THEN 1 ELSE 0 END) AS BIGINT) AS tiered,
    SUM(cost_usd) AS cost_usd,
    COUNT(cost_usd) AS costed
FROM requests AS r
LEFT JOIN agents ON agents.session_id = r.session_id AND agents.agent_id = r.agent_id
-- Where an agent's own file is at hand, its parent's mirror of it adds nothing.
LEFT JOIN whole_agents ON whole_agents.session_id = r.session_id AND whole_agents.agent_id = r.agent_id AND r.partial = 1
WHERE whole_agents.agent_id IS NULL
  AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL)
GROUP BY
    r.session_id,
    r.agent_id,
    agents.agent_type,
    r.model,
    r.partial,
    CASE WHEN $each = 1 THEN r.key END,
    r.start_ns - MOD(r.start_ns, 3600000000000)
ORDER BY r.session_id, r.agent_id NULLS FIRST, r.model, start_ns, request_key;
