"""`tracekit hooks`: let Claude Code's hooks record, in whichever settings, and undo it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer

from tracekit.capture.hooks.entries import EVENTS, NOT_FOR_RECORDERS, command_hooks, http_hooks, is_ours
from tracekit.capture.settings import BACKUP, Change, Scope, has_comments, install, installed, settings_path, uninstall
from tracekit.cli import output
from tracekit.cli.options import AsJson
from tracekit.errors import TracekitError
from tracekit.model import Column, Finding

group = typer.Typer(no_args_is_help=True, help="Let Claude Code's hooks record what tools, permissions and turns do. They decide nothing.")

_URL: Final = "http://127.0.0.1:4318/hook"
_LOOK_SECONDS: Final = 2.0

ScopeOption = Annotated[
    Scope,
    typer.Option("--scope", help="`user`: all your sessions; `project`: everybody's in this folder; `local`: yours in this folder."),
]


class Kind(StrEnum):
    """How hooks come by."""

    COMMAND = "command"
    """A process each, which nobody waits for. Needs nothing that runs."""
    HTTP = "http"
    """A request each to `tracekit serve`."""


@dataclass(frozen=True, slots=True)
class HooksIn(Finding):
    """The hooks of one settings file."""

    question: ClassVar[str] = "hooks"

    scope: Annotated[str, Column("Settings")]
    path: Annotated[str, Column("File")]
    hooks: Annotated[int, Column("Hooks", "count")]
    """How many of tracekit's."""
    kind: Annotated[str | None, Column("Type")]
    target: Annotated[str | None, Column("Which")]
    """The command or the endpoint."""
    works: Annotated[bool | None, Column("Works", show=False)]
    """Whether the command is there, or the endpoint answers. None: no hooks."""
    found: Annotated[str, Column("Found")]


@group.command("install")
def install_(
    *,
    scope: ScopeOption = Scope.USER,
    kind: Annotated[
        Kind,
        typer.Option(
            "--type",
            help="`command`: a process each, which nobody waits for but at the end of a turn; `http`: a request each to `tracekit serve`.",
        ),
    ] = Kind.COMMAND,
    url: Annotated[
        str | None, typer.Option("--url", help=f"Endpoint for `--type http`. Without it, $TRACEKIT_URL or {_URL}.", show_default=False)
    ] = None,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="NAMES", help="Only these events, with commas; also ones that tracekit does not know yet."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add hooks for every event to Claude Code's settings. What is there stays; a backup is kept beside the file.

    Sessions that start from then on are recorded into the folder that `tracekit hooks status` names: `tracekit watch` and `tracekit serve`
    load it as they go, `tracekit import FOLDER` at any time. Clients before 2.1.101 pass over a whole settings file that names an event
    they do not know: name the events that yours knows with `--events`.
    """
    named = [name.strip() for name in events.split(",") if name.strip()] if events is not None else EVENTS
    if kind is Kind.HTTP:
        hooks = http_hooks(named, url or _default_url())
    elif url is not None:
        raise typer.BadParameter("is for --type http", param_hint="--url")
    else:
        hooks = command_hooks(named)
    path = settings_path(scope, os.environ, Path.cwd())
    change = install(path, hooks, is_ours)
    if as_json:
        output.emit_json([{"scope": scope, "path": str(path), "change": change, "type": kind, "events": list(hooks)}])
    else:
        already = "already there" if change is Change.NONE else str(change)
        output.write(f"{len(hooks)} hooks in {path}: {already}")
        if path.with_name(path.name + BACKUP).exists():
            output.write(f"what it was before: {path.name}{BACKUP}; `tracekit hooks uninstall{_option(scope)}` restores it")
    if has_comments(path):
        output.note(f"Claude Code reads no comments in settings: it passes over {path} until they are gone")
    if events is None and change is not Change.NONE:
        output.note(f"left out: {', '.join(NOT_FOR_RECORDERS)} (tracekit explain hook-event-refused)")


@group.command("uninstall")
def uninstall_(*, scope: ScopeOption = Scope.USER, as_json: AsJson = False) -> None:
    """Take tracekit's hooks out of Claude Code's settings.

    A file that nobody else has changed since is again what it was, byte for byte.
    """
    path = settings_path(scope, os.environ, Path.cwd())
    change = uninstall(path, is_ours)
    if as_json:
        output.emit_json([{"scope": scope, "path": str(path), "change": change}])
        return
    output.write(
        {
            Change.NONE: f"no hooks of tracekit in {path}",
            Change.RESTORED: f"{path} is again what it was before",
            Change.REMOVED: f"{path} was not there before and is removed",
        }.get(change, f"tracekit's hooks are out of {path}; what else was changed there since stays")
    )


@group.command("status")
def status(*, as_json: AsJson = False) -> None:
    """Show which settings hold tracekit's hooks, and whether what they call is there. Ends with 1 if it is not."""
    found = [_look(scope, settings_path(scope, os.environ, Path.cwd())) for scope in Scope]
    output.emit(found, as_json=as_json)
    if any(one.works is False for one in found):
        raise typer.Exit(1)


def _option(scope: Scope) -> str:
    return "" if scope is Scope.USER else f" --scope {scope}"


def _default_url() -> str:
    base = os.environ.get("TRACEKIT_URL")
    return f"{base.rstrip('/')}/hook" if base else _URL


def _look(scope: Scope, path: Path) -> HooksIn:
    try:
        placed = installed(path, is_ours)
    except TracekitError as error:
        return HooksIn(scope, str(path), 0, None, None, works=False, found=str(error))
    if not placed:
        return HooksIn(scope, str(path), 0, None, None, works=None, found="none" if path.exists() else "no such file")
    hook = next((one.hook for one in placed if one.hook.get("type") == "http"), placed[0].hook)
    target = str(hook.get("url") if hook.get("type") == "http" else hook.get("command"))
    works, said = _answers(target) if hook.get("type") == "http" else _is_there(hook)
    missing = [event for event in EVENTS if event not in {one.event for one in placed}]
    if missing:
        said += f"; not at {', '.join(missing)}"
    return HooksIn(scope, str(path), len(placed), str(hook.get("type")), target, works=works, found=said)


def _answers(url: str) -> tuple[bool, str]:
    """Whether an endpoint takes a hook's input: an empty one, which it records as nothing."""
    from urllib.request import ProxyHandler, Request, build_opener

    from tracekit.capture.environment import TOKEN_HEADER

    headers = {"Content-Type": "application/json", TOKEN_HEADER: os.environ.get("TRACEKIT_TOKEN", "")}
    try:
        request = Request(url, b"{}", headers)  # noqa: S310  (whatever the settings say: Claude Code asks it too)
        with build_opener(ProxyHandler({})).open(request, timeout=_LOOK_SECONDS) as answer:
            if answer.read(3) == b"{}":
                return True, "the endpoint answers"
    except (OSError, ValueError) as error:
        return False, f"the endpoint does not answer ({getattr(error, 'reason', None) or error}): start `tracekit serve`"
    return False, "something else answers there than tracekit"


def _is_there(hook: Mapping[str, Any]) -> tuple[bool, str]:
    import shlex
    import shutil

    from tracekit.spool import spool_folder

    words = [str(hook.get("command"))] if "args" in hook else shlex.split(str(hook.get("command")))
    if shutil.which(words[0]) is None:
        return False, "there is no such command: install again"
    return True, f"records go to {spool_folder()}"
