"""`tracekit serve`: everything that records, in one process, for a workstation or a team."""

import logging
import os
import secrets
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.lasting import until_ended
from tracekit.cli.options import AsJson, Store
from tracekit.cli.serving import Address, announced, spelt, variables
from tracekit.spool import spool_folder

if TYPE_CHECKING:
    from aiohttp import web

    from tracekit.capture.server import Settings
    from tracekit.ingest import Loader

_PORT: Final = 4318
"""Where OTLP/HTTP is looked for when nobody says otherwise."""
_LOOK_SECONDS: Final = 1.0


def command(
    *,
    host: Annotated[str, typer.Option("--host", help="Address to listen on. Beyond this machine a token is demanded.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 finds a free one.")] = _PORT,
    grpc_port: Annotated[
        int | None, typer.Option("--grpc-port", min=1, max=65535, help="Take OTLP/gRPC too, on this port (usually 4317).")
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream", metavar="URL", help="Where model requests go. Without it, where this shell's would.", show_default=False
        ),
    ] = None,
    forward: Annotated[
        str | None, typer.Option("--forward", metavar="ENDPOINT", help="Pass all telemetry on to this OTLP/HTTP collector too.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", envvar="TRACEKIT_TOKEN", help="What clients must bring. Beyond this machine one is made up.", show_default=False
        ),
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Keep prompts, outputs and arguments too, stripped of secrets.")] = False,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Record for whoever comes by: telemetry, model requests and hooks, until it is ended by Ctrl-C or SIGTERM.

    It prints what a shell must export (`tracekit env` prints it again), and loads the store as it goes, so that every other command
    works beside it. A browser finds the sessions at its root, live, and Prometheus what to scrape at `/metrics`: `/`, `/sessions/…` and
    `/static/…` are the page's, everything else is the recorders'. Beyond this machine the page asks for the token.
    """
    from tracekit.capture.listener import make_prompt
    from tracekit.capture.server import Server
    from tracekit.ingest import Loader, default_roots

    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    token = demanded(host, token)
    settings = replace(
        _settings(host, port, grpc_port, upstream, forward, token, content=content), pages=partial(_add_pages, store=store, token=token)
    )
    with (
        until_ended() as ended,
        Server(settings) as server,
        Loader(store, spool=settings.spool, roots=default_roots(), content=content) as loader,
    ):
        make_prompt()
        here = Address(
            url=server.url,
            pid=os.getpid(),
            grpc_port=grpc_port,
            token=token,
            upstream=None if settings.upstream is None else settings.upstream.base_url,
            store=store,
            content=content,
        )
        try:
            with announced(here):
                _tell(here, as_json=as_json)
                _until(ended, loader)
        finally:
            # What has been acknowledged by now is loaded when the loader ends.
            server.stop()
    if server.gaps:
        output.note(f"{server.gaps} observations are missing in the record; the traffic was not touched by it")


def _add_pages(app: "web.Application", *, store: str | None, token: str | None) -> None:
    """Bring in what is looked at: the page, and the metrics."""
    from tracekit.cli.looking import add_page
    from tracekit.cli.scraping import add_metrics

    add_page(app, store=store, token=token)
    add_metrics(app, store, token)


def demanded(host: str, token: str | None) -> str | None:
    """Give the token that clients must bring: the user's own, one made up where strangers can come by, none on this machine alone."""
    from tracekit.capture.listener import is_loopback

    return token if token is not None or is_loopback(host) else secrets.token_urlsafe(24)


def _until(ended: threading.Event, loader: "Loader") -> None:
    while not ended.wait(_LOOK_SECONDS):
        if complaint := loader.complaint():
            output.complain(f"the store is not loaded for now, and nothing is lost: {complaint}")


def _settings(
    host: str, port: int, grpc_port: int | None, upstream: str | None, forward: str | None, token: str | None, *, content: bool
) -> "Settings":
    from tracekit.capture.environment import Collector
    from tracekit.capture.gateway import Upstream
    from tracekit.capture.server import Settings

    base = upstream or own_upstream()
    return Settings(
        spool=Path(spool_folder()),
        upstream=None if base is None else Upstream(base),
        collector=None if forward is None else Collector(forward, {}),
        host=host,
        port=port,
        grpc_port=grpc_port,
        token=token,
        content=content,
    )


def own_upstream() -> str | None:
    """Where this shell's model requests go; where they come by another server of ours already, what is behind that."""
    from tracekit.capture.environment import route

    way = route(os.environ)
    if way.upstream is not None and way.upstream == os.environ.get("TRACEKIT_URL"):
        before = {name: value for name, value in os.environ.items() if name != way.variable}
        return os.environ.get("TRACEKIT_UPSTREAM") or route(before).upstream
    if way.upstream is None:
        output.note(f"model requests do not come by here: {way.why_not}; `--upstream URL` says where else they go")
    return way.upstream


def _tell(here: Address, *, as_json: bool) -> None:
    found = variables(here, os.environ)
    if as_json:
        output.emit_json(found, url=here.url, grpc_port=here.grpc_port, upstream=here.upstream, pid=here.pid)
        return
    output.write(spelt(found, "sh"))
    output.note(f"listening on {here.url}" + (f", OTLP/gRPC on port {here.grpc_port}" if here.grpc_port else "") + "; Ctrl-C ends it")
    output.note(f"the sessions are shown at {here.url}/")
