"""What messages mean: how the server was connected, what it was asked, and how that ended."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.mcp_tap.talk import GREETING, INITIALIZE, INITIALIZED, TOOLS, tool, written
from tracekit.capture.mcp_tap.calls import Server
from tracekit.capture.mcp_tap.listening import Listener
from tracekit.capture.mcp_tap.wire import Side
from tracekit.model import Boundary, Source, Span, Status, semconv

T0 = 1_000


class Conversation:
    """A client and a server that say what they are told, one thing a nanosecond."""

    def __init__(self, *, content: bool = False) -> None:
        self.spans: list[Span] = []
        self.listener = Listener(Server("demo", "s1"), T0, self.spans.append, content=content)
        self.listener.start()
        self.now = T0

    def client(self, *messages: object) -> "Conversation":
        return self.raw(Side.CLIENT, written(*messages))

    def server(self, *messages: object) -> "Conversation":
        return self.raw(Side.SERVER, written(*messages))

    def raw(self, side: Side, data: bytes) -> "Conversation":
        self.now += 1
        self.listener.hear(side, data, self.now)
        return self

    def end(self, status: Status = Status.CANCELLED, why: str = "the client left") -> list[Span]:
        self.now += 1
        self.listener.stop(self.now, status, why)
        return self.spans

    def closed(self, boundary: Boundary) -> list[Span]:
        return [span for span in self.spans if span.boundary == boundary and span.end_ns is not None]


def result(number: object, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": fields}


def error(number: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


HELLO = result(0, protocolVersion="2025-11-25", capabilities={"tools": {}})


def greeted() -> Conversation:
    return Conversation().client(INITIALIZE).server(HELLO).client(INITIALIZED, TOOLS).server(result(1, tools=[]))


def test_a_server_is_connected_when_it_has_listed_its_tools() -> None:
    conversation = greeted()
    conversation.end()
    opened, connected = conversation.spans[0], conversation.closed(Boundary.MCP_CONNECTION)[0]
    assert (opened.source, opened.key, opened.start_ns, opened.end_ns, opened.parent_key) == (Source.MCP_TAP, "demo@1000", T0, None, "s1")
    assert (connected.key, connected.start_ns, connected.end_ns, connected.status) == ("demo@1004", T0, 1_004, Status.OK)
    assert connected.attributes == {
        semconv.MCP_SERVER: "demo",
        semconv.MCP_TRANSPORT: "pipe",
        semconv.MCP_PROTOCOL: "2025-11-25",
        semconv.MCP_STATUS: "connected",
        semconv.OPENED_AS: "demo@1000",
    }
    assert [(event.name, event.time_ns) for event in connected.events] == [
        ("spawn", 1_000),
        ("initialize request", 1_001),
        ("initialize response", 1_002),
        ("initialized", 1_003),
        ("tools/list request", 1_003),
        ("tools/list response", 1_004),
    ]


def test_while_it_is_connected_it_is_open_under_its_stage() -> None:
    conversation = Conversation().client(INITIALIZE)
    conversation.end()
    opened = [span.attributes.get(semconv.MCP_METHOD) for span in conversation.spans if span.end_ns is None]
    assert opened == [None, "initialize"]


def test_a_server_that_leaves_later_is_a_moment() -> None:
    conversation = greeted()
    gone = conversation.end()[-1]
    assert (gone.key, gone.start_ns, gone.end_ns, gone.status) == ("demo@1005", 1_005, 1_005, Status.UNSET)
    assert gone.attributes == {semconv.MCP_SERVER: "demo", semconv.MCP_TRANSPORT: "pipe", semconv.MCP_STATUS: "disconnected"}
    crashed = greeted().end(Status.ERROR, "the server exited with code 3")[-1]
    assert (crashed.status, crashed.attributes[semconv.ERROR_TEXT]) == (Status.ERROR, "connection closed: the server exited with code 3")


@pytest.mark.parametrize(
    ("said", "why", "stage", "words"),
    [
        (0, "the server exited with code 1", None, "connection closed: the server exited with code 1 before it was ready"),
        (
            1,
            "the server exited with code 1",
            "initialize",
            "connection closed: the server exited with code 1 before it answered initialize",
        ),
    ],
)
def test_a_server_that_ends_before_it_is_ready_has_failed(said: int, why: str, stage: str | None, words: str) -> None:
    conversation = Conversation().client(*[INITIALIZE][:said])
    failed = conversation.end(Status.ERROR, why)[-1]
    assert (failed.status, failed.attributes[semconv.MCP_STATUS]) == (Status.ERROR, "failed")
    assert failed.attributes.get(semconv.MCP_METHOD) == stage
    assert failed.attributes[semconv.ERROR_TEXT] == words
    assert failed.attributes[semconv.OPENED_AS] == "demo@1000"


def test_a_server_that_talks_to_people_on_its_stdout_is_told_of() -> None:
    conversation = Conversation().raw(Side.SERVER, b"Server is starting!\nListening.\n")
    failed = conversation.end(Status.ERROR, "the server exited with code 3")[-1]
    assert str(failed.attributes[semconv.ERROR_TEXT]).endswith("; it wrote 2 lines that are no JSON-RPC")


def test_a_client_that_leaves_early_is_nobodys_failure() -> None:
    left = Conversation().client(INITIALIZE).end()[-1]
    assert (left.status, left.attributes[semconv.MCP_STATUS]) == (Status.CANCELLED, "disconnected")


def test_a_refused_handshake_says_why() -> None:
    conversation = Conversation().client(INITIALIZE).server(error(0, -32022, "unsupported protocol version"))
    failed = conversation.end(Status.ERROR, "the server exited with code 0")[-1]
    assert failed.attributes[semconv.RPC_STATUS] == "-32022"
    assert (failed.attributes[semconv.MCP_METHOD], failed.attributes[semconv.ERROR_TEXT]) == ("initialize", "unsupported protocol version")


def test_a_list_of_tools_that_does_not_come_is_a_failure_of_discovery() -> None:
    conversation = Conversation().client(INITIALIZE).server(HELLO).client(TOOLS).server(error(1, -32603, "internal error"))
    conversation.end()
    (failed, _) = conversation.closed(Boundary.MCP_CONNECTION)
    assert (failed.status, failed.attributes[semconv.MCP_STATUS]) == (Status.ERROR, "failed")
    assert failed.attributes[semconv.MCP_METHOD] == "tools/list"


PROBE = "server-discover-probe-1"


@pytest.mark.parametrize("answer", [error(PROBE, -32601, "Method not found"), result(PROBE)])
def test_a_probe_that_an_older_server_does_not_know_is_no_failure(answer: dict[str, Any]) -> None:
    conversation = Conversation().client({"jsonrpc": "2.0", "id": PROBE, "method": "server/discover"}).server(answer)
    conversation.client(INITIALIZE).server(HELLO).client(TOOLS).server(result(1, tools=[])).end()
    connected = conversation.closed(Boundary.MCP_CONNECTION)[0]
    assert (connected.status, semconv.ERROR_TEXT in connected.attributes) == (Status.OK, False)


@pytest.mark.parametrize(
    ("rest", "ready_ns"),
    [
        # A list in two pages.
        ([("server", result(1, tools=[], nextCursor="2")), ("client", {**TOOLS, "id": 5}), ("server", result(5, tools=[]))], 1_006),
        # A client that calls at once has been told of the tools before.
        ([("client", tool(7, "add"))], 1_003),
    ],
)
def test_a_server_is_ready_when_nothing_more_is_asked(rest: list[tuple[str, object]], ready_ns: int) -> None:
    conversation = Conversation().client(INITIALIZE).server(HELLO).client(TOOLS)
    for side, message in rest:
        getattr(conversation, side)(message)
    conversation.end()
    connected = conversation.closed(Boundary.MCP_CONNECTION)[0]
    assert (connected.end_ns, connected.status) == (ready_ns, Status.OK)


def test_a_server_without_tools_is_ready_when_it_is_greeted() -> None:
    conversation = Conversation().client(INITIALIZE).server(result(0, capabilities={"prompts": {}})).client(INITIALIZED)
    conversation.end()
    assert conversation.closed(Boundary.MCP_CONNECTION)[0].end_ns == 1_003
    modern = Conversation().client({"id": 1, "method": "server/discover"}).server(result(1, capabilities={}))
    modern.end()
    assert modern.closed(Boundary.MCP_CONNECTION)[0].end_ns == 1_002


# Calls


def test_a_call_meets_the_clients_own_id_and_lasts_from_request_to_response() -> None:
    conversation = greeted().client(tool(2, "add", "toolu_1", a=1)).server(result(2, content=[{"type": "text", "text": "3"}]))
    conversation.end()
    opened = next(span for span in conversation.spans if span.boundary == Boundary.MCP_CALL)
    (call,) = conversation.closed(Boundary.MCP_CALL)
    assert (opened.key, opened.end_ns) == (call.key, None) == ("toolu_1", None)
    assert (call.start_ns, call.end_ns, call.name, call.parent_key, call.status) == (1_005, 1_006, "add", "toolu_1", Status.OK)
    assert call.attributes == {
        semconv.MCP_SERVER: "demo",
        semconv.MCP_METHOD: "tools/call",
        semconv.MCP_TRANSPORT: "pipe",
        semconv.JSONRPC_ID: "2",
        semconv.TOOL_NAME: "add",
        semconv.TOOL_CALL_ID: "toolu_1",
        semconv.TOOL_INPUT_SIZE: 7,
        semconv.TOOL_INPUT_DIGEST: call.attributes[semconv.TOOL_INPUT_DIGEST],
        semconv.TOOL_RESULT_SIZE: 28,
        semconv.TOOL_RESULT_DIGEST: call.attributes[semconv.TOOL_RESULT_DIGEST],
    }


def test_a_call_without_an_id_of_the_client_is_known_by_server_request_and_moment() -> None:
    conversation = greeted().client(tool(2, "add")).server(result(2))
    conversation.end()
    (call,) = conversation.closed(Boundary.MCP_CALL)
    assert (call.key, call.parent_key) == ("demo/2@1005", "s1")


def test_a_request_that_came_in_parts_began_with_the_first() -> None:
    data = written(tool(2, "add"))
    conversation = greeted().raw(Side.CLIENT, data[:9]).raw(Side.CLIENT, data[9:]).server(result(2))
    conversation.end()
    (call,) = conversation.closed(Boundary.MCP_CALL)
    assert (call.start_ns, call.start_slack_ns, call.end_ns) == (1_005, 1, 1_007)


def test_errors_of_tool_and_protocol_are_told_apart() -> None:
    conversation = greeted().client(tool(2, "a"), tool(3, "b"))
    conversation.server(result(2, content=[{"type": "text", "text": "key sk-ant-REDACTED"}, {"type": "image"}], isError=True))
    conversation.server(error(3, -32602, "no such tool")).end()
    by_tool, by_protocol = conversation.closed(Boundary.MCP_CALL)
    assert (by_tool.status, by_tool.attributes[semconv.ERROR_TYPE], by_tool.attributes[semconv.ERROR_TEXT]) == (
        Status.ERROR,
        "tool_error",
        "key [secret]",
    )
    assert semconv.RPC_STATUS not in by_tool.attributes
    assert (by_protocol.attributes[semconv.RPC_STATUS], by_protocol.attributes[semconv.ERROR_TEXT]) == ("-32602", "no such tool")


def test_ids_of_both_sides_and_of_both_kinds_are_kept_apart() -> None:
    asks = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": "which?"}}
    conversation = greeted().client(tool(1, "number"), tool("1", "text")).server(asks)
    conversation.client(result(1, action="accept")).server(result("1"), result(1)).end()
    assert [(call.name, call.end_ns, call.attributes[semconv.MCP_METHOD]) for call in conversation.closed(Boundary.MCP_CALL)] == [
        ("elicitation/create", 1_007, "elicitation/create"),
        ("text", 1_008, "tools/call"),
        ("number", 1_008, "tools/call"),
    ]


def test_a_batch_is_each_of_its_messages() -> None:
    conversation = greeted().client([tool(2, "a"), tool(3, "b")]).server([result(3), result(2)])
    conversation.end()
    assert [call.name for call in conversation.closed(Boundary.MCP_CALL)] == ["b", "a"]


def test_an_id_that_is_used_again_ends_what_it_stood_for() -> None:
    conversation = greeted().client(tool(2, "first")).client(tool(2, "second")).server(result(2))
    conversation.end()
    assert [(call.name, call.status, call.end_ns) for call in conversation.closed(Boundary.MCP_CALL)] == [
        ("first", Status.CANCELLED, 1_006),
        ("second", Status.OK, 1_007),
    ]


def test_whoever_cancels_a_request_waits_no_longer() -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2, "reason": "the user stopped"}}
    conversation = greeted().client(tool(2, "slow")).client(cancel).server(result(2))
    conversation.end()
    (call,) = conversation.closed(Boundary.MCP_CALL)
    assert (call.status, call.end_ns, call.attributes[semconv.ERROR_TEXT]) == (Status.CANCELLED, 1_006, "the user stopped")


@pytest.mark.parametrize("status", [Status.ERROR, Status.CANCELLED])
def test_a_call_that_nobody_can_answer_any_more_says_what_happened(status: Status) -> None:
    conversation = greeted().client(tool(2, "slow"))
    conversation.end(status, "the server was ended by SIGKILL")
    (call,) = conversation.closed(Boundary.MCP_CALL)
    assert (call.status, call.end_ns) == (status, 1_006)
    assert call.attributes[semconv.ERROR_TEXT] == "connection closed: the server was ended by SIGKILL before it answered"


def test_what_belongs_to_no_work_is_not_recorded() -> None:
    beside = [{"jsonrpc": "2.0", "id": number, "method": method} for number, method in enumerate(("ping", "prompts/list", "tools/list"), 9)]
    conversation = greeted().client(*beside).server(*(result(message["id"]) for message in beside))
    conversation.end()
    assert conversation.closed(Boundary.MCP_CALL) == []


def test_arguments_are_kept_only_when_asked_for() -> None:
    for content in (False, True):
        conversation = Conversation(content=content).client(*GREETING, tool(2, "add", text="mine", password="hunter2hunter2"))  # noqa: S106
        conversation.end()
        kept = [span.attributes[semconv.CONTENT] for span in conversation.spans if semconv.CONTENT in span.attributes]
        assert bool(kept) is content
        assert "hunter2" not in str(conversation.spans)


# Whatever comes


@given(st.lists(st.tuples(st.sampled_from(Side), st.binary(max_size=30) | st.sampled_from([written(one) for one in (*GREETING, HELLO)]))))
def test_any_bytes_are_survived(pieces: list[tuple[Side, bytes]]) -> None:
    conversation = Conversation()
    for side, data in pieces:
        conversation.raw(side, data)
    conversation.end()
    assert conversation.listener.gaps == 0
    assert conversation.spans[-1].end_ns == conversation.now


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def having(*names: str) -> st.SearchStrategy[Any]:
    """Objects that have some of these fields, and other values."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, JSON)) | JSON


