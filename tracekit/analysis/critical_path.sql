-- What the end of a turn can have waited for: one row a boundary of the sessions in scope.
--
-- Parameters: $session_id (NULL: all). Times bound turns, so they leave no row out here.
--
-- session_id, agent_id (NULL: the main agent), boundary, key, parent_key, name
-- start_ns, sure_start_ns    earliest and latest start
-- sure_end_ns, end_ns        earliest and latest end; NULL: open
-- best_end_ns                best estimate of the end: of a response its last block, which message_stop follows at once; of hooks whose end
--                            nobody saw (open by more than 100 ms) their earliest end, or before a tool its start
-- ready_ns, issued_by        of a tool, of the permission for it and of the hooks before it: when its block was complete, in which request
-- streaming_from_ns          of a request: its first byte, or, unseen, its first whole block
-- first_byte_known           1: the first byte was seen
WITH mine AS (
    SELECT * FROM boundaries WHERE $session_id IS NULL OR session_id = $session_id
),
schedules AS (
    SELECT session_id, key, parent_key, start_ns + start_slack_ns AS ready_ns
    FROM mine
    WHERE boundary = 'tool_schedule'
),
tools AS (
    SELECT session_id, key, start_ns FROM mine WHERE boundary = 'tool_execution'
),
first_blocks AS (
    SELECT session_id, parent_key, MIN(end_ns) AS first_block_ns
    FROM mine
    WHERE boundary = 'stream_event'
    GROUP BY session_id, parent_key
)
SELECT
    b.session_id,
    b.agent_id,
    b.boundary,
    b.key,
    b.parent_key,
    b.name,
    b.start_ns,
    b.start_ns + b.start_slack_ns AS sure_start_ns,
    b.end_ns - b.end_slack_ns AS sure_end_ns,
    b.end_ns,
    CASE
        WHEN b.boundary = 'hook_reply' AND b.end_slack_ns > 100000000
            THEN LEAST(b.end_ns, GREATEST(b.end_ns - b.end_slack_ns, COALESCE(tools.start_ns, b.end_ns - b.end_slack_ns)))
        WHEN b.boundary <> 'model_request' OR b.end_slack_ns = 0 OR b.attributes['tracekit.response.cut'] IS NOT NULL THEN b.end_ns
        ELSE LEAST(
            GREATEST(COALESCE(CAST(b.attributes['tracekit.response.last_block_ns'] AS BIGINT), b.end_ns), b.end_ns - b.end_slack_ns),
            b.end_ns
        )
    END AS best_end_ns,
    schedules.ready_ns,
    COALESCE(schedules.parent_key, CASE WHEN b.boundary = 'tool_execution' THEN b.parent_key END) AS issued_by,
    COALESCE(CAST(b.attributes['tracekit.response.first_byte_ns'] AS BIGINT), first_block_ns) AS streaming_from_ns,
    CASE WHEN b.attributes['tracekit.response.first_byte_ns'] IS NULL THEN 0 ELSE 1 END AS first_byte_known
FROM mine AS b
LEFT JOIN schedules
  ON schedules.session_id = b.session_id
 AND schedules.key = CASE
        WHEN b.boundary IN ('tool_execution', 'permission_wait') THEN b.key
        WHEN b.boundary = 'hook_reply' AND b.attributes['tracekit.hook.event'] = 'PreToolUse' THEN b.parent_key
     END
LEFT JOIN tools
  ON b.boundary = 'hook_reply' AND b.attributes['tracekit.hook.event'] = 'PreToolUse'
 AND tools.session_id = b.session_id AND tools.key = b.parent_key
LEFT JOIN first_blocks
  ON b.boundary = 'model_request' AND first_blocks.session_id = b.session_id AND first_blocks.parent_key = b.key
WHERE b.boundary IN (
    'model_request', 'retry_wait', 'tool_execution', 'permission_wait', 'hook_reply', 'mcp_connection', 'compaction', 'subagent'
)
ORDER BY b.session_id, b.start_ns, b.key;
