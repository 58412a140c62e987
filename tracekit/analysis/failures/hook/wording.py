"""How a client speaks of hooks: the head of its lines, and the words of the hook behind it."""

import re
from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.words import Speech

HEAD: Final = re.compile(
    r"""
    \b(?:error:\ )?
    (?: [A-Z]\w+(?::[\w.*|\-]+)?\ hooks?\ (?:error|feedback|failed|denied|blocked|returned|output|cancell?ed|timed\ out|problem)
      | hook\ (?:\S+\ )?(?:denied|blocked|failed|error|output|json|cancell?ed|timed\ out)
      | \w+(?:\ \w+)?\ (?:was\ )?(?:stopped|blocked|denied)\ by\ (?:\w+\ )?hook
      | failed\ with\ non-blocking\ status\ code
      | (?:error\ in\ |no\ |unknown\ )?hook\ callback
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
COMMAND: Final = re.compile(r"(?<=[:\s])\[.*\](?=:(?:\s|$))")
"""The command line that a blocking hook's line quotes: content, so it stays out of evidence lines."""
BLOCKING: Final = re.compile(r"(?<!\S)(?:error: )?\S+ hook error:? \[.*?\]:(?! failed with non-blocking)(?=\s|$)", re.IGNORECASE)
"""A hook that blocks: behind the command stands its own reason, which may be about anything."""


def speaks(evidence: Evidence) -> bool:
    """Whether the failure is told by a hook, or by the client about one."""
    return evidence.shown_in is Layer.HOOK or evidence.says(HEAD) is not None


def line(evidence: Evidence, fallback: str) -> str:
    """The client's line without the hook's command."""
    return evidence.quoted(without=COMMAND) or fallback


def mentions(evidence: Evidence, pattern: Speech) -> str | None:
    """The client's line, if it says this of a hook."""
    if not speaks(evidence) or evidence.says(BLOCKING):
        return None
    return line(evidence, "") if pattern.search(evidence.reading.words) else None
