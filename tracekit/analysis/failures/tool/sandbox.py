"""tool / sandbox: the sandbox around the command failed or forbade something.

What it means
    The command is run by bubblewrap (Linux) or sandbox-exec (macOS). Either the sandbox could not be set up, mostly because a container
    allows no namespaces, or it kept the command, or the client's own files around it, from the disk or the network. In the last case the
    command itself may have succeeded although the call failed.

Evidence
    The sandbox's own name at the head of the output, its list of violations, `operation not permitted` on the client's own files (its
    shell snapshot, its working-directory note), or the sandbox layer.

What to do
    Allow the path or the host in the sandbox's settings, or exclude the command. In a container that allows no namespaces turn the
    sandbox off: it cannot work there. The same call fails again until then.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import TOOL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_OPENS: Final = wording(
    r"(?:\S*/)?(?:bwrap|bubblewrap|sandbox-exec|sandbox_apply|apply-seccomp|seatbelt)\b",
    r"\w*sh:[\w:]*\d+: operation not permitted: \S*(?:shell-snapshots|/tmp/claude|claude-\w+-cwd)",
    r".{0,40}\bsandbox(?:ed)? (?:violation|denied|error|failed|setup|initiali[sz]ation|is not available|restrictions?)",
)
_VIOLATIONS: Final = wording(r".*<sandbox_violations>")


def _match(evidence: Evidence) -> str | None:
    found = evidence.output_opens(_OPENS) or evidence.output_opens(_VIOLATIONS)
    return found or (evidence.quoted() or "failed in the sandbox" if evidence.shown_in is Layer.SANDBOX else None)


RULE: Final = Rule(Family.TOOL, Kind.SANDBOX, Retry.HELPS_AFTER_CHANGE, TOOL, _match, __doc__)
