"""What stands in Claude Code's settings, so that its hooks come by here."""

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tracekit.capture.environment import TOKEN_HEADER
from tracekit.errors import TracekitError

EVENTS: Final = (
    "SessionStart",
    "SessionEnd",
    "Setup",
    "InstructionsLoaded",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PostModelSwitch",
    "PreSkillShellCommand",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeRemove",
)
"""Every event that Claude Code 2.1.332 has, but those of `NOT_FOR_RECORDERS`. Later ones may be named; they are recorded as nothing."""

NOT_FOR_RECORDERS: Final = MappingProxyType(
    {
        "MessageDisplay": "it runs for every piece of text that is shown",
        "PreModelSwitch": "a hook that takes too long there forbids the switch",
        "WorktreeCreate": "a hook there takes the place of the client's own way to make a worktree",
    }
)
"""Events at which a hook that only listens changes what the client does, and why."""

COMMAND: Final = "tracekit-hook"
_MODULE: Final = "tracekit.capture.hook_main"
_COMMAND_ONLY: Final = frozenset({"SessionStart", "Setup"})
"""The client runs no HTTP hooks here."""
_WAITED_FOR: Final = frozenset({"Stop", "StopFailure", "SessionEnd"})
"""A client that ends, as `claude -p` does after its turn, cancels the hooks that it does not wait for."""
_COMMAND_SECONDS: Final = 10
_HTTP_SECONDS: Final = 2
"""An endpoint that hangs must not hold the agent up for long."""


def command_hooks(events: Iterable[str], *, command: str | None = None) -> dict[str, dict[str, Any]]:
    """One command hook an event. Nobody waits for them but at the end of turns and sessions, so they add no latency.

    Args:
        events: Names of events.
        command: What to run; found beside this Python where it is not given.

    Raises:
        TracekitError: `hook-event-refused`.
    """
    hook = _command(command)
    return {event: hook | ({} if event in _WAITED_FOR else {"async": True}) for event in _allowed(events)}


def http_hooks(events: Iterable[str], url: str, *, command: str | None = None) -> dict[str, dict[str, Any]]:
    """One HTTP hook an event, and a command hook where the client runs no others.

    Args:
        events: Names of events.
        url: The endpoint: `http://127.0.0.1:4318/hook`.
        command: What to run for a command hook; found beside this Python where it is not given.

    Raises:
        TracekitError: `hook-event-refused`.
    """
    hook: dict[str, Any] = {
        "type": "http",
        "url": url,
        # The client puts the variable's value in; where it has none, the header is empty.
        "headers": {TOKEN_HEADER: "$TRACEKIT_TOKEN"},
        "allowedEnvVars": ["TRACEKIT_TOKEN"],
        "timeout": _HTTP_SECONDS,
    }
    named = _allowed(events)
    return {event: command_hooks([event], command=command)[event] if event in _COMMAND_ONLY else hook for event in named}


def is_ours(hook: Mapping[str, Any]) -> bool:
    """Whether a hook of a settings file is one of these."""
    if hook.get("type") == "http":
        headers = hook.get("headers")
        return isinstance(headers, Mapping) and TOKEN_HEADER in headers
    words = f"{hook.get('command')} {hook.get('args')}"
    return COMMAND in words or _MODULE in words


def _allowed(events: Iterable[str]) -> list[str]:
    named = list(dict.fromkeys(events))
    for event in named:
        if event in NOT_FOR_RECORDERS:
            raise TracekitError(f"no hook for {event}: {NOT_FOR_RECORDERS[event]}; leave it out", slug="hook-event-refused")
        if not event.isalpha():
            raise TracekitError(f"{event!r} is no name of an event; give names such as PreToolUse, with commas", slug="hook-event-refused")
    return named


def _command(command: str | None) -> dict[str, Any]:
    beside = Path(sys.executable).with_name(COMMAND)
    found = command or (str(beside) if beside.exists() else shutil.which(COMMAND))
    hook: dict[str, Any] = {"type": "command", "timeout": _COMMAND_SECONDS}
    if found is None:
        # A checkout that is not installed.
        return hook | {"command": shlex.join([sys.executable, "-P", "-m", _MODULE])}
    if shlex.quote(found) != found:
        return hook | {"command": shlex.quote(found)}
    # With arguments, be it none, no shell is started. Clients that do not know that start one, and it does the same.
    return hook | {"command": found, "args": []}
