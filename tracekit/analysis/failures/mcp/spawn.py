"""mcp / spawn: the program of a stdio server could not be started.

What it means
    The command of the server's configuration does not exist where the client looks for it, is not executable, or holds its arguments in
    one string. No process was there to answer. Later lines (`Server disconnected`) only follow from it.

Evidence
    ENOENT, EACCES or ENOEXEC of a spawn while a server connects, or a shell's `command not found`. The same code from a file tool is a
    missing file.

What to do
    Run the command by hand in the same environment. Give the full path, put arguments into `args`, on Windows start npx by `cmd /c`.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names("ENOENT", "EACCES", "ENOEXEC", "EPERM", "FileNotFoundError")
_SAYS: Final = wording(
    r"\bspawn\b.{0,200}\b(?:ENOENT|EACCES|EPERM|EINVAL|ENOEXEC)",
    r"posix_spawn",
    r"command not found|\bsh:.{0,60}: not found",
    r"is not recognized as an internal or external command",
    r"executable (?:file )?not found",
    r"failed to spawn|exec format error",
    r"no such file or directory",
)


def _match(evidence: Evidence) -> str | None:
    return evidence.named(_NAMES) or evidence.mentions(_SAYS)


RULE: Final = Rule(Family.MCP, Kind.SPAWN, Retry.HELPS_AFTER_CHANGE, frozenset({Layer.MCP_CONNECT, Layer.MCP_INITIALIZE}), _match, __doc__)
