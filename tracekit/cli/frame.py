"""What `tracekit` itself says and takes, before any command."""

from typing import Annotated

import typer

from tracekit import __version__


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        typer.echo(f"tracekit {__version__}")
        raise typer.Exit


def frame(
    *,
    _: Annotated[bool, typer.Option("--version", help="Print the version and end.", is_eager=True, callback=show_version)] = False,
) -> None:
    """Every boundary of an agent session on one timeline: where the time went, what hid behind streaming, what failed, what it waits for.

    Begin with `tracekit demo`, or with `tracekit import` for your own sessions.
    """