METHODS = ("initialize", "tools/list", "tools/call", "notifications/cancelled", "x")
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "id": JSON,
        "method": st.sampled_from(METHODS) | JSON,
        "params": having("name", "arguments", "_meta", "requestId", "reason"),
        "result": having("content", "isError", "capabilities", "nextCursor"),
        "error": having("code", "message"),
    },
)


@given(st.lists(st.tuples(st.sampled_from(Side), MESSAGE), max_size=12))
def test_messages_of_any_shape_give_sound_observations(said: list[tuple[Side, dict[str, Any]]]) -> None:
    conversation = Conversation(content=True)
    for side, message in said:
        conversation.raw(side, json.dumps(message).encode() + b"\n")
    conversation.end()
    assert conversation.listener.gaps == 0
    for span in conversation.spans:
        assert span.key
        assert span.end_ns is None or span.start_ns <= span.end_ns
    opened = {(span.boundary, span.key) for span in conversation.spans if span.boundary == Boundary.MCP_CALL and span.end_ns is None}
    assert {(span.boundary, span.key) for span in conversation.closed(Boundary.MCP_CALL)} == opened


def test_what_cannot_be_kept_is_counted() -> None:
    def refuse(_: Span) -> None:
        raise OSError(28, "No space left on device")

    listener = Listener(Server("demo", "s1"), T0, refuse)
    listener.start()
    listener.hear(Side.CLIENT, written(*GREETING), T0 + 1)
    listener.stop(T0 + 2, Status.CANCELLED, "the client left")
    assert listener.gaps > 1


def test_what_comes_faster_than_it_is_read_leaves_a_hole_and_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = greeted()
    monkeypatch.setattr("tracekit.capture.mcp_tap.listening.MOST_WAITING", 10)
    conversation.client(tool(2, "lost"))
    monkeypatch.undo()
    conversation.client(tool(3, "spoilt"), tool(4, "read")).server(result(4))
    conversation.end()
    assert [call.name for call in conversation.closed(Boundary.MCP_CALL)] == ["read"]
    assert conversation.listener.gaps == 2
