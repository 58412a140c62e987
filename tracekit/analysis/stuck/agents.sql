-- What is known of every agent of a scope besides what is open: its last turn, its last request, its last call. One row an agent.
--
-- Parameters: $session_id (NULL: all), $every: 0 leaves out agents to whom nothing can be owed.
--
-- session_id, agent_id
-- turn_key, turn_start_ns, turn_end_ns, turn_name, turn_attributes, turn_witnesses   its last turn, if anybody tells of turns
-- turn_closed_by         witnesses that saw it end, separated by commas
-- agent_start_ns, agent_end_ns, agent_parent   of a sub-agent: its own boundary, and the call that started it
-- agent_apart            1: that call returned at once, and the agent went on by itself
-- request_key, request_start_ns, request_end_ns, request_status, request_attributes, request_witnesses   the last request or attempt
-- call_end_ns            when the last call that is over ended
-- gateway_attempts       attempts of this turn that passed a gateway
-- seen_ns                the last thing that any witness saw of the agent
-- last_seen_ns           the same of its session
-- session_end_ns         when a hook said that the session ended
-- hooks_told_by_stream, hooks_told_by_otel   hook runs that these witnesses told of
-- streamed               requests of which stream-json told the first byte: it passes on what streams
WITH mine AS (
    SELECT * FROM boundaries WHERE ($session_id IS NULL OR session_id = $session_id) AND witnesses <> 'progress'
),
moments AS (
    SELECT mine.*,
        GREATEST(
            COALESCE(end_ns - end_slack_ns, start_ns + start_slack_ns),
            COALESCE(CAST(attributes['tracekit.turn.last_seen_ns'] AS BIGINT), 0),
            COALESCE(CAST(attributes['tracekit.response.last_event_ns'] AS BIGINT), 0)
        ) AS moment_ns
    FROM mine
    WHERE boundary <> 'retry_wait'
),
sessions AS (
    SELECT
        session_id,
        MAX(CASE WHEN boundary <> 'session' THEN moment_ns END) AS last_seen_ns,
        MAX(CASE WHEN boundary = 'session' AND attributes['tracekit.session.end_reason'] IS NOT NULL THEN end_ns END) AS session_end_ns,
        SUM(CASE WHEN boundary = 'hook_reply' AND witnesses LIKE '%stream_json%' THEN 1 ELSE 0 END) AS hooks_told_by_stream,
        SUM(CASE WHEN boundary = 'hook_reply' AND witnesses LIKE '%otel%' THEN 1 ELSE 0 END) AS hooks_told_by_otel
    FROM moments
    GROUP BY session_id
),
streams AS (
    SELECT
        session_id,
        SUM(CASE WHEN attributes['tracekit.response.first_byte_ns'] IS NOT NULL THEN 1 ELSE 0 END) AS streamed
    FROM witnesses
    WHERE ($session_id IS NULL OR session_id = $session_id) AND source = 'stream_json' AND boundary = 'model_request'
    GROUP BY session_id
),
agents AS (
    SELECT
        session_id,
        COALESCE(agent_id, '') AS agent,
        MAX(CASE WHEN boundary <> 'session' THEN moment_ns END) AS seen_ns,
        MAX(CASE WHEN boundary IN ('tool_schedule', 'tool_execution') THEN end_ns END) AS call_end_ns,
        SUM(CASE WHEN end_ns IS NULL THEN 1 ELSE 0 END) AS open_things
    FROM moments
    WHERE boundary <> 'session'
    GROUP BY session_id, COALESCE(agent_id, '')
),
turns AS (
    SELECT mine.*, ROW_NUMBER() OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns DESC, key) AS n
    FROM mine
    WHERE boundary = 'turn'
),
closed AS (
    SELECT
        session_id,
        key,
        MAX(CASE source WHEN 'instrument' THEN 'instrument,' ELSE '' END) || MAX(CASE source WHEN 'otel' THEN 'otel,' ELSE '' END)
            || MAX(CASE source WHEN 'hooks' THEN 'hooks,' ELSE '' END) || MAX(CASE source WHEN 'stream_json' THEN 'stream_json,' ELSE '' END)
            || MAX(CASE source WHEN 'transcript' THEN 'transcript' ELSE '' END) AS closed_by
    FROM witnesses
    WHERE ($session_id IS NULL OR session_id = $session_id) AND boundary = 'turn' AND end_ns IS NOT NULL
    GROUP BY session_id, key
),
requests AS (
    -- What is asked beside the loop, such as titles, comes without tools, and nothing waits for it.
    SELECT mine.*, ROW_NUMBER() OVER (
        PARTITION BY session_id, COALESCE(agent_id, '')
        ORDER BY
            CASE WHEN end_ns IS NULL THEN 0 ELSE 1 END, end_ns DESC, CASE boundary WHEN 'model_request' THEN 0 ELSE 1 END, start_ns DESC, key
    ) AS n
    FROM mine
    WHERE (boundary = 'model_request' OR boundary = 'request_attempt' AND status IN ('error', 'cancelled'))
      AND (witnesses <> 'gateway' OR COALESCE(attributes['tracekit.request.tools'], '0') <> '0')
),
watched AS (
    SELECT mine.session_id, COALESCE(mine.agent_id, '') AS agent, COUNT(*) AS gateway_attempts
    FROM mine
    LEFT JOIN turns
      ON turns.session_id = mine.session_id AND COALESCE(turns.agent_id, '') = COALESCE(mine.agent_id, '') AND turns.n = 1
    WHERE mine.boundary = 'request_attempt' AND mine.witnesses LIKE '%gateway%'
      AND (turns.key IS NULL OR mine.start_ns >= turns.start_ns)
    GROUP BY mine.session_id, COALESCE(mine.agent_id, '')
)
SELECT
    agents.session_id,
    CASE agents.agent WHEN '' THEN NULL ELSE agents.agent END AS agent_id,
    turns.key AS turn_key,
    turns.start_ns AS turn_start_ns,
    turns.end_ns AS turn_end_ns,
    turns.name AS turn_name,
    turns.attributes AS turn_attributes,
    turns.witnesses AS turn_witnesses,
    closed.closed_by AS turn_closed_by,
    own.start_ns AS agent_start_ns,
    own.end_ns AS agent_end_ns,
    COALESCE(own.attributes['tracekit.agent.parent_tool'], own.parent_key, turns.attributes['tracekit.agent.parent_tool']) AS agent_parent,
    CASE
        WHEN 'true' IN (started.attributes['tracekit.tool.background'], own.attributes['tracekit.tool.background']) THEN 1
        ELSE 0
    END AS agent_apart,
    requests.key AS request_key,
    requests.start_ns AS request_start_ns,
    requests.end_ns AS request_end_ns,
    requests.boundary AS request_boundary,
    requests.status AS request_status,
    requests.attributes AS request_attributes,
    requests.witnesses AS request_witnesses,
    agents.call_end_ns,
    COALESCE(watched.gateway_attempts, 0) AS gateway_attempts,
    agents.seen_ns,
    sessions.last_seen_ns,
    sessions.session_end_ns,
    sessions.hooks_told_by_stream,
    sessions.hooks_told_by_otel,
    COALESCE(streams.streamed, 0) AS streamed
FROM agents
JOIN sessions ON sessions.session_id = agents.session_id
LEFT JOIN streams ON streams.session_id = agents.session_id
LEFT JOIN turns ON turns.session_id = agents.session_id AND COALESCE(turns.agent_id, '') = agents.agent AND turns.n = 1
LEFT JOIN closed ON closed.session_id = turns.session_id AND closed.key = turns.key
LEFT JOIN mine AS own ON own.session_id = agents.session_id AND own.boundary = 'subagent' AND own.key = agents.agent
LEFT JOIN mine AS started
  ON started.session_id = agents.session_id AND started.boundary = 'tool_schedule'
 AND started.key = COALESCE(own.attributes['tracekit.agent.parent_tool'], own.parent_key, turns.attributes['tracekit.agent.parent_tool'])
LEFT JOIN requests ON requests.session_id = agents.session_id AND COALESCE(requests.agent_id, '') = agents.agent AND requests.n = 1
LEFT JOIN watched ON watched.session_id = agents.session_id AND watched.agent = agents.agent
WHERE $every = 1 OR turns.key IS NULL OR turns.end_ns IS NULL OR agents.open_things > 0
ORDER BY agents.session_id, agents.agent;
