"""`tracekit demo`: the answers, on a small recording, in seconds."""

import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path

from tracekit.cli import output
from tracekit.cli.options import AsJson
from tracekit.report.units import duration


def command(*, as_json: AsJson = False) -> None:
    """Import a bundled recording of a real session into a throw-away store and show what tracekit answers.

    The recording has every witness of one run: the client's transcript, its OpenTelemetry, and its stream-json stamped on arrival.
    A tool hides under a stream, four tools run at once, one fails, and an overloaded model is asked again.
    """
    from tracekit.ingest import import_paths

    with tempfile.TemporaryDirectory(prefix="tracekit-demo-") as folder, as_file(files("tracekit.cli") / "recording") as recording:
        store = str(Path(folder) / "demo.duckdb")
        done = import_paths([recording], store)
        if as_json:
            _emit(store)
            return
        output.write(f"Imported {done.files_read} files, {done.spans} spans of {len(done.sessions)} session into a throw-away store.")
        _show(store)
    output.write("\nNow your own sessions:\n\n    tracekit import\n    tracekit timeline latest\n    tracekit overlap latest --by request")


def _emit(store: str) -> None:
    """The answers as one object: the account as its rows, the others beside it."""
    from tracekit.analysis.account import account
    from tracekit.analysis.failed import failures
    from tracekit.analysis.overlap import overlap
    from tracekit.analysis.stuck import stuck
    from tracekit.analysis.timeline import timeline
    from tracekit.cli.asking import question

    now_ns = time.time_ns()
    with question(store, session="latest") as (opened, scope):
        others = {
            "timeline": timeline(opened, scope),
            "overlap": overlap(opened, scope),
            "failures": failures(opened, scope),
            "stuck": stuck(opened, scope, as_of_ns=now_ns),
        }
        lines = account(opened, scope, by="session")
    output.emit_json(lines, as_of_ns=now_ns, **{name: [row.as_row() for row in rows] for name, rows in others.items()})


def _show(store: str) -> None:
    from tracekit.analysis.account import account
    from tracekit.analysis.disagreements import disagreements
    from tracekit.analysis.failed import failures
    from tracekit.analysis.overlap import overlap
    from tracekit.analysis.stuck import stuck
    from tracekit.analysis.timeline import timeline
    from tracekit.cli.asking import question
    from tracekit.cli.picture import pictures

    place = output.screen()
    with question(store, session="latest") as (opened, scope):
        lines = account(opened, scope, by="session")
        _title("Where did the time go?", f"every nanosecond of {duration(lines[0].wall_ns)}; `tracekit account`")
        output.emit(lines, as_json=False)
        _title("What happened when?", "`tracekit timeline`")
        output.write(pictures(timeline(opened, scope), turn=None, width=place.width, colour=place.colour))
        _title("How much tool latency hid behind streaming?", "a range holds the truth; `tracekit overlap --by request`")
        output.emit(overlap(opened, scope, by="request"), as_json=False)
        _title("What failed, and does a retry help?", "`tracekit failures`")
        output.emit(failures(opened, scope), as_json=False, empty="Nothing failed.")
        if contradictions := disagreements(opened, scope):
            output.emit(contradictions, as_json=False)
        _title("What is it waiting for?", "`tracekit stuck`")
        output.emit(stuck(opened, scope, as_of_ns=time.time_ns()), as_json=False, empty="Nothing: the turn was answered to its end.")


def _title(question: str, note: str) -> None:
    output.write(f"\n{question}  ({note})\n")
