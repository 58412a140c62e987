"""tool / execution: the tool ran, or was started, and failed.

What it means
    A command ended with another exit code than 0, a file was not readable, a page was not there, the tool's own process could not be
    started. Whatever the tool said is its own matter: network errors and HTTP statuses in its output are not the model's connection.

Evidence
    A tool boundary with an error that no other rule of the family explains: `Exit code N`, the error class `ShellError`, or a text.

What to do
    Read the output. Exit code 1 of grep, diff and test is an answer and no fault. What the command did before it failed stays done.
    `ENOENT … posix_spawn` means that the program of the tool is gone, mostly because the client was upgraded under a running session:
    start the session again.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import TOOL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule


def _match(evidence: Evidence) -> str | None:
    code = evidence.exit_code if evidence.exit_code is not None else evidence.reading.exit_code
    if code is not None:
        return f"exit code {code}"
    return evidence.quoted() or next((f"error type {original}" for original in evidence.names.values()), "the tool failed and said nothing")


RULE: Final = Rule(Family.TOOL, Kind.EXECUTION, Retry.MAY_REPEAT_SIDE_EFFECT, TOOL, _match, __doc__)
