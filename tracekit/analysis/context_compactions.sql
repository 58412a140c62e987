-- Compactions of conversations, and the turns around them. One row a compaction or a turn, in order of time.
--
-- Parameters: $session_id (NULL: all), $since_ns, $until_ns (NULL: no bound; a compaction counts by its end).
--
-- session_id, agent_id (NULL: the main agent), boundary (`compaction` or `turn`), key, turn_key
-- start_ns, sure_start_ns    earliest and latest start
-- sure_end_ns, end_ns        earliest and latest end; NULL: open
-- kind                       `full`: a summary took the place of the conversation; `micro`: old results of tools were cleared
-- compaction_trigger         `auto` or `manual`
-- before_tokens, after_tokens, saved_tokens    as the client counted them; NULL where it did not
-- witnesses                  the best first
SELECT
    session_id,
    agent_id,
    boundary,
    key,
    CASE WHEN boundary = 'turn' THEN key ELSE parent_key END AS turn_key,
    start_ns,
    start_ns + start_slack_ns AS sure_start_ns,
    end_ns - end_slack_ns AS sure_end_ns,
    end_ns,
    COALESCE(attributes['tracekit.compaction.kind'], 'full') AS kind,
    attributes['tracekit.compaction.trigger'] AS compaction_trigger,
    CAST(attributes['tracekit.compaction.pre_tokens'] AS BIGINT) AS before_tokens,
    CAST(attributes['tracekit.compaction.post_tokens'] AS BIGINT) AS after_tokens,
    CAST(attributes['tracekit.compaction.tokens_saved'] AS BIGINT) AS saved_tokens,
    witnesses
FROM boundaries
WHERE (boundary = 'compaction' AND end_ns IS NOT NULL OR boundary = 'turn')
  AND ($session_id IS NULL OR session_id = $session_id)
  AND ($since_ns IS NULL OR boundary = 'turn' OR end_ns >= $since_ns)
  AND ($until_ns IS NULL OR boundary = 'turn' OR end_ns < $until_ns)
ORDER BY session_id, COALESCE(end_ns, start_ns), key;
