"""`tracekit export`: sessions in the forms that other programs read."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple
from urllib.parse import unquote

import typer

from tracekit.analysis.scope import Scope
from tracekit.cli import output
from tracekit.cli.asking import scope_of
from tracekit.cli.options import AsJson, Project, Since, Store, Until
from tracekit.cli.progress import watched
from tracekit.report.units import count, size
from tracekit.store import SpanStore, open_store
from tracekit_exporters import EXPORTERS

if TYPE_CHECKING:
    from tracekit_exporters import Exporter

PARQUET: Final = "parquet"
"""The one format that is no text: a folder, which the store writes itself."""
OTLP: Final = "otlp"
STDOUT: Final = "-"
HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"


def command(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="SESSION", help="Ids, beginnings of ids, or `latest`. Without any, all.", show_default=False),
    ] = None,
    *,
    form: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"{', '.join([*EXPORTERS, PARQUET])}, or what an installed package adds.")
    ],
    target: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A file; for parquet a folder. `-` is stdout.")] = STDOUT,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="For otlp: post to this collector instead.", show_default=False)
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME=VALUE", help=f"Sent to the collector too, beside `{HEADERS}`.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    content: Annotated[
        bool, typer.Option("--content", help="Let prompts, outputs and arguments out too, where the store has them.")
    ] = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Write sessions for other programs: Perfetto or Chrome, CI, a collector, a metrics store, a spreadsheet, a data lake.

    Text is written as it is read from the store, so that a session may be of any size. A file appears when it is whole, and one that is
    there is replaced only with `--force`.
    """
    from tracekit.cli.exporting import find_exporter

    _refuse_nonsense(form, target, endpoint, as_json=as_json)
    now_ns = time.time_ns()

    named: list[str | None] = [*sessions] if sessions else [None]

    def scopes(opened: SpanStore) -> list[Scope]:
        return [scope_of(opened, session=session, since=since, until=until, project=project) for session in named]

    wanted = Wanted(store, scopes, now_ns, content=content)
    if form == PARQUET:
        row = _lake(wanted, target, force=force)
    elif endpoint is not None:
        row = _send(wanted, find_exporter(form), endpoint, _headers(header or ()))
    else:
        row = _write(wanted, find_exporter(form), target, force=force)
    row = {"format": form} | row
    if as_json:
        output.emit_json([row], as_of_ns=now_ns)
    elif row["output"] != STDOUT:
        output.note(_told(row))


class Wanted(NamedTuple):
    """What is to be exported."""

    store: str | None
    scopes: Callable[[SpanStore], Sequence[Scope]]
    """The options' meaning, once the store is open."""
    now_ns: int
    content: bool


def _refuse_nonsense(form: str, target: str, endpoint: str | None, *, as_json: bool) -> None:
    if endpoint is not None and form != OTLP:
        raise typer.BadParameter("--endpoint is for --format otlp")
    if endpoint is not None and target != STDOUT:
        raise typer.BadParameter("--endpoint and --output exclude each other")
    if form == PARQUET and target == STDOUT:
        raise typer.BadParameter("parquet is a folder of files: name one with --output FOLDER")
    if as_json and target == STDOUT and endpoint is None:
        raise typer.BadParameter("--json tells what was written, and stdout has the export itself: name a file with --output FILE")


def _headers(given: Sequence[str]) -> dict[str, str]:
    """Headers of the environment, in OpenTelemetry's own form, and those of the options, which go before."""
    spelt = [pair for pair in os.environ.get(HEADERS, "").split(",") if pair.strip()]
    found = {name.strip(): unquote(value.strip()) for name, _, value in (pair.partition("=") for pair in spelt)}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--header")
        found[name.strip()] = value.strip()
    return found


def _write(wanted: Wanted, exporter: "Exporter", target: str, *, force: bool) -> dict[str, Any]:
    """Write text to a file or to stdout."""
    from tracekit.cli.exporting import trace_of
    from tracekit.cli.writing import refuse_existing, write_file, write_stdout

    if target != STDOUT:
        refuse_existing(Path(target), force=force)
    with open_store(wanted.store) as opened:
        trace = trace_of(opened, wanted.scopes(opened), as_of_ns=wanted.now_ns, content=wanted.content)
        row: dict[str, Any] = {"output": target, "sessions": len(trace.sessions)}
        if target == STDOUT:
            write_stdout(exporter(trace))
            return row
        with watched(trace) as shown:
            return row | {"bytes": write_file(Path(target), exporter(shown))}


def _send(wanted: Wanted, exporter: "Exporter", endpoint: str, headers: dict[str, str]) -> dict[str, Any]:
    """Post to a collector."""
    from tracekit.cli.exporting import trace_of
    from tracekit_exporters.collector import send

    with open_store(wanted.store) as opened:
        trace = trace_of(opened, wanted.scopes(opened), as_of_ns=wanted.now_ns, content=wanted.content)
        with watched(trace) as shown:
            sent = send(exporter(shown), endpoint, headers=headers)
    if sent.rejected:
        output.complain(f"the collector did not take {sent.rejected} spans: {sent.message or 'it does not say why'}")
    return {"output": endpoint, "sessions": len(trace.sessions)} | sent._asdict()


def _lake(wanted: Wanted, target: str, *, force: bool) -> dict[str, Any]:
    """Write a lake: a folder a table and in it a folder a day."""
    from tracekit.cli.exporting import sessions_of
    from tracekit.cli.writing import write_lake

    with open_store(wanted.store) as opened:
        scopes = wanted.scopes(opened)
        ids = [session.session_id for session in sessions_of(opened, scopes, content=wanted.content)]
    written = write_lake(wanted.store, Path(target), None if list(scopes) == [Scope()] else ids, content=wanted.content, force=force)
    return {"output": target, "sessions": len(ids), "files": len(written), "rows": sum(file.rows for file in written)}


def _told(row: dict[str, Any]) -> str:
    told = [f"{count(row['sessions'])} session{'' if row['sessions'] == 1 else 's'}"]
    told += [f"{count(row[name])} {name}" for name in ("rows", "files", "bodies") if name in row]
    told += [size(row["bytes"])] if "bytes" in row else []
    return f"{', '.join(told)} to {row['output']}"
