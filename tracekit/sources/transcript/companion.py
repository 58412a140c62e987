"""What stands beside a sub-agent's transcript: `agent-ID.meta.json`, the only link to its call before that has a result."""

from pathlib import Path
from typing import Final, NamedTuple

import orjson

from tracekit.model import Boundary, Span, Value, semconv
from tracekit.sources.fields import is_object, text
from tracekit.sources.transcript.entries import Entry, session_of

COMPANION: Final = ".meta.json"
"""How its name ends, where a transcript's ends with `.jsonl`."""
_LARGEST: Final = 64 * 1024


class Companion(NamedTuple):
    """What it says that does not change while the agent works.

    Attributes:
        tool_use_id: The call that started the agent.
        agent_type: What kind of agent it is; empty where it does not say.
    """

    tool_use_id: str
    agent_type: str = ""

    def span(self, source: str, agent_id: str, entry: Entry, stamp_ns: int) -> Span:
        """The agent, from its first entry: it began before that, and the result of its call tells when it was done."""
        attributes: dict[str, Value] = {semconv.PARENT_TOOL: self.tool_use_id}
        if self.agent_type:
            attributes[semconv.AGENT_TYPE] = self.agent_type
        return Span(
            source,
            session_of(entry),
            Boundary.SUBAGENT,
            agent_id,
            stamp_ns,
            None,
            name=self.agent_type or "agent",
            agent_id=agent_id,
            parent_key=self.tool_use_id,
            attributes=attributes,
        )


def companion_of(transcript: Path) -> Companion | None:
    """Read what stands beside a transcript; None where nothing does, or nothing that names a call."""
    try:
        with transcript.with_suffix(COMPANION).open("rb") as handle:
            said = orjson.loads(handle.read(_LARGEST))
    except (OSError, orjson.JSONDecodeError):
        return None
    tool_use_id = text(said, "toolUseId") if is_object(said) else None
    return None if tool_use_id is None else Companion(tool_use_id, text(said, "agentType") or "")


def is_companion(path: Path) -> bool:
    """Whether a file is one, and is read with its transcript."""
    return path.name.endswith(COMPANION) and path.with_name(f"{path.name.removesuffix(COMPANION)}.jsonl").exists()
