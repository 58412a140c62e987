"""Lines without content: the stream tells the same of every boundary, and nothing of what was said."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.instrument.sdk.claude_agent.lines import kept
from tracekit.model import Problem, Span
from tracekit.model.withheld import withheld
from tracekit.sources.stream_json import read

CAPTURES = sorted((Path(__file__).parents[2] / "data" / "captures").glob("*/stream.jsonl"))
FAILS = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True}


def stamped(path: Path) -> list[tuple[int, dict[str, Any]]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["arrival_ns"], line["line"]) for line in found]


def told(lines: list[tuple[int, dict[str, Any]]]) -> list[Span | Problem]:
    raw = (json.dumps({"arrival_ns": arrival_ns, "line": line}).encode() for arrival_ns, line in lines)
    return list(read((number, number, line, None) for number, line in enumerate(raw, start=1)))


def texts(value: Any) -> Iterator[str]:
    """Every text of more than a word."""
    if isinstance(value, str) and " " in value.strip():
        yield value
    match value:
        case {**fields}:
            for field in fields.values():
                yield from texts(field)
        case [*items]:
            for item in items:
                yield from texts(item)
        case _:
            return


def is_of_an_error(line: dict[str, Any]) -> bool:
    return '"is_error": true' in json.dumps(line) or '"error"' in json.dumps(line)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name)
def test_a_stream_without_content_tells_the_same(path: Path) -> None:
    lines = stamped(path)
    assert told([(arrival_ns, kept(line)) for arrival_ns, line in lines]) == told(lines)


def test_nothing_that_was_said_is_kept() -> None:
    lines = [line for path in CAPTURES for _, line in stamped(path) if not is_of_an_error(line)]
    said = {text for line in lines for text in texts(line)}
    assert len(said) > 50
    assert said & {text for line in lines for text in texts(kept(line))} == set()


def test_fields_that_the_parser_drops_are_kept() -> None:
    line: dict[str, Any] = {
        "type": "stream_event",
        "event": {"type": "message_start", "message": {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 3}}},
        "session_id": "s",
        "ttft_ms": 210,
        "api_message_id": "msg_1",
    }
    assert kept(line) == line


def test_a_delta_is_kept_as_one_that_came() -> None:
    delta = {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "secret plans"}}
    line = {"type": "stream_event", "event": delta, "session_id": "s"}
    assert kept(line)["event"] == {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta"}}


def test_how_a_call_is_to_be_run_is_kept_and_what_it_is_to_do_is_not() -> None:
    arguments = {"command": "cat plans", "timeout": 5000, "run_in_background": True}
    part = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": arguments}
    (found,) = kept({"type": "assistant", "message": {"id": "msg_1", "content": [part]}})["message"]["content"]
    assert found["name"] == "Bash"
    assert {name: found["input"][name] for name in ("timeout", "run_in_background")} == {"timeout": 5000, "run_in_background": True}
    assert "command" not in found["input"]
    known = withheld(found["input"])
    assert known is not None
    assert known.size == len(json.dumps(arguments, separators=(",", ":")))


@pytest.mark.parametrize("content", ["exit 1: sk-ant-abcdefghijkl", [{"type": "text", "text": "exit 1: sk-ant-abcdefghijkl"}]])
def test_an_error_keeps_its_text_without_its_secrets(content: Any) -> None:
    line = {"type": "user", "message": {"role": "user", "content": [FAILS | {"content": content}]}}
    (found,) = kept(line)["message"]["content"]
    assert withheld(found["content"]).words == "exit 1: [secret]"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("prompt", "left"),
    [
        ("rob the bank", "[withheld]"),
        ("/review the plans", "/review [withheld]"),
        ("<command-name>x</command-name>", "<command-name> [withheld]"),
        ("[Request interrupted by user]", "[Request interrupted by user]"),
        ("he said [Request interrupted by user]", "[withheld]"),
    ],
)
def test_of_a_prompt_only_that_it_is_a_command_or_an_interrupt_is_kept(prompt: str, left: str) -> None:
    assert kept({"type": "user", "message": {"role": "user", "content": prompt}})["message"]["content"] == left
    parts = kept({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": prompt}]}})["message"]["content"]
    assert parts == [{"type": "text", "text": left}]


@pytest.mark.parametrize(
    ("line", "name", "kept_text"),
    [
        ({"type": "result", "is_error": True, "result": "API Error: 500"}, "result", "API Error: 500"),
        ({"type": "result", "is_error": False, "result": "the plans"}, "result", None),
        ({"type": "system", "subtype": "hook_response", "outcome": "error", "stderr": "no such file"}, "stderr", "no such file"),
        ({"type": "system", "subtype": "hook_response", "outcome": "success", "stderr": "the plans"}, "stderr", None),
        ({"type": "system", "subtype": "informational", "content": "the plans"}, "content", None),
    ],
)
def test_what_went_wrong_is_kept_and_what_went_well_is_withheld(line: dict[str, Any], name: str, kept_text: str | None) -> None:
    found = kept(line)[name]
    assert found == kept_text if kept_text is not None else withheld(found) is not None


def test_who_asks_for_a_call_is_kept_and_not_what_it_would_do() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": "toolu_1", "input": {"content": "plans"}, "description": "x"}
    assert kept({"type": "control_request", "request_id": "1", "request": request})["request"] == {
        "subtype": "can_use_tool",
        "tool_name": "Write",
        "tool_use_id": "toolu_1",
    }


def test_with_content_all_is_kept_but_secrets() -> None:
    line: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": "use sk-ant-abcdefghijkl and run"}, "n": [1, None]}
    assert kept(line, content=True) == {"type": "user", "message": {"role": "user", "content": "use [secret] and run"}, "n": [1, None]}
