"""tool / permission: a rule, a mode or a missing grant kept the tool from running. Nobody was asked, or nobody could be.

What it means
    The tool did not run. Permission rules deny it, auto mode judged it unsafe or could not judge, or the session has nobody to ask (`-p`,
    SDK) and no rule allows it. The operating system's `Permission denied` is another thing: `tool / execution`.

Evidence
    The client's decision (`reject`, source `config`), its denial kind `permission-rule` or `automode-blocked`, or its phrase:
    `… you haven't granted it yet`, `Permission to use … has been denied`. Headless clients write `user-rejected` although no user was
    there, so the phrase and the source outrank the denial kind.

What to do
    Allow it: `/permissions`, `--allowedTools`, or `permissions.allow` in the settings. The rule has to match the call as it is written.
    The same call is denied again until then.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import CALL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, wording

_DENIALS: Final = frozenset({"permission-rule", "automode-blocked"})
_OPENS: Final = wording(
    r"claude requested permissions? to",
    r"permission (?:to|for) .*(?:denied|not granted)",
    r"permission for this action",
    r"this (?:command|tool|action) requires (?:approval|permission)",
    r".{0,80}requires approval",
    r".{0,60}(?:haven't|has not been|not been) granted",
    r".{0,80}\bauto mode (?:cannot|could not|classifier|denied|blocked)",
    r"file is in a directory that is denied",
    r".{0,120}(?:denied|blocked|not allowed) by (?:your |the |a )?(?:permission|policy|settings|auto mode)",
    r".{0,120}was blocked\. for security",
    r"tool permission (?:request|stream)",
)


def _match(evidence: Evidence) -> str | None:
    if found := evidence.opens(_OPENS):
        return found
    if evidence.permission_decision == "reject" and evidence.permission_source == "config":
        return "rejected by config"
    if evidence.denial_kind in _DENIALS:
        return f"denial kind {evidence.denial_kind}"
    return None


def _match_layer(evidence: Evidence) -> str | None:
    return evidence.quoted() or "denied while a permission was awaited" if evidence.shown_in is Layer.TOOL_PERMISSION else None


RULE: Final = Rule(Family.TOOL, Kind.PERMISSION, Retry.HELPS_AFTER_CHANGE, CALL | {Layer.CLIENT}, _match, __doc__)
UNSAID: Final = Rule(Family.TOOL, Kind.PERMISSION, Retry.HELPS_AFTER_CHANGE, frozenset({Layer.TOOL_PERMISSION}), _match_layer, __doc__)
