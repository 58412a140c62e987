-- Every boundary of a session that a timeline shows, in order of start.
--
-- Parameters: $session_id, $since_ns, $until_ns (NULL: no bound; a boundary counts where it overlaps them).
--
-- session_id, agent_id, boundary, key, parent_key, name, status, start_ns, start_slack_ns, end_ns (NULL: open), end_slack_ns
-- first_byte_ns, last_block_ns    of a model request, where known
-- turn_key                        the turn that was running when it began
-- witnesses, start_source, end_source
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
turns AS (
    SELECT session_id, COALESCE(agent_id, '') AS agent, key AS turn_key, start_ns AS turn_start,
        LEAD(start_ns) OVER (PARTITION BY session_id, COALESCE(agent_id, '') ORDER BY start_ns, key) AS next_start
    FROM mine
    WHERE boundary = 'turn'
)
SELECT
    b.session_id,
    b.agent_id,
    b.boundary,
    b.key,
    b.parent_key,
    b.name,
    b.status,
    b.start_ns,
    b.start_slack_ns,
    b.end_ns,
    b.end_slack_ns,
    CAST(b.attributes['tracekit.response.first_byte_ns'] AS BIGINT) AS first_byte_ns,
    CAST(b.attributes['tracekit.response.last_block_ns'] AS BIGINT) AS last_block_ns,
    CAST(b.attributes['tracekit.turn.last_seen_ns'] AS BIGINT) AS last_seen_ns,
    b.attributes['tracekit.response.tools_wait'] AS tools_wait,
    turns.turn_key,
    b.witnesses,
    b.start_source,
    b.end_source
FROM mine AS b
LEFT JOIN turns
  ON turns.session_id = b.session_id
 AND turns.agent = COALESCE(b.agent_id, '')
 AND b.start_ns + b.start_slack_ns >= turns.turn_start
 AND (turns.next_start IS NULL OR b.start_ns + b.start_slack_ns < turns.next_start)
WHERE b.boundary <> 'session'
  AND ($since_ns IS NULL OR b.end_ns IS NULL OR b.end_ns >= $since_ns)
  AND ($until_ns IS NULL OR b.start_ns < $until_ns)
ORDER BY b.start_ns, b.end_ns DESC, b.key;
