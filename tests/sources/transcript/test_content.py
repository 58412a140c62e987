"""Content stays out of spans unless it is asked for, and then without secrets. Times, sizes, names and error texts are kept."""

import json

from tests.sources.transcript.test_agents import TASK, inside, mirrored
from tests.sources.transcript.test_compactions import compacted, summary
from tests.sources.transcript.written import (
    Entry,
    api_error,
    api_request,
    by_key,
    failed,
    gave,
    gave_up,
    hook_began,
    hook_ended,
    one,
    progress,
    prompt,
    said,
    spans,
    system,
    thought,
    told,
    tool,
    user,
    words,
)
from tracekit.model import Boundary, Problem, Span, semconv

KEY = "sk-ant-REDACTED"


def everything() -> list[Entry]:
    """A session in which every text that is content says `quince`."""
    said_no = {"blockingError": "[quince --all]: no", "command": "quince --all"}
    summed_up = {"toolUseID": "h", "hookErrors": [], "hookInfos": [{"command": "quince"}]}
    return [
        {"type": "summary", "summary": "quince", "leafUuid": "x"},
        prompt(0, "quince, please"),
        said(1, thought("quince?")),
        said(2, words("quince!")),
        said(3, tool(command="quince --all"), tool("toolu_2", "mcp__files__read", path="quince")),
        hook_began(3.1, "PreToolUse") | {"data": {"type": "hook_progress", "hookEvent": "PreToolUse", "command": "quince"}},
        progress(4, "bash_progress", output="quince", fullOutput="quince", elapsedTimeSeconds=1),
        gave(5, content="quince", toolUseResult={"stdout": "quince"}),
        gave(6, "toolu_2", [words("quince")]),
        hook_ended(6.5, "PostToolUse", "hook_blocking_error", stdout="quince", command="quince", blockingError=said_no),
        api_request(7, tail=["quince"], metadata="quince"),
        api_error(7.5, {}),
        said(8, TASK | {"input": {"prompt": "quince", "subagent_type": "explorer"}, "id": "toolu_3"}, message="msg_2", request="req_2"),
        mirrored(8.5, prompt(8.4, "quince")),
        mirrored(8.7, said(8.6, words("quince"), message="msg_3")),
        inside(prompt(9, "quince")),
        inside(said(10, words("quince"), message="msg_4", request="req_4")),
        gave(11, "toolu_3", "quince", toolUseResult={"agentId": "a1", "prompt": "quince", "content": "quince"}),
        said(12, tool("toolu_4"), message="msg_5", request="req_5"),
        failed(13, "PreToolUse:Bash hook error: [quince --all]: no", "toolu_4"),
        compacted(14),
        summary(14) | {"message": {"role": "user", "content": "quince"}},
        system(15, "local_command", content="quince"),
        system(15.5, "stop_hook_summary", **summed_up),
        prompt(16, "<command-name>/quince</command-name>"),
        user(17, "<local-command-stdout>quince</local-command-stdout>"),
        user(18, [words("quince"), {"type": "image", "source": {"data": "quince"}}]),
        gave(19, "toolu_9", "quince"),
        gave_up(20, "API Error: 500"),
    ]


def in_full(items: list[Span | Problem]) -> str:
    return json.dumps([[*item, *(item.attributes.items() if isinstance(item, Span) else ())] for item in items], default=str)


def test_no_word_of_a_prompt_an_output_an_argument_or_a_command_line_is_in_any_span() -> None:
    items = told(*everything())
    assert {item.boundary for item in items if isinstance(item, Span)} >= {
        Boundary.TURN,
        Boundary.MODEL_REQUEST,
        Boundary.REQUEST_ATTEMPT,
        Boundary.STREAM_EVENT,
        Boundary.TOOL_SCHEDULE,
        Boundary.TOOL_EXECUTION,
        Boundary.MCP_CALL,
        Boundary.HOOK_REPLY,
        Boundary.SUBAGENT,
        Boundary.COMPACTION,
    }
    assert "quince" not in in_full(items)


def test_nothing_but_content_is_added_when_it_is_asked_for() -> None:
    without, with_it = told(*everything()), told(*everything(), content=True)
    stripped = [
        item._replace(attributes={name: value for name, value in item.attributes.items() if name != semconv.CONTENT})
        for item in with_it
        if isinstance(item, Span)
    ]
    assert stripped == [item._replace(attributes=dict(item.attributes)) for item in without if isinstance(item, Span)]


def test_prompts_blocks_and_arguments_are_kept_when_they_are_asked_for() -> None:
    lines = (prompt(0, "quince, please"), said(1, thought("quince?")), said(2, words("quince!")), said(3, tool(command="quince")), gave(4))
    items = told(*lines, content=True)
    assert one(items, Boundary.TURN).attributes[semconv.CONTENT] == "quince, please"
    blocks = [block.attributes[semconv.CONTENT] for block in spans(items, Boundary.STREAM_EVENT)]
    assert blocks == ["quince?", "quince!", '{"command":"quince"}']
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.CONTENT] == '{"command":"quince"}'


def test_secrets_are_masked_in_content_too() -> None:
    lines = (prompt(0, f"use {KEY}"), said(1, words(f"using {KEY}")), said(3, tool(command=f"login {KEY}")), gave(4))
    items = told(*lines, content=True)
    assert KEY not in in_full(items)
    assert one(items, Boundary.TURN).attributes[semconv.CONTENT] == "use [secret]"


def test_a_call_keeps_its_arguments_and_its_run_the_result() -> None:
    items = told(prompt(0), said(1, tool("toolu_1", command="ls")), gave(2, content="quince jam"), content=True)
    assert one(items, Boundary.TOOL_SCHEDULE).attributes[semconv.CONTENT] == '{"command":"ls"}'
    assert one(items, Boundary.TOOL_EXECUTION).attributes[semconv.CONTENT] == "quince jam"


def test_content_with_half_a_character_is_kept_as_far_as_it_can_be_stored() -> None:
    lines = (prompt(0, "a \ud83d b"), said(1, words("c \ud83d d")), said(2, tool(command="\ud83d")), gave(3))
    for span in told(*lines, content=True):
        assert isinstance(span, Span)
        for value in span.attributes.values():
            str(value).encode()


def test_a_turn_inside_which_the_file_begins_has_no_prompt_to_keep() -> None:
    turns = by_key(told(said(1, words("quince")), content=True), Boundary.TURN)
    assert [semconv.CONTENT in turn.attributes for turn in turns.values()] == [False]
