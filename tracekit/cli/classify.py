"""`tracekit classify`: whose fault an error is that somebody pasted."""

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, BinaryIO, Final

import typer

from tracekit.cli import output

LONGEST: Final = 16 * 1024 * 1024
"""Bytes of a line that are held in memory at once."""


def command(
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The error's text. Without it, reports are read from stdin.")] = None,
    *,
    layer: Annotated[
        str | None,
        typer.Option("--layer", metavar="LAYER", help="Where TEXT showed: `model-request`, `mcp-connect`, `tool-exec`, `cli`, …."),
    ] = None,
    http_status: Annotated[int | None, typer.Option("--http-status", metavar="N", help="HTTP status that TEXT came with.")] = None,
    error_type: Annotated[str | None, typer.Option("--error-type", metavar="TYPE", help="Type, class or code of the error.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in the end, instead of a line for each error.")] = False,
) -> None:
    """Say whose fault an error is and whether a retry helps: one text, or a line of JSON for each error on stdin.

    A line in has `error_text`, and where known `layer`, `http_status` and `error_type`. A line out has `family`, `kind`, `retry` and
    `evidence`, in the same order. What is no failure (a notice, source code that only speaks of errors) has the family `none`. A line that
    cannot be read gives `{"line": N, "error": …}`, the others are judged, and the exit code is 2. `tracekit explain KIND` says more.

    Layers: `proxy/tls/dns`, `model-request`, `sse-stream`, `compaction`, `tool-input`, `tool-permission`, `tool-exec`, `sandbox`,
    `mcp-connect`, `mcp-initialize`, `mcp-discovery`, `mcp-call`, `hook`, `user-interrupt`, `cli`; a boundary may be named too.

    Example: `jq -c '{error_text: .message}' errors.jsonl | tracekit classify`
    """
    known = {"layer": layer, "http_status": http_status, "error_type": error_type}
    if text is not None or any(value is not None for value in known.values()):
        given: Iterator[tuple[int, object]] = iter([(1, {"error_text": text} | known)])
    elif sys.stdin.isatty():
        raise typer.BadParameter("give a text, or lines of JSON on stdin", param_hint="TEXT")
    else:
        given = reports(sys.stdin.buffer)
    if as_json:
        rows = list(judged(given))
        output.emit_json(rows)
        bad = sum("error" in row for row in rows)
    else:
        bad = print_lines(judged(given))
    if bad:
        output.note(f"{bad} {'line' if bad == 1 else 'lines'} could not be read; the rows with `error` say which and why")
        raise typer.Exit(2)


def print_lines(rows: Iterable[dict[str, Any]]) -> int:
    """Print each row as it comes, and give the number of those that tell of a line that could not be read."""
    import orjson

    bad = 0
    for row in rows:
        bad += "error" in row
        output.write(orjson.dumps(row).decode())
    return bad


def judged(given: Iterable[tuple[int, object]]) -> Iterator[dict[str, Any]]:
    """Give the row of each report; `{"line": N, "error": …}` for one that is none."""
    from tracekit.analysis.failures.pasted import UnfitError, judge

    for number, report in given:
        try:
            if isinstance(report, UnfitError):
                raise report
            yield judge(report)
        except UnfitError as unfit:
            yield {"line": number, "error": str(unfit)}


def reports(stream: BinaryIO) -> Iterator[tuple[int, object]]:
    """The lines of a stream with their numbers; a line that cannot be parsed gives the error. Empty lines say nothing."""
    import orjson

    from tracekit.analysis.failures.pasted import UnfitError

    for number, line in _lines(stream):
        if line is None:
            yield number, UnfitError(f"longer than {LONGEST} bytes")
        elif line.strip():
            try:
                yield number, orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield number, UnfitError(f"not JSON: {error}")


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The lines, one at a time; None for one that is too long to be held."""
    number = 0
    while line := stream.readline(LONGEST):
        number += 1
        whole = line.endswith(b"\n") or len(line) < LONGEST
        while not (line.endswith(b"\n") or len(line) < LONGEST):
            line = stream.readline(LONGEST)
        yield number, line if whole else None
