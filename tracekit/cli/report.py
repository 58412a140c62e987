"""`tracekit report`: sessions for somebody else, as a file."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tracekit.cli import output
from tracekit.cli.asking import question
from tracekit.cli.options import AsJson, Project, Since, Store, Until, find_session
from tracekit.errors import TracekitError

if TYPE_CHECKING:
    from tracekit.analysis.sessions import Session
    from tracekit.cli.leased import Leased

_FEW: Final = 4
"""Sessions that are asked for one by one."""
GITHUB: Final = "GITHUB_STEP_SUMMARY"
"""Variable in which GitHub Actions names the file whose Markdown it shows with a run."""


def command(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SESSION]...", help="Ids or beginnings of ids; `latest` if none is given.", show_default=False),
    ] = None,
    *,
    form: Annotated[str, typer.Option("--format", metavar="html|markdown|json", help="What is written.")] = "html",
    to: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where it is written; without, on stdout.", show_default=False)
    ] = None,
    github: Annotated[bool, typer.Option("--github", help=f"Append the Markdown to the file that ${GITHUB} names.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every session in the bounds of --since, --until and --project.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of `--format json`, and nothing else.")] = False,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Write a report of sessions: one HTML file that opens from a disk, Markdown for a pull request, or JSON with a schema.

    The HTML file has everything inside and asks nobody for anything. With `--github` and no `--output`, only the step's summary is
    written.
    """
    output.one_of("--format", form, tuple(_FORMS))
    form = "json" if as_json else form
    if schema:
        output.write(_schema())
        return
    if everything and sessions:
        raise typer.BadParameter("name sessions, or give --all", param_hint="--all")
    summary = _step_summary() if github else None
    with question(store, since=since, until=until, project=project) as (opened, scope):
        from tracekit.cli.leased import Leased

        ask = Leased(lambda: nullcontext(opened), lambda: "one lease")
        wanted = None if everything else {find_session(opened, text) for text in sessions or ["latest"]}
        found = [row for row in ask.sessions(scope) if wanted is None or row.session_id in wanted]
        if not found:
            raise TracekitError("no session is in these bounds; `tracekit sessions` lists what there is", slug="session-unknown")
        now_ns = time.time_ns()
        if len(found) > _FEW:
            ask.fill({row.session_id for row in found}, now_ns)
        told = _markdown(ask, found, now_ns) if summary is not None else ""
        written = "" if summary is not None and to is None else _FORMS[form](ask, found, now_ns)
    if summary is not None:
        _append(summary, told)
    if written:
        _put(written, to)


def _html(ask: "Leased", sessions: "Sequence[Session]", as_of_ns: int) -> str:
    from tracekit.page.document import document
    from tracekit.page.listing import Listing

    return document(ask, Listing(ask), sessions, as_of_ns=as_of_ns)


def _markdown(ask: "Leased", sessions: "Sequence[Session]", as_of_ns: int) -> str:
    from tracekit.page.listing import Listing
    from tracekit.page.summary import markdown, tell

    listing = Listing(ask)
    return markdown([tell(ask, listing, session, as_of_ns=as_of_ns) for session in sessions], as_of_ns=as_of_ns)


def _json(ask: "Leased", sessions: "Sequence[Session]", as_of_ns: int) -> str:
    from tracekit.page.listing import Listing
    from tracekit.page.summary import SCHEMA_ID, as_object, tell
    from tracekit.report.json import document

    listing = Listing(ask)
    rows = [as_object(tell(ask, listing, session, as_of_ns=as_of_ns)) for session in sessions]
    return document(rows, as_of_ns=as_of_ns, schema=SCHEMA_ID) + "\n"


_FORMS: Final[Mapping[str, Callable[["Leased", "Sequence[Session]", int], str]]] = {"html": _html, "markdown": _markdown, "json": _json}


def _schema() -> str:
    from tracekit.page.summary import schema

    return json.dumps(schema(), indent=2, ensure_ascii=False)


# Where it goes


def _put(text: str, to: Path | None) -> None:
    from tracekit.cli.writing import refuse_existing, write_file, write_stdout
    from tracekit.report.units import size as size_of

    if to is None:
        write_stdout([text])
        return
    refuse_existing(to, force=True)
    size = write_file(to, [text])
    output.note(f"wrote {to} ({size_of(size)})")


def _step_summary() -> Path:
    """The file of the step's summary.

    Raises:
        TracekitError: `no-step-summary` outside GitHub Actions.
    """
    path = os.environ.get(GITHUB)
    if not path:
        message = f"{GITHUB} is not set: --github works in a step of GitHub Actions; elsewhere use --format markdown --output FILE"
        raise TracekitError(message, slug="no-step-summary")
    return Path(path)


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        message = f"cannot append to {path}, which {GITHUB} names: {error.strerror or error}"
        raise TracekitError(message, slug="output-unwritable") from error
