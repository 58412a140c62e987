"""What a run leaves behind: its records in the store, and what they say of it."""

import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracekit.cli import output
from tracekit.errors import TracekitError
from tracekit.model import Finding
from tracekit.report import REPORTS, Sheet
from tracekit.report.units import duration

if TYPE_CHECKING:
    from tracekit.analysis.account import AccountLine
    from tracekit.capture.run import Outcome

_SHOWN: Final = 5
"""Sessions of one run that are told of in full."""

_SESSIONS: Final = (
    "SELECT DISTINCT session_id FROM spans JOIN files ON files.file_id = spans.file_id"
    " WHERE SUBSTR(path, 1, LENGTH($folder)) = $folder AND start_ns >= $began_ns"
)


@dataclass(frozen=True, slots=True)
class Run:
    """A command that has ended, and where its witnesses wrote."""

    outcome: "Outcome"
    began_ns: int
    spool: Path
    roots: tuple[Path, ...]
    remarks: Sequence[str]


def kept(run: Run, store: str | None, *, content: bool) -> list[str]:
    """Load all that the witnesses of a run have left, and give the sessions that it was."""
    from tracekit.ingest import import_paths, import_stamped, transcripts_of

    sessions: set[str] = set()
    try:
        if run.outcome.lines:
            sessions |= import_stamped(run.outcome.lines, store, content=content).sessions
        if run.spool.is_dir():
            import_paths([run.spool], store, content=content)
            sessions |= _recorded(run, store)
        if found := list(transcripts_of(sessions, run.roots)):
            import_paths(found, store, content=content)
    except TracekitError as error:
        if error.slug != "nothing-to-import":
            output.complain(f"{error}\nNothing is lost: `tracekit import {run.spool}` loads this run.\n(tracekit explain {error.slug})")
    return sorted(sessions)


def _recorded(run: Run, store: str | None) -> set[str]:
    from tracekit.store import open_store

    with open_store(store) as opened:
        return {row["session_id"] for row in opened.rows(_SESSIONS, folder=f"{run.spool.resolve()}/", began_ns=run.began_ns)}


def tell(run: Run, sessions: Sequence[str], store: str | None, *, as_json: bool) -> None:
    """Say on stderr what the witnesses saw."""
    try:
        answers = [_answers(session, run.began_ns, store) for session in sessions]
    except TracekitError as error:
        output.complain(f"{error}\n(tracekit explain {error.slug})")
        return
    if as_json:
        _tell_programs(run, answers)
    else:
        _tell_people(run, answers)


@dataclass(frozen=True, slots=True)
class _Answers:
    session_id: str
    account: "Sequence[AccountLine]"
    overlap: Sequence[Finding]
    failures: Sequence[Finding]
    disagreements: Sequence[Finding]


def _answers(session: str, began_ns: int, store: str | None) -> _Answers:
    from tracekit.analysis.account import account
    from tracekit.analysis.disagreements import disagreements
    from tracekit.analysis.failed import failures
    from tracekit.analysis.overlap import overlap
    from tracekit.analysis.scope import Scope
    from tracekit.store import open_store

    scope = Scope(session, since_ns=began_ns)
    with open_store(store) as opened:
        return _Answers(
            session,
            account=account(opened, scope, by="session"),
            overlap=overlap(opened, scope, by="request"),
            failures=failures(opened, scope),
            disagreements=disagreements(opened, scope),
        )


def _tell_programs(run: Run, answers: Sequence[_Answers]) -> None:
    from tracekit.report.json import document

    def rows(pick: Callable[[_Answers], Sequence[Finding]]) -> list[dict[str, Any]]:
        return [finding.as_row() for one in answers for finding in pick(one)]

    output.note(
        document(
            [line for one in answers for line in one.account],
            as_of_ns=time.time_ns(),
            exit_code=run.outcome.exit_code,
            signal=run.outcome.signal,
            sessions=[one.session_id for one in answers],
            overlap=rows(lambda one: one.overlap),
            failures=rows(lambda one: one.failures),
            disagreements=rows(lambda one: one.disagreements),
            remarks=list(run.remarks),
        )
    )


def _tell_people(run: Run, answers: Sequence[_Answers]) -> None:
    if run.outcome.signal is not None:
        output.note(f"tracekit: the command was ended by {signal.Signals(run.outcome.signal).name}")
    for remark in run.remarks:
        output.note(f"tracekit: {remark}")
    if run.outcome.lines_left_out:
        output.note(f"tracekit: {run.outcome.lines_left_out} lines of the stream are no witness: it was too long to be kept in memory")
    if not answers:
        output.note("tracekit: the command made no model request, sent no telemetry and ran no hook that came by here")
    for one in answers[:_SHOWN]:
        _tell_session(one)
    if len(answers) > _SHOWN:
        output.note(f"\n{len(answers) - _SHOWN} more sessions: {', '.join(one.session_id for one in answers[_SHOWN:])}")


def _tell_session(answers: _Answers) -> None:
    wall = f": wall {duration(answers.account[0].wall_ns)}" if answers.account else ""
    output.note(f"\nsession {answers.session_id}{wall}")
    for findings, title in (
        (answers.account, ""),
        (answers.overlap, "How much tool latency hid behind streaming:"),
        (answers.failures, "What failed:"),
        (answers.disagreements, "Witnesses that disagree:"),
    ):
        if findings:
            output.note(f"\n{title}" if title else "")
            output.note(_table(findings))


def _table(findings: Sequence[Finding]) -> str:
    return REPORTS["table"](findings, Sheet(as_of_ns=time.time_ns(), width=output.width(), colour=output.has_colour(sys.stderr)))
