"""hook / blocked: a hook said no.

What it means
    A PreToolUse hook kept a tool from running, a UserPromptSubmit hook dropped a prompt, or a Stop hook told the agent to go on. That
    is what hooks are for: the protocol worked. Two traps: a Python hook whose script is missing exits with 2, which also says no; and
    a Stop hook that always says no never lets the agent end.

Evidence
    The outcome `blocking`, a decision by source `hook`, exit code 2, or the client's line `… hook error: [command]: reason`. Clients give
    such a tool result the denial kind `permission-rule`, so the source outranks it. Old clients give only the hook's own reason, and
    then it cannot be told from a failed tool.

What to do
    Read the reason, which is the hook's own text. If the hook was not meant to block, run its command by hand and look at its exit
    code.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.hook.wording import BLOCKING, line, mentions
from tracekit.analysis.failures.layer import CALL, MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_BLOCKS = 2
_REASONS: Final = frozenset({"hook_stopped", "stop_hook_prevented"})
_SAYS: Final = wording(
    r"\b(?:blocked|(?<!permission )denied|stopped|prevented|rejected)\b",
    r"hook (?:feedback|returned blocking)",
    r"blocking error",
    r"exit(?:ed)?(?: with)? code 2\b",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.hook_outcome == "blocking":
        return line(evidence, "hook outcome blocking")
    if evidence.permission_source == "hook" or evidence.says(BLOCKING):
        return line(evidence, "rejected by a hook")
    if evidence.terminal_reason in _REASONS:
        return f"terminal reason {evidence.terminal_reason}"
    if evidence.shown_in is Layer.HOOK and evidence.exit_code == _BLOCKS:
        return line(evidence, "hook exit code 2")
    return mentions(evidence, _SAYS)


RULE: Final = Rule(Family.HOOK, Kind.BLOCKED, Retry.HELPS_AFTER_CHANGE, CALL | MODEL | {Layer.HOOK}, _match, __doc__)
