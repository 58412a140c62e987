"""`tracekit env`: what a shell exports so that clients come by a server."""

import os
from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson
from tracekit.cli.serving import Address, running, spelt, variables
from tracekit.errors import TracekitError


def command(
    url: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", help="Base URL of a server elsewhere. Without it, the one that runs here.", show_default=False),
    ] = None,
    *,
    token: Annotated[
        str | None, typer.Option("--token", envvar="TRACEKIT_TOKEN", help="What the server elsewhere demands.", show_default=False)
    ] = None,
    shell: Annotated[str, typer.Option("--shell", metavar="sh|fish|json", help="Whose words.")] = "sh",
    as_json: AsJson = False,
) -> None:
    """Print what a shell must export so that what is started from it comes by a `tracekit serve`.

    In a shell: `eval "$(tracekit env)"`; in fish: `tracekit env --shell fish | source`.
    """
    output.one_of("--shell", shell, ("sh", "fish", "json"))
    server = Address(url.rstrip("/"), token=token) if url else running()
    if server is None:
        raise TracekitError("no `tracekit serve` runs here; start one, or give the URL of one elsewhere", slug="no-server")
    found = variables(server, os.environ)
    if as_json:
        output.emit(found, as_json=True)
    else:
        output.write(spelt(found, shell))
