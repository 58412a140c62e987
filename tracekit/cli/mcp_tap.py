"""`tracekit mcp-tap`: a stdio MCP server, with somebody who listens."""

import os
from typing import Annotated, Final

import typer

SETTINGS: Final = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows the server's program belongs to it, options too, also without `--` before it."""


def command(
    server: Annotated[list[str], typer.Argument(metavar="SERVER…", help="The server's command, word for word.", show_default=False)],
    *,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What the client calls the server. Without it, guessed from the command.", show_default=False),
    ] = None,
    content: Annotated[
        bool, typer.Option("--content", envvar="TRACEKIT_CONTENT", help="Keep the arguments of calls too, stripped of secrets.")
    ] = False,
) -> None:
    """Run a stdio MCP server and record how it is connected and called: put `tracekit mcp-tap --name NAME --` before its command.

    Every byte passes as it is and at once; stderr, signals and the exit code are the server's. The record goes where hooks leave theirs.
    """
    from tracekit.capture.mcp_tap import server_name, tap
    from tracekit.capture.mcp_tap.calls import Server
    from tracekit.spool import Spool, spool_folder

    called = name or server_name(server)
    session_id = os.environ.get("CLAUDE_CODE_SESSION_ID") or f"mcp:{called}"
    raise typer.Exit(tap(server, server=Server(called, session_id), spool=Spool(spool_folder(), "mcp"), content=content))
