"""`tracekit run`: a command with every witness around it, and what they saw."""

import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store
from tracekit.spool import spool_folder

if TYPE_CHECKING:
    from tracekit.capture.server import Settings

SETTINGS: Final = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows the command belongs to the command, options too, also without `--` before it."""

_REMARKS: Final = 20


def command(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND…", help="The command, word for word.", show_default=False)],
    *,
    content: Annotated[bool, typer.Option("--content", help="Keep prompts, outputs and arguments too, stripped of secrets.")] = False,
    summary: Annotated[bool, typer.Option("--summary/--no-summary", help="Say at the end, on stderr, where the time went.")] = True,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Run a command with every witness around it: `tracekit run -- claude -p "fix the tests"`.

    Its model requests, telemetry and hooks come by here, its streams and signals are its own, and its exit code is the exit code. At
    the end the store is loaded, and the account, the overlap and the failures of this run stand on stderr; with `--json` as one object.
    """
    from tracekit.capture.listener import make_prompt
    from tracekit.capture.run import run, says_stream_json
    from tracekit.capture.server import Server
    from tracekit.cli.aftermath import Run, kept, tell
    from tracekit.ingest import Loader, default_roots

    began_ns = time.time_ns()
    settings = _settings(began_ns, content=content)
    with _remarks() as remarks:
        with Server(settings) as server:
            make_prompt()
            environment = _environment(settings, server.url, store)
            with Loader(store, spool=settings.spool, roots=default_roots(environment), content=content, last_look=False):
                outcome = run(command, environment, stamped=says_stream_json(command))
        if server.gaps:
            remarks.append(f"{server.gaps} observations are missing in the record; the traffic was not touched by it")
    # The command has ended: whatever happens from here on, its exit code stands.
    with suppress(KeyboardInterrupt):
        done = Run(outcome, began_ns, settings.spool, tuple(default_roots(environment)), remarks)
        sessions = kept(done, store, content=content)
        if summary:
            tell(done, sessions, store, as_json=as_json)
    raise typer.Exit(outcome.exit_code)


def _settings(began_ns: int, *, content: bool) -> "Settings":
    """Record in a folder of this run's own, so that what other processes of the command leave is known for its."""
    from tracekit.capture.environment import collector, route
    from tracekit.capture.gateway import Upstream
    from tracekit.capture.server import Settings

    way, telemetry = route(os.environ), collector(os.environ)
    if way.upstream is None:
        output.note(f"tracekit: model requests do not come by here: {way.why_not}")
    if telemetry is not None and telemetry.why_not:
        output.note(f"tracekit: {telemetry.endpoint} gets no telemetry of this run: {telemetry.why_not}")
    return Settings(
        spool=spool_folder() / f"run-{os.getpid()}-{began_ns}",
        upstream=None if way.upstream is None else Upstream(way.upstream),
        collector=telemetry,
        content=content,
        # What is lost when the machine itself fails is not worth a wait of the command's.
        durable=False,
    )


def _environment(settings: "Settings", url: str, store: str | None) -> dict[str, str]:
    from tracekit.capture.environment import variables

    found = variables(os.environ, url=url, spool=str(settings.spool), store=store, content=settings.content)
    return {**os.environ, **found}


class _Remarks(logging.Handler):
    """Keeps what recorders say while the command has the terminal."""

    def __init__(self, remarks: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._remarks = remarks

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a remark, once."""
        said = record.getMessage()
        if said not in self._remarks and len(self._remarks) < _REMARKS:
            self._remarks.append(said)


@contextmanager
def _remarks() -> Generator[list[str]]:
    """Give a list that fills with what recorders have to say."""
    remarks: list[str] = []
    handler = _Remarks(remarks)
    logging.getLogger().addHandler(handler)
    try:
        yield remarks
    finally:
        logging.getLogger().removeHandler(handler)
