"""Compactions, sub-agents and servers that failed."""

from tests.sources.stream_json.told import (
    EARLY,
    MILLISECOND,
    QUIET,
    SESSION,
    Arrived,
    at,
    end_range,
    gave,
    init,
    line,
    live,
    one,
    requesting,
    response,
    result,
    retry,
    said,
    spans,
    start_range,
    system,
    tool,
    words,
)
from tracekit.model import Boundary, Status, semconv


def test_a_compaction() -> None:
    metadata = {"trigger": "manual", "pre_tokens": 1000, "post_tokens": 10, "duration_ms": 900}
    told = [
        (0, system("status", status="compacting", uuid="u-compacting")),
        (1, system("status", status=None, compact_result="success")),
        (1.1, init()),
        (1.2, system("compact_boundary", uuid="u-boundary", compact_metadata=metadata)),
        (1.3, result(1.3, local_command="compact")),
    ]
    items = live(*told)
    compaction = one(items, Boundary.COMPACTION)
    assert (compaction.key, compaction.parent_key, compaction.status) == ("u-boundary", f"turn:{SESSION}#1", Status.OK)
    assert (start_range(compaction)[1], end_range(compaction)[1]) == (at(0), at(1))
    assert compaction.attributes == {
        semconv.COMPACTION_TRIGGER: "manual",
        semconv.COMPACTION_KIND: "full",
        semconv.PRE_TOKENS: 1000,
        semconv.POST_TOKENS: 10,
    }
    assert one(items, Boundary.TURN).name == "command"


def test_a_compaction_that_was_not_announced_lasted_as_long_as_it_says() -> None:
    told = [(0, init()), (3, system("compact_boundary", uuid="u", compact_metadata={"duration_ms": 2000})), (4, result(4))]
    assert start_range(one(live(*told), Boundary.COMPACTION)) == (at(1) - QUIET, at(1) + EARLY)


def test_a_compaction_that_failed_and_one_that_is_under_way() -> None:
    begun = [(0, init()), (1, system("status", status="compacting", uuid="u-compacting"))]
    broken = one(live(*begun, (2, system("status", status=None, compact_result="failed", compact_error="too long"))), Boundary.COMPACTION)
    assert (broken.key, broken.status, broken.attributes[semconv.ERROR_TEXT]) == ("u-compacting", Status.ERROR, "too long")
    assert one(live(*begun), Boundary.COMPACTION).end_ns is None


def test_cleared_results_are_a_small_compaction() -> None:
    metadata = {"trigger": "auto", "tokens_saved": 400}
    told = [(0, init()), (1, system("microcompact_boundary", uuid="u", microcompact_metadata=metadata)), (2, result(2))]
    compaction = one(live(*told), Boundary.COMPACTION)
    assert (compaction.attributes[semconv.COMPACTION_KIND], compaction.attributes[semconv.TOKENS_SAVED]) == ("micro", 400)


def spawn() -> list[Arrived]:
    agent = tool("toolu_a", "Task", subagent_type="Explore", prompt="look")
    return [(0, init()), (0.1, requesting()), *response(0.5, (1, said(agent)), stop=1.1)]


def test_a_sub_agent_in_the_background_ends_by_the_clients_own_word() -> None:
    inner = said(words(), message="msg_a", request="req_a", parent_tool_use_id="toolu_a", agent_id="a1", subagent_type="Explore")
    told = [
        *spawn(),
        (1.2, system("task_started", task_id="a1", tool_use_id="toolu_a", task_type="local_agent", is_backgrounded=True)),
        (1.3, gave("toolu_a", tool_use_result={"isAsync": True, "agentId": "a1"})),
        (3.0, inner),
        (3.2, system("task_updated", task_id="a1", patch={"status": "completed", "end_time": at(3.1) / MILLISECOND})),
        (3.3, system("task_notification", task_id="a1", tool_use_id="toolu_a", status="completed")),
        (4, result(4)),
    ]
    items = live(*told)
    agent = one(items, Boundary.SUBAGENT)
    assert (agent.key, agent.agent_id, agent.parent_key, agent.name, agent.status) == ("a1", "a1", "toolu_a", "Explore", Status.OK)
    assert agent.attributes == {semconv.AGENT_TYPE: "Explore", semconv.PARENT_TOOL: "toolu_a"}
    assert (start_range(agent), end_range(agent)) == ((at(1) - QUIET, at(1.2)), (at(3.1), at(3.1) + MILLISECOND))
    main, own = sorted(spans(items, Boundary.TURN), key=lambda turn: turn.agent_id or "")
    assert (own.key, own.parent_key, own.attributes[semconv.TURN_KIND]) == ("turn:a1", "a1", "agent")
    assert main.agent_id is None
    request = next(span for span in spans(items, Boundary.MODEL_REQUEST) if span.key == "req_a")
    assert (request.agent_id, request.parent_key, start_range(request)[0]) == ("a1", "turn:a1", at(1) - QUIET)
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.TOOL_BACKGROUND] is True


