"""`tracekit import`: bring sessions into the store."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store
from tracekit.errors import TracekitError
from tracekit.report.units import size

if TYPE_CHECKING:
    from tracekit.ingest import Imported

_SHOWN_PROBLEMS: Final = 20


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH…]",
            help="Files, folders or globs; `-` for a pipe. Without any, Claude Code's own sessions and what recorders wrote.",
            show_default=False,
        ),
    ] = None,
    *,
    content: Annotated[bool, typer.Option("--content", help="Keep prompts, outputs and arguments too, stripped of secrets.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything could not be read.")] = False,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Import transcripts, stream-json and OTLP files into the store: what is new or has grown, each thing once.

    The form of a file is told by its content. `claude -p … --output-format stream-json | tracekit import -` stamps each line as it
    arrives. What cannot be read is counted and kept with file, line and reason; the rest of its file is imported.
    """
    from tracekit.ingest import default_roots, import_paths, import_stream
    from tracekit.spool import spool_folder

    if paths == ["-"]:
        done = import_stream(sys.stdin.buffer, store, content=content)
    else:
        roots = paths or _present([*default_roots(), spool_folder()])
        with _progress() as progress:
            done = import_paths(roots, store, content=content, progress=progress)
    _tell(done, as_json=as_json)
    if strict and done.problems:
        raise typer.Exit(1)


def _present(roots: list[Path]) -> list[Path]:
    found = [root for root in roots if root.exists()]
    if not found:
        message = f"there are no sessions at {roots[0]}; name a file or folder, or set CLAUDE_CONFIG_DIR"
        raise TracekitError(message, slug="path-missing")
    return found


@contextmanager
def _progress() -> Generator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell(done: "Imported", *, as_json: bool) -> None:
    if as_json:
        names = ("path", "line", "reason", "detail")
        output.emit_json([_row(done)], problems=[dict(zip(names, row, strict=True)) for row in done.problem_lines])
        return
    forms = ", ".join(f"{count} {form}" for form, count in done.forms.most_common())
    output.write(
        f"{done.files_read} files read ({size(done.bytes_read)}{': ' + forms if forms else ''}), {done.files_unchanged} unchanged,"
        f" {len(done.files_unknown)} in no known form"
    )
    output.write(f"{done.spans} spans of {len(done.sessions)} sessions")
    if done.files_late:
        output.note(f"{len(done.files_late)} files were imported by another tracekit meanwhile")
    if done.problems:
        reasons = ", ".join(f"{reason} {count}" for reason, count in done.problems.most_common())
        output.write(f"{done.problems.total()} problems: {reasons}")
        for path, line, reason, detail in done.problem_lines[:_SHOWN_PROBLEMS]:
            output.note(f"  {path}:{line}: {reason}{f' ({detail})' if detail else ''}")
        if done.problems.total() > _SHOWN_PROBLEMS:
            output.note("  … `tracekit sql 'SELECT * FROM problems JOIN files USING (file_id)'` has all of them")
    else:
        output.write("no problems")


def _row(done: "Imported") -> dict[str, object]:
    return {
        "files_found": done.files_found,
        "files_read": done.files_read,
        "files_unchanged": done.files_unchanged,
        "files_unknown": done.files_unknown,
        "files_late": done.files_late,
        "bytes_read": done.bytes_read,
        "entries": done.entries,
        "spans": done.spans,
        "sessions": len(done.sessions),
        "forms": dict(done.forms),
        "problems": dict(done.problems),
    }
