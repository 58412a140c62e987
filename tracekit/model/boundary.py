"""The boundaries of an agent session: what each is, its key, how it times out, and what it must carry.

A session is a chain of boundaries. The six of the mission are `model_request`, `stream_event`, `tool_schedule`,
`mcp_call`, `hook_reply` and `compaction`; `session`, `turn` and `subagent` contain them; the rest are their parts.
"""

from enum import StrEnum
from typing import NamedTuple

from tracekit.model import semconv


class Boundary(StrEnum):
    """One kind of boundary; the value is what the store and every answer print."""

    SESSION = "session"
    TURN = "turn"
    SUBAGENT = "subagent"
    MODEL_REQUEST = "model_request"
    REQUEST_ATTEMPT = "request_attempt"
    RETRY_WAIT = "retry_wait"
    STREAM_EVENT = "stream_event"
    TOOL_SCHEDULE = "tool_schedule"
    PERMISSION_WAIT = "permission_wait"
    TOOL_EXECUTION = "tool_execution"
    MCP_CONNECTION = "mcp_connection"
    MCP_CALL = "mcp_call"
    HOOK_REPLY = "hook_reply"
    COMPACTION = "compaction"


class Contract(NamedTuple):
    """What is promised of one boundary.

    Attributes:
        meaning: One sentence: from which event to which event it lasts.
        key: The identity that the world gave it, so that witnesses can meet.
        timeout: Who ends it when it takes too long, and after how long by default.
        cancel: What ends it early, and what is then still true.
        retry: Whether doing it again is safe.
        carries: Attributes that a complete observation has; every name is in `semconv`.
    """

    meaning: str
    key: str
    timeout: str
    cancel: str
    retry: str
    carries: tuple[str, ...] = ()


CONTRACTS: dict[Boundary, Contract] = {
    Boundary.SESSION: Contract(
        meaning="From the first thing a client process did under a session id to the last; resumes continue it.",
        key="session id",
        timeout="none",
        cancel="the client ends or is killed; what it had open stays open",
        retry="a resume continues it; a fork is a new session that copies entries",
        carries=(semconv.PROJECT, semconv.CLIENT_VERSION),
    ),
    Boundary.TURN: Contract(
        meaning="From a prompt to the last thing the agent did for it.",
        key="prompt id; in clients that write none, the uuid of the prompt's entry",
        timeout="none; max_turns and budgets of the client",
        cancel="interrupt by the user; finished blocks and started tools stay",
        retry="may repeat side effects of its tools",
        carries=(semconv.TURN_KIND,),
    ),
    Boundary.SUBAGENT: Contract(
        meaning="An agent started by a tool call of another, with requests and tools of its own.",
        key="agent id",
        timeout="the client's stall watchdog (600 s)",
        cancel="the parent is interrupted or kills it",
        retry="may repeat side effects of its tools",
        carries=(semconv.AGENT_TYPE,),
    ),
    Boundary.MODEL_REQUEST: Contract(
        meaning="One logical request to the model with all its retries, from the first attempt to message_stop.",
        key="request id of the response (`req_…`); without one, the message id (`msg_…`)",
        timeout="600 s by default (API_TIMEOUT_MS), from the client",
        cancel="interrupt or disconnect; complete blocks may already have started tools",
        retry="safe before the first complete block; after it a tool may run twice",
        carries=(semconv.REQUEST_MODEL, semconv.RESPONSE_ID, semconv.STOP_REASON),
    ),
    Boundary.REQUEST_ATTEMPT: Contract(
        meaning="One HTTP exchange of a model request.",
        key="request id of the attempt; without one, the uuid of the entry that reports it",
        timeout="as its model request",
        cancel="as its model request",
        retry="the client decides; up to 10 by default",
        carries=(semconv.ATTEMPT,),
    ),
    Boundary.RETRY_WAIT: Contract(
        meaning="The client sleeps between two attempts.",
        key="key of the attempt that failed",
        timeout="backoff doubles up to about 40 s, or what `retry-after` says",
        cancel="interrupt by the user",
        retry="not applicable",
        carries=(semconv.ATTEMPT, semconv.RETRY_DELAY_NS),
    ),
    Boundary.STREAM_EVENT: Contract(
        meaning="One content block of a response, from its start to its completion.",
        key="message id and block index (`msg_…#3`)",
        timeout="the client's stream watchdog (180 s without a byte)",
        cancel="as its model request; an unfinished block leaves nothing",
        retry="not by itself",
        carries=(semconv.BLOCK_TYPE, semconv.BLOCK_INDEX),
    ),
    Boundary.TOOL_SCHEDULE: Contract(
        meaning="From the completion of a tool_use block to the moment its result was given back.",
        key="tool use id (`toolu_…`)",
        timeout="the tool's own",
        cancel="denied, interrupted, or a sibling failed",
        retry="the model decides; may repeat a side effect",
        carries=(semconv.TOOL_NAME,),
    ),
    Boundary.PERMISSION_WAIT: Contract(
        meaning="A tool call waits for a person or a rule to allow it.",
        key="tool use id",
        timeout="none",
        cancel="interrupt counts as a rejection",
        retry="not applicable",
        carries=(semconv.PERMISSION_DECISION,),
    ),
    Boundary.TOOL_EXECUTION: Contract(
        meaning="The tool itself runs, without permission, queue and hooks.",
        key="tool use id",
        timeout="Bash 120 s by default, 600 s at most; others none",
        cancel="killed on interrupt or timeout; what it already did stays done",
        retry="may repeat a side effect",
        carries=(semconv.TOOL_NAME,),
    ),
    Boundary.MCP_CONNECTION: Contract(
        meaning="A client connects to an MCP server: spawn or connect, initialize, discover.",
        key="server name and the moment its connection ended",
        timeout="MCP_TIMEOUT (30 s by default)",
        cancel="the session ends",
        retry="safe; HTTP and SSE are retried, stdio is not",
        carries=(semconv.MCP_SERVER, semconv.MCP_STATUS),
    ),
    Boundary.MCP_CALL: Contract(
        meaning="One tools/call to an MCP server, from request to response.",
        key="tool use id of the call (`_meta[claudecode/toolUseId]`)",
        timeout="MCP_TOOL_TIMEOUT, hours by default",
        cancel="a notification to the server, which may go on",
        retry="may repeat a side effect",
        carries=(semconv.MCP_SERVER, semconv.TOOL_NAME),
    ),
    Boundary.HOOK_REPLY: Contract(
        meaning="The client runs the hooks of one event and waits for their answer.",
        key="id of the hook run; in transcripts the uuid of its entry",
        timeout="600 s for commands, 30 s for prompts",
        cancel="a timed-out hook decides nothing",
        retry="may repeat the hook's own side effects",
        carries=(semconv.HOOK_EVENT, semconv.HOOK_NAME),
    ),
    Boundary.COMPACTION: Contract(
        meaning="The client replaces the conversation by a summary, or clears old tool results.",
        key="uuid of the boundary's entry",
        timeout="as a model request",
        cancel="the conversation stays as it was",
        retry="safe, costs a request",
        carries=(semconv.COMPACTION_TRIGGER,),
    ),
}
