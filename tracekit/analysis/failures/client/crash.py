"""client / crash: the client's process died or could not be started.

What it means
    The CLI ended by an exit code, a signal or an uncaught error, or was never found. The host sees only that: `Command failed with exit
    code 1` hides the cause, which went to stderr. Tools that were running have no result.

Evidence
    The client's complaint about its own options or about a `claude` that is not there, `ProcessError`, `exited with code N`, a signal
    (SIGTERM 143, SIGKILL 137, SIGSEGV 139), an uncaught exception, memory or disk that ran out.

What to do
    Run the same command by hand, or pass a `stderr` callback to the SDK, and read the first error. Then resume, and look at what the
    last tool did.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("ProcessError", "CLIConnectionError", "CLINotFoundError", "CLIJSONDecodeError", "turn_setup_failed")
_SAYS: Final = wording(
    r"\b(?:exited|exit|failed|died|terminated|killed)\b.{0,20}\b(?:code|status|signal)\b(?!:? 0\b)",
    r"\bSIG(?:KILL|TERM|SEGV|ABRT|ILL|BUS|TRAP|INT|HUP|PIPE)\b",
    r"\bkilled\b|\bexit(?:ed)? \d+",
    r"segmentation fault|illegal instruction|core dumped|bus error",
    r"out of memory|stack overflow|maximum call stack",
    r"\bpanic(?:ked)?\b|uncaught|unhandled (?:promise )?rejection|fatal error",
    r"pane is dead|process .{0,30}(?:crashed|died|not (?:running|ready)|terminated)",
    r"(?:claude code|claude|cli)\b.{0,20}\bnot found",
    r"no conversation found|session(?: id)? \S+ is already in use|exceeded maximum buffer size",
    r"^(?:error: )?(?:uncaught )?(?:reference|syntax|range|type)error:|shared librar|cannot find module|module not found",
    r"claude code .{0,40}\brequires\b",
    r"cannot read propert|is not a function|is not an object|enospc|emfile|maxbuffer",
    r"\b(?:eacces|eperm|erofs)\b.{0,80}\.claude\b",
)
_USAGE: Final = wording(
    r"(?:unknown|invalid|unexpected|unrecogni[sz]ed) (?:option|argument|flag)s? ?:? ?['\"`]?-",
    r"(?<!\S)['\"`]?--[a-z][a-z-]{2,}\b.{0,60}\b(?:cannot|can't|must|requires?|invalid|unknown|not)\b",
    r"\b(?:must|cannot|requires?|only)\b.{0,100} (?:when using|with|without) ['\"`]?--[a-z]",
    r"\bspawn \S*\bclaude\b|invalid (?:mcp )?(?:config\w*|settings)\b",
)


def _match_usage(evidence: Evidence) -> str | None:
    return evidence.says(_USAGE)


def _match(evidence: Evidence) -> str | None:
    return evidence.named(_NAMES) or evidence.says(_SAYS)


USAGE: Final = Rule(Family.CLIENT, Kind.CRASH, Retry.HELPS_AFTER_CHANGE, MODEL, _match_usage, __doc__)
RULE: Final = Rule(Family.CLIENT, Kind.CRASH, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
