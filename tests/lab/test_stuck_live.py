"""What hangs, played with the real client: named while it hangs, on the same machine, and afterwards by what was recorded."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.lab.live import Lived, live
from tests.lab.scenarios import DONE, SUMMARY
from tests.lab.script import Failure, Scenario, answer, bash, text, tool

pytestmark = pytest.mark.realclient

HERE: Final = Path(__file__).parent
SERVER: Final = str(HERE / "mcp_server.py")
CODE: Final = "import sys; sys.path[:0] = {path!r}; from {module} import main; main()"
ASK_AGAIN: Final = 8
"""Times that a verdict is asked for while it hangs: a busy machine is late."""

Row = dict[str, Any]


def python(module: str) -> list[str]:
    """A command of tracekit's, also where that is not installed."""
    return [sys.executable, "-c", CODE.format(path=[path for path in sys.path if path], module=module)]


def settings(hooks: Mapping[str, str]) -> tuple[str, str]:
    """Hooks by their events, as the client's own settings; none of them runs for one tool only."""
    entries = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}
    return "--settings", json.dumps({"hooks": entries})


def quoted(command: list[str]) -> str:
    import shlex

    return shlex.join(command)


def servers(**commands: list[str]) -> tuple[str, str]:
    """MCP servers by their names."""
    return "--mcp-config", json.dumps({"mcpServers": {name: {"command": one[0], "args": one[1:]} for name, one in commands.items()}})


RECORDER: Final = quoted(python("tracekit.capture.hook_main"))
TAP: Final = [*python("tracekit.cli.main"), "mcp-tap", "--name", "demo", "--", sys.executable]
TALK: Final = tool("Bash", command="echo same", description="again")
LATE: Final = answer(text("too late"), first_byte=60.0)


class Hang(NamedTuple):
    """A run that hangs.

    Attributes:
        named: What it is called while it hangs, and which thing is meant.
        after: The names that are allowed when it is over: the process table tells nothing any more.
    """

    scenario: Scenario
    named: tuple[str, str]
    after: frozenset[str]
    seconds: float = 2.5


HANGS: Final[dict[str, Hang]] = {
    "first byte": Hang(Scenario("No byte comes.", (LATE,)), ("first byte", "claude-sonnet-4-5"), frozenset({"first byte"})),
    "tool that waits for input": Hang(
        Scenario("A command waits for somebody to type.", (answer(tool("Bash", command="python3 -c 'import pty; pty.spawn([\"cat\"])'")),)),
        ("tool waits for input", "Bash"),
        frozenset({"tool"}),
        seconds=5.5,
    ),
    "hook": Hang(
        Scenario("A hook before a command.", (answer(bash("never", 0.1)),), options=settings({"PreToolUse": "sleep 60"})),
        ("hook", "PreToolUse:Bash"),
        frozenset({"hook"}),
    ),
    "hook after a tool": Hang(
        Scenario(
            "A hook after the first command.",
            (answer(bash("quick", 0.1)),),
            options=settings({"PostToolUse": "sleep 60"}),
        ),
        ("hook", "PostToolUse:Bash"),
        frozenset({"hook"}),
    ),
    "permission": Hang(
        Scenario(
            "A person is asked, and does not answer.",
            (answer(tool("Bash", command="touch x", description="x")),),
            tools="Read",
            options=(
                "--permission-prompt-tool",
                "stdio",
                *settings({"PermissionRequest": RECORDER, "PreToolUse": RECORDER}),
            ),
        ),
        ("permission", "Bash"),
        frozenset({"permission"}),
        seconds=4.0,
    ),
    "mcp call": Hang(
        Scenario(
            "A server takes its time.",
            (answer(tool("mcp__demo__slow", seconds=60)),),
            tools="mcp__demo__slow",
            options=servers(demo=[*TAP, SERVER]),
        ),
        ("mcp call", "mcp__demo__slow"),
        frozenset({"mcp call"}),
    ),
    "retry wait": Hang(
        Scenario("An attempt failed.", (Failure(529, "overloaded_error", "Overloaded", {"retry-after": "60"}),)),
        ("retry wait", "next attempt"),
        frozenset({"retry wait"}),
    ),
    "compaction": Hang(
        Scenario(
            "A summary is not written.",
            (answer(text("first done"), input_tokens=190_000), answer(*SUMMARY.blocks, first_byte=60.0)),
            prompts=("first thing", "/compact"),
            options=settings({"PreCompact": RECORDER}),
        ),
        ("compaction", ""),
        frozenset({"compaction", "first byte"}),
    ),
    "loop": Hang(
        Scenario("The same again and again.", (*(answer(TALK, first_byte=0.01) for _ in range(6)), LATE)),
        ("loop", "1 call x6"),
        frozenset({"loop", "first byte"}),
    ),
    "sub-agent": Hang(
        Scenario(
            "An agent's command takes its time.",
            (answer(tool("Task", description="d", prompt="count the files", subagent_type="general-purpose", run_in_background=False)),),
            agents={"count the files": (answer(bash("long", 60.0)),)},
            tools="Task Bash",
        ),
        ("sub-agent", ""),
        frozenset({"sub-agent", "tool"}),
        seconds=4.0,
    ),
}


@pytest.mark.parametrize("name", HANGS)
def test_what_hangs_is_named_while_it_hangs_and_afterwards(name: str, realclient: Path, tmp_path: Path) -> None:
    hang = HANGS[name]
    answers: list[list[Row]] = []

    def ask(run: Lived) -> None:
        time.sleep(hang.seconds)
        for _ in range(ASK_AGAIN):
            answers.append(run.ask("stuck", "--store", str(run.store))["rows"])
            if hang.named[0] in {row["verdict"] for row in answers[-1]}:
                return
            time.sleep(0.5)

    run = live(hang.scenario, tmp_path / "run", binary=realclient, hanging=ask)
    rows = answers[-1]
    found = {row["verdict"]: row for row in rows}
    verdict, which = hang.named
    assert verdict in found, rows
    assert which in found[verdict]["name"]
    assert found[verdict]["certainty"] in {"certain", "likely"}
    assert found[verdict]["age_ns"] < 90 * 10**9
    later = run.ask("stuck", "latest", "--store", str(run.store))["rows"]
    for row in later:
        left = {row["verdict"], *row["could_be"].split(", ")}
        assert left & {verdict, *hang.after, "client", "lost wake-up", "idle"}, row


def test_a_session_that_was_answered_waits_for_nothing(realclient: Path, tmp_path: Path) -> None:
    run = live(Scenario("One answer.", (DONE,)), tmp_path / "run", binary=realclient)
    (row,) = run.ask("stuck", "latest", "--store", str(run.store))["rows"]
    assert (row["verdict"], row["state"]) == ("idle", "idle")