def test_a_sub_agent_that_its_call_waits_for_ends_with_the_result() -> None:
    prompt = line("user", message={"content": "look"}, parent_tool_use_id="toolu_a", uuid="u-agent-prompt")
    inner = said(tool("toolu_i", "Read"), message="msg_a", request="req_a", parent_tool_use_id="toolu_a")
    told = [*spawn(), (1.2, prompt), (2, inner), (2.5, gave("toolu_i", parent_tool_use_id="toolu_a")), (4, gave("toolu_a")), (5, result(5))]
    items = live(*told)
    agent = one(items, Boundary.SUBAGENT)
    assert (agent.key, agent.name, end_range(agent)[1]) == ("toolu_a", "Explore", at(4))
    schedules = {span.key: span for span in spans(items, Boundary.TOOL_SCHEDULE)}
    assert (schedules["toolu_i"].agent_id, schedules["toolu_i"].parent_key, schedules["toolu_a"].agent_id) == ("toolu_a", "req_a", None)
    assert next(span for span in spans(items, Boundary.MODEL_REQUEST) if span.key == "req_a").parent_key == "u-agent-prompt"


def test_a_sub_agent_that_works_on_when_the_turn_is_over_is_open() -> None:
    inner = said(tool("toolu_i", "Read"), message="msg_a", request="req_a", parent_tool_use_id="toolu_a", agent_id="a1")
    told = [*spawn(), (1.3, gave("toolu_a", tool_use_result={"isAsync": True, "agentId": "a1"})), (2, inner), (3, result(3))]
    items = live(*told)
    assert one(items, Boundary.SUBAGENT).end_ns is None
    assert {span.key: span.end_ns is None for span in spans(items, Boundary.TOOL_SCHEDULE)} == {"toolu_a": False, "toolu_i": True}


def test_a_retry_while_only_a_sub_agent_asks_is_its_own() -> None:
    inner = said(tool("toolu_i"), message="msg_a", request="req_a", parent_tool_use_id="toolu_a", agent_id="a1")
    told = [*spawn(), (2, inner), (3, gave("toolu_i", parent_tool_use_id="toolu_a", agent_id="a1")), (4, retry(1, 100))]
    more = said(words(), message="msg_b", request="req_b", parent_tool_use_id="toolu_a", agent_id="a1")
    attempt = one(live(*told, (5, more), (6, gave("toolu_a")), (7, result(7))), Boundary.REQUEST_ATTEMPT)
    assert (attempt.agent_id, attempt.parent_key) == ("a1", "req_b")


def test_servers_that_failed_are_told_once() -> None:
    servers = [{"name": "good", "status": "connected"}, {"name": "bad", "status": "failed"}, {"name": "shy", "status": "needs-auth"}]
    told = [(0, init(mcp_servers=servers)), (1, result(1)), (2, init(mcp_servers=servers)), (3, result(1))]
    bad, shy = spans(live(*told), Boundary.MCP_CONNECTION)
    assert (bad.key, bad.parent_key, bad.status) == (f"bad@{at(0)}", SESSION, Status.ERROR)
    assert bad.attributes == {semconv.MCP_SERVER: "bad", semconv.MCP_STATUS: "failed", semconv.ERROR_TYPE: "failed"}
    assert start_range(bad) == end_range(bad) == (at(-30) - QUIET, at(0))
    assert shy.attributes[semconv.ERROR_TYPE] == "needs-auth"
