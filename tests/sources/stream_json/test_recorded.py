"""Recorded runs of the real client: every range holds what the judge of the run says, and every part of a run can be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.stream_json.told import Line, at, end_range, one, problems, raw, spans, start_range
from tracekit.model import Boundary, Problem, Span, Status, semconv
from tracekit.sources.fields import mapping, objects_in
from tracekit.sources.stream_json import read

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
RUNS = sorted(path.name for path in CAPTURES.iterdir())

Lines = list[tuple[int, int, bytes, int | None]]
Form = Callable[[str], Lines]


def lines_of(path: Path) -> Lines:
    found: Lines = []
    position = 0
    for number, data in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        found.append((number, position, data.rstrip(b"\n"), None))
        position += len(data)
    return found


def recorded(run: str) -> Lines:
    return lines_of(CAPTURES / run / "stream.jsonl")


def unstamped(run: str) -> Lines:
    return [(number, position, json.dumps(json.loads(data)["line"]).encode(), None) for number, position, data, _ in recorded(run)]


def truth_of(run: str) -> Line:
    truth: Line = json.loads((CAPTURES / run / "truth.json").read_bytes())
    return truth


def misses(items: list[Span | Problem], truth: Line) -> list[str]:
    """Ranges that do not hold what the judge of a run says."""
    found = {(item.boundary, item.key): item for item in items if isinstance(item, Span)}
    missed: list[str] = []

    def hold(boundary: Boundary, key: str, began: int | None, ended: int | None) -> None:
        span = found.get((boundary, key))
        if span is None:
            return
        if began is not None and not start_range(span)[0] <= began <= start_range(span)[1]:
            missed.append(f"{boundary} {key} began")
        if ended is not None and not end_range(span)[0] <= ended <= end_range(span)[1]:
            missed.append(f"{boundary} {key} ended")

    for request in truth["requests"]:
        hold(Boundary.MODEL_REQUEST, request["request_id"], request["read_ns"], request["message_stop_ns"])
        for block in request["blocks"]:
            hold(Boundary.STREAM_EVENT, f"{request['message_id']}#{block['index']}", None, block["complete_ns"])
    for execution in truth["executions"]:
        hold(Boundary.TOOL_EXECUTION, execution["tool_use_id"], execution["start_ns"], execution["end_ns"])
    return missed


def judged(run: str, items: list[Span | Problem]) -> Line:
    """The judge counts attempts: where a request was tried again, its span began with the first of them."""
    truth = truth_of(run)
    retried = {span.key for span in spans(items, Boundary.MODEL_REQUEST) if semconv.ATTEMPTS in span.attributes}
    requests = [{**request, "read_ns": None} if request["request_id"] in retried else request for request in truth["requests"]]
    return {**truth, "requests": requests}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("form", [recorded, unstamped])
def test_every_range_holds_the_truth(run: str, form: Form) -> None:
    items = list(read(form(run)))
    assert problems(items) == []
    assert misses(items, judged(run, items)) == []


def test_the_truth_is_held_against_something() -> None:
    items = [span._replace(start_ns=0, start_slack_ns=0, end_ns=1) for span in read(recorded("overlap")) if isinstance(span, Span)]
    missed = misses([*items], truth_of("overlap"))
    assert {miss.split()[0] for miss in missed} == {"model_request", "stream_event", "tool_execution"}


@pytest.mark.parametrize("run", sorted(set(RUNS) - {"compaction"}))  # the request for a summary is never told
def test_every_request_and_tool_of_the_main_agent_is_told_once(run: str) -> None:
    items, truth = list(read(recorded(run))), truth_of(run)
    main = [request for request in truth["requests"] if not request["side"] and request["agent"] is None]
    asked = [request["request_id"] for request in main if not request["ended"].startswith("http")]
    told = [span.key for span in spans(items, Boundary.MODEL_REQUEST) if span.agent_id is None and semconv.RESPONSE_ID in span.attributes]
    assert sorted(told) == sorted(asked)
    ran = [execution["tool_use_id"] for execution in truth["executions"]]
    executed = [span.key for span in spans(items, Boundary.TOOL_EXECUTION) if span.end_ns is not None]
    assert sorted(executed) == sorted(ran)


def test_a_run_of_hooks() -> None:
    items = list(read(recorded("hooks")))
    runs = [(run.name, run.attributes[semconv.HOOK_OUTCOME], run.status) for run in spans(items, Boundary.HOOK_REPLY)]
    assert runs == [
        ("PreToolUse:Bash", "success", Status.OK),
        ("PostToolUse:Bash", "success", Status.OK),
        ("PreToolUse:Bash", "blocking", Status.OK),
        ("Stop", "error", Status.ERROR),
    ]
    allowed, blocked = spans(items, Boundary.TOOL_SCHEDULE)
    assert [run.parent_key for run in spans(items, Boundary.HOOK_REPLY)][:3] == [allowed.key, allowed.key, blocked.key]
    assert one(items, Boundary.TOOL_EXECUTION).key == allowed.key


def test_a_run_of_three_turns() -> None:
    items = list(read(recorded("compaction")))
    turns = spans(items, Boundary.TURN)
    assert [(turn.name, turn.key[-2:]) for turn in turns] == [("prompt", "#1"), ("command", "#2"), ("prompt", "#3")]
    assert one(items, Boundary.COMPACTION).parent_key == turns[1].key


@pytest.mark.parametrize("form", [recorded, unstamped])
@given(run=st.sampled_from(RUNS), share=st.floats(0, 1))
def test_any_part_of_a_run_is_read_and_shows_what_is_open(form: Form, run: str, share: float) -> None:
    lines = form(run)
    lines = lines[: round(share * len(lines))]
    items = list(read(lines))
    assert [problem.reason for problem in problems(items) if problem.reason != "no times in the stream"] == []
    for span in (item for item in items if isinstance(item, Span)):
        assert span.start_slack_ns >= 0
        assert span.end_slack_ns >= 0
        assert span.end_ns is None or span.start_ns <= span.end_ns - span.end_slack_ns
    open_calls = {span.key for span in spans(items, Boundary.TOOL_SCHEDULE) if span.end_ns is None}
    assert open_calls == (unanswered(lines) if spans(items, Boundary.SESSION) else set())


def unanswered(lines: Lines) -> set[str]:
    """Calls without a result, counted straight from the lines. A result line ends those of the main agent."""
    waiting: dict[str, bool] = {}
    for _, _, data, _ in lines:
        value: Line = json.loads(data)
        value = value.get("line", value)
        for part in objects_in(mapping(value, "message"), "content"):
            if part["type"] == "tool_use":
                waiting[part["id"]] = bool(value["parent_tool_use_id"])
            waiting.pop(part.get("tool_use_id", ""), None)
        if value["type"] == "result":
            waiting = {key: inner for key, inner in waiting.items() if inner}
    return set(waiting)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


def fields_of(value: Line) -> list[tuple[Line, str]]:
    """Every field of an object and of the objects in it."""
    inner = [mapping(value, name) for name in value] + [item for name in value for item in objects_in(value, name)]
    return [*((value, name) for name in value), *(field for item in inner for field in fields_of(item))]


@given(run=st.sampled_from(RUNS), data=st.data())
def test_fields_of_any_kind_are_survived(run: str, data: st.DataObject) -> None:
    lines: list[Line] = [json.loads(raw_line)["line"] for _, _, raw_line, _ in recorded(run)]
    fields = [field for value in lines for field in fields_of(value)]
    for place in data.draw(st.lists(st.integers(0, len(fields) - 1), min_size=1, max_size=6)):
        value, name = fields[place]
        value[name] = data.draw(JSON)
    items = list(read(raw(lines, [at(number / 10) for number in range(len(lines))])))
    assert spans(items, Boundary.SESSION) or problems(items)


# The corpus ----------------------------------------------------------------------------------------------------------


def test_what_the_captures_of_the_corpus_are_known_to_show(corpus: Path) -> None:
    found = {path.parent.name: list(read(lines_of(path))) for path in sorted((corpus / "captures").glob("*/stream.jsonl"))}
    assert found
    assert {name: problems(items) for name, items in found.items() if problems(items)} == {}

    def statuses(name: str, boundary: Boundary = Boundary.MODEL_REQUEST) -> list[str]:
        return [span.status for span in spans(found[name], boundary)]

    def terminal(name: str) -> Any:
        return one(found[name], Boundary.SESSION).attributes.get(semconv.TERMINAL_REASON)

    assert statuses("cut_mid_stream") == [Status.ERROR, Status.OK]
    assert spans(found["cut_mid_stream"], Boundary.MODEL_REQUEST)[0].attributes[semconv.STREAM_CUT] == "connection_failed"
    for name in ("overloaded_retry", "rate_limit_retry"):
        assert (statuses(name), len(spans(found[name], Boundary.REQUEST_ATTEMPT))) == ([Status.OK], 2)
    assert one(found["server_error_exhausted"], Boundary.MODEL_REQUEST).attributes[semconv.ATTEMPTS] == 3
    assert (terminal("prompt_too_long"), statuses("prompt_too_long")) == ("prompt_too_long", [Status.ERROR])
    assert (terminal("unknown_model"), statuses("unknown_model")) == ("api_error", [Status.ERROR])
    assert one(found["stalled_stream"], Boundary.MODEL_REQUEST).end_ns is None
    assert one(found["stuck_tool"], Boundary.TOOL_EXECUTION).end_ns is None
    assert one(found["stuck_tool"], Boundary.MODEL_REQUEST).end_ns is not None
    assert spans(found["max_tokens"], Boundary.MODEL_REQUEST)[0].attributes[semconv.STOP_REASON] == "max_tokens"
    assert [span.name for span in spans(found["mcp_unreachable"], Boundary.MCP_CONNECTION)] == ["missing", "refused"]
    assert statuses("mcp", Boundary.MCP_CALL) == [Status.OK, Status.ERROR, Status.OK]
    assert one(found["permission_denied"], Boundary.PERMISSION_WAIT).attributes[semconv.PERMISSION_DECISION] == "reject"
    assert spans(found["permission_denied"], Boundary.TOOL_EXECUTION) == []
    assert [span.attributes.get(semconv.DENIAL_KIND) for span in spans(found["hooks"], Boundary.TOOL_SCHEDULE)] == [None, "permission-rule"]
    assert one(found["compaction"], Boundary.COMPACTION).attributes[semconv.PRE_TOKENS] == 190_050
    assert one(found["subagent"], Boundary.SUBAGENT).status == Status.OK
    assert statuses("tool_failures", Boundary.TOOL_SCHEDULE) == [Status.ERROR] * 5
    assert len(spans(found["tool_failures"], Boundary.TOOL_EXECUTION)) == 2
    eager = {
        name
        for name, items in found.items()
        if any(semconv.EAGER_TOOLS in span.attributes for span in spans(items, Boundary.MODEL_REQUEST))
    }
    assert {"overlap", "parallel_reads"} <= eager
    assert not {"serial", "hooks"} & eager
