"""The `tracekit` command: finds the command that was asked for, loads it alone, and turns an error into an exit code."""

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tracekit import __version__
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    import typer

    app: typer.Typer
    """The application with every command."""

COMMANDS: Final = {
    "demo": "tracekit.cli.demo",
    "import": "tracekit.cli.import_",
    "run": "tracekit.cli.run",
    "serve": "tracekit.cli.serve",
    "env": "tracekit.cli.env",
    "sessions": "tracekit.cli.sessions",
    "timeline": "tracekit.cli.timeline",
    "account": "tracekit.cli.account",
    "overlap": "tracekit.cli.overlap",
    "critical-path": "tracekit.cli.critical_path",
    "failures": "tracekit.cli.failures",
    "classify": "tracekit.cli.classify",
    "outcome": "tracekit.cli.outcome",
    "stuck": "tracekit.cli.stuck",
    "watch": "tracekit.cli.watch",
    "tokens": "tracekit.cli.tokens",
    "context": "tracekit.cli.context",
    "mark": "tracekit.cli.mark",
    "report": "tracekit.cli.report",
    "export": "tracekit.cli.export",
    "check": "tracekit.cli.check",
    "compare": "tracekit.cli.compare",
    "sql": "tracekit.cli.sql",
    "explain": "tracekit.cli.explain",
    "doctor": "tracekit.cli.doctor",
    "prune": "tracekit.cli.prune",
    "mcp-tap": "tracekit.cli.mcp_tap",
    "hooks": "tracekit.cli.hooks",
}
"""Every command in the order of the help, and the module whose function `command` it is. The module's `SETTINGS`, if it has any, are
those of the command's parser. A command with commands of its own is the module's `group`, and stands last: typer
lists those behind the others."""

_INTERRUPTED: Final = 130


def main() -> None:
    """Run the command line and exit."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--version"]:
        # Answered here, because typer alone takes longer to import than this whole answer.
        print(f"tracekit {__version__}")  # noqa: T201
        return
    sys.exit(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code. Nowhere else does an error become one."""
    from tracekit.cli import output

    wanted = [name for name in arguments[:1] if name in COMMANDS]
    try:
        build(wanted or COMMANDS)(args=list(arguments), prog_name="tracekit")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except TracekitError as error:
        output.complain(f"{error}\n(tracekit explain {error.slug})")
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def build(names: Iterable[str]) -> "typer.Typer":
    """Give an application that has the commands named, loading no other command's module."""
    import typer

    from tracekit.cli.frame import frame

    application = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="markdown")
    application.callback()(frame)
    for name in names:
        module = import_module(COMMANDS[name])
        if (group := getattr(module, "group", None)) is not None:
            application.add_typer(group, name=name)
        else:
            application.command(name, context_settings=getattr(module, "SETTINGS", None))(module.command)
    return application


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of this module's

    def __getattr__(name: str) -> object:
        """Build the application when somebody asks for it: most runs need one command only."""
        if name == "app":
            return globals().setdefault(name, build(COMMANDS))
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
