"""Sessions and turns: where they begin, how they end, and what of them is kept."""

from typing import Any

from tests.sources.stream_json.told import (
    QUIET,
    SECOND,
    SESSION,
    SIMPLE,
    WITH_TOOL,
    Arrived,
    at,
    end_range,
    gave,
    init,
    line,
    live,
    one,
    requesting,
    result,
    said,
    spans,
    start_range,
    tool,
    words,
)
from tracekit.model import Boundary, Status, semconv


def test_a_run_is_a_session_with_a_turn() -> None:
    items = live(*SIMPLE)
    session, turn = one(items, Boundary.SESSION), one(items, Boundary.TURN)
    assert (session.key, session.status) == (SESSION, Status.OK)
    assert session.attributes == {
        semconv.PROJECT: "/home/demo/project",
        semconv.CLIENT_VERSION: "2.1.332",
        semconv.RESULT_SUBTYPE: "success",
        semconv.RESULT_IS_ERROR: False,
        semconv.TERMINAL_REASON: "completed",
        semconv.COST_USD: 0.25,
    }
    assert (turn.key, turn.parent_key, turn.name) == (f"turn:{SESSION}#1", SESSION, "prompt")
    assert start_range(turn) == (at(-0.05) - QUIET, at(0))
    assert end_range(turn) == (at(1.3) - QUIET, at(1.3))
    assert start_range(session) == (start_range(turn)[0] - 2 * SECOND, at(0))
    assert end_range(session) == (at(1.3) - QUIET, at(3.3))


def test_a_replayed_prompt_names_its_turn_and_content_is_kept_only_when_asked() -> None:
    prompt = line("user", message={"role": "user", "content": "my prompt"}, isReplay=True, uuid="u-prompt")
    told = [*SIMPLE[:2], (0.4, prompt), *SIMPLE[2:]]
    turn = one(live(*told), Boundary.TURN)
    assert (turn.key, turn.attributes[semconv.TURN_KIND]) == ("u-prompt", "prompt")
    assert semconv.CONTENT not in turn.attributes
    assert one(live(*told), Boundary.MODEL_REQUEST).parent_key == "u-prompt"
    kept = live(*told, content=True)
    assert one(kept, Boundary.TURN).attributes[semconv.CONTENT] == "my prompt"
    assert one(kept, Boundary.STREAM_EVENT).attributes[semconv.CONTENT] == "hello"


def test_nothing_of_the_conversation_is_kept_unasked() -> None:
    secret = "the quick brown fox"
    prompt = line("user", message={"content": secret}, isReplay=True)
    told = [
        (0, init()),
        (0, requesting()),
        (0, prompt),
        (1, said(words(secret))),
        (2, said(tool(command=secret))),
        (3, gave(content=secret)),
    ]
    assert secret not in repr(live(*told, (4, result(4, result=secret))))


def test_the_kind_of_a_turn() -> None:
    def kind(*told: Arrived) -> Any:
        return one(live(*told), Boundary.TURN).attributes[semconv.TURN_KIND]

    assert kind((0, init()), (1, result(1, local_command="compact"))) == "command"
    assert kind((0, init()), (1, result(1, origin={"kind": "task-notification"}))) == "notification"
    assert kind((0, said(words())), (1, result(1))) == "implicit"
    replay = line("user", message={"content": "/home/demo is a folder"}, isReplay=True)
    assert kind((0, init()), (0, replay), (1, result(1))) == "prompt"


def test_each_result_ends_a_turn() -> None:
    second = [(seconds + 5, value) for seconds, value in SIMPLE]
    turns = spans(live(*SIMPLE, *second), Boundary.TURN)
    assert [turn.key for turn in turns] == [f"turn:{SESSION}#1", f"turn:{SESSION}#2"]
    assert [end_range(turn)[1] for turn in turns] == [at(1.3), at(6.3)]


def test_a_turn_that_is_interrupted() -> None:
    stopped = line("user", message={"content": [words("[Request interrupted by user for tool use]")]})
    quoted = line("user", message={"content": [words("it says [Request interrupted by user] here")]}, isReplay=True)
    turn = one(live(*WITH_TOOL, (2, stopped), (2.1, result(2.1, subtype="error_during_execution", is_error=True))), Boundary.TURN)
    assert turn.status == Status.CANCELLED
    assert (turn.attributes[semconv.INTERRUPTED], turn.attributes[semconv.INTERRUPTS]) == ("tool", 1)
    assert one(live(*WITH_TOOL, (2, quoted), (2.1, result(2.1))), Boundary.TURN).status == Status.OK


def test_an_aborted_stream_is_cancelled_and_not_cut() -> None:
    told = [*SIMPLE[:4], (1, result(1, terminal_reason="aborted_streaming", is_error=True, subtype="error_during_execution"))]
    items = live(*told)
    request = one(items, Boundary.MODEL_REQUEST)
    assert (request.status, one(items, Boundary.TURN).attributes[semconv.INTERRUPTED]) == (Status.CANCELLED, "streaming")
    assert semconv.STREAM_CUT not in request.attributes


def test_a_result_that_failed_says_why() -> None:
    told = [(0, init()), (1, result(1, subtype="error_during_execution", is_error=True, errors=["boom with sk-ant-abcdefghijkl", "bang"]))]
    turn = one(live(*told), Boundary.TURN)
    assert (turn.status, turn.attributes[semconv.ERROR_TEXT]) == (Status.ERROR, "boom with [secret]\nbang")
    api = result(1, is_error=True, result="API Error: 529", api_error_status=529, api_error_type="overloaded_error")
    attributes = one(live((0, init()), (1, api)), Boundary.TURN).attributes
    assert (attributes[semconv.ERROR_TEXT], attributes[semconv.HTTP_STATUS]) == ("API Error: 529", 529)
    assert attributes[semconv.ERROR_TYPE] == "overloaded_error"
