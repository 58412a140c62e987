"""The words a scenario is written in: what the model says, at which pace, and how it fails. Seconds everywhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class Ending(StrEnum):
    """How a streamed answer ends. All but the first happen inside its last block."""

    COMPLETE = "message_stop"
    CUT = "cut"
    ERROR_EVENT = "error_event"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Block:
    """One content block: what its deltas carry, and the pause after each of them. A tool's arguments are sent in two."""

    kind: Literal["text", "thinking", "tool_use"]
    pieces: tuple[str, ...]
    pause: float = 0.05
    tool: str = ""
    tag: str = ""
    """What the command of this block stamps itself with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One streamed response: `first_byte` after the request was read, `tail` between its last block and its end."""

    blocks: tuple[Block, ...]
    first_byte: float = 0.2
    tail: float = 0.0
    stop_reason: str = ""
    """Without one: `tool_use` if a block calls a tool, else `end_turn`."""
    input_tokens: int = 100
    cached_tokens: int = 0
    output_tokens: int = 50
    ending: Ending = Ending.COMPLETE


@dataclass(frozen=True, slots=True)
class Failure:
    """One response that is an HTTP error."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict[str, Any])


Step = Answer | Failure


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: what the user types, what the model answers in order, and the world that the client finds."""

    about: str
    answers: tuple[Step, ...]
    prompts: tuple[str, ...] = ("please do it",)
    """The next one is typed when the last one's result came."""
    agents: Mapping[str, tuple[Step, ...]] = field(default_factory=dict[str, Any])
    """Answers to a sub-agent, by the prompt that it was given."""
    tools: str = "Bash Read Edit"
    """What the client may use without asking."""
    files: Mapping[str, str] = field(default_factory=lambda: {f"f{number}.txt": f"file {number}\n" for number in range(4)})
    hooks: bool = False
    mcp: Literal["none", "works", "unreachable"] = "none"
    environment: Mapping[str, str] = field(default_factory=dict[str, Any])
    options: tuple[str, ...] = ()
    """What the client is told on its command line besides."""
    killed_after: float | None = None
    """Kill the client this long after the last answer began."""
    interrupted_after: float | None = None
    """Interrupt the client, as a user does, this long after the last answer began."""


def text(words: str, *, pause: float = 0.05, at_once: int = 1) -> Block:
    """Say `words`, so many of them in a delta."""
    said = words.split()
    return Block("text", tuple(" ".join(said[first : first + at_once]) + " " for first in range(0, len(said), at_once)), pause)


def tail(seconds: float, words: str = "meanwhile I go on talking") -> Block:
    """Say `words` over so many seconds, so that whatever was started before has something to hide under."""
    return text(words, pause=seconds / len(words.split()))


def thinking(words: str, *, pause: float = 0.05, at_once: int = 1) -> Block:
    """Think `words` aloud."""
    return Block("thinking", text(words, at_once=at_once).pieces, pause)


def tool(name: str, /, tag: str = "", **arguments: object) -> Block:
    """Call a tool."""
    return Block("tool_use", (json.dumps(arguments),), 0.01, name, tag)


def bash(tag: str, seconds: float, *, exit_code: int = 0) -> Block:
    """Sleep in a shell that writes down when it really began and ended."""
    return tool("Bash", tag, command=f"sh stamp.sh {tag} {seconds} {exit_code}", description=tag)


def answer(*blocks: Block, **more: Any) -> Answer:
    """Answer with these blocks; `more` are fields of `Answer`."""
    return Answer(blocks, **more)
