"""tool / timeout: the tool ran longer than it was allowed to and was killed.

What it means
    Bash ends a command after 120 s, or after the timeout that the call asks for, 600 s at most. The command is killed; what it did stays
    done, what it printed may be lost, and children that it started can live on.

Evidence
    `Command timed out after …` at the head of the result, mostly behind `Exit code 143`; for other tools a text that begins with a timeout.
    A tool result that says `Request timed out` is about the tool's own request, not about the model's.

What to do
    Run it in the background, ask for a longer timeout in the call, or raise BASH_DEFAULT_TIMEOUT_MS. Commands that wait for input
    (a password, an editor, a confirmation) never end: give them what they ask for by a flag. Look at what is half done before you repeat.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import TOOL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("TimeoutError", "ToolTimeoutError", "CommandTimeout", "ShellTimeoutError")
_ENDED: Final = wording(r".{0,40}\btimed out\b")
"""Of whatever the tool does. Behind an exit code it would be the command's own word."""
_OPENS: Final = wording(
    r"(?:the )?(?:command|tool|task|process|agent|operation|request|execution)\b.{0,40}\btimed out",
    r"timed? ?out after \d",
    r"timeout of \d+ ?ms exceeded",
    r"the operation was aborted due to timeout",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.output_opens(_OPENS) or evidence.opens(_ENDED) or evidence.named(_NAMES)


RULE: Final = Rule(Family.TOOL, Kind.TIMEOUT, Retry.MAY_REPEAT_SIDE_EFFECT, TOOL, _match, __doc__)
