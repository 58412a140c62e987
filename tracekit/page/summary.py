"""What is told of sessions to somebody who will not open a page: Markdown for a pull request, and one object for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final

from markupsafe import escape

from tracekit.analysis.account import AccountLine
from tracekit.analysis.disagreements import Disagreement
from tracekit.analysis.failed import Failure
from tracekit.analysis.outcome import Outcome
from tracekit.analysis.overlap import Overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.sessions import Session
from tracekit.analysis.stuck import Stuck
from tracekit.analysis.tokens import Tokens
from tracekit.model import Finding
from tracekit.page.listing import STATES, Line, Listing
from tracekit.page.questions import Questions
from tracekit.report import units
from tracekit.report.html import plain, share_range
from tracekit.report.markdown import code, grid, table
from tracekit.report.schema import DIALECT, rows_of, schema_of

FORMAT: Final = 1
"""Version of the report's JSON form."""
SCHEMA_ID: Final = f"urn:tracekit:report:{FORMAT}"
ROOM: Final = 60_000
"""Characters of a summary: what a comment on a pull request can hold, with room for what stands beside it."""
_MOST_ROWS: Final = 10
_MOST_SESSIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that a report tells of one session, but the timeline."""

    line: Line
    outcome: Sequence[Outcome]
    account: Sequence[AccountLine]
    overlap: Sequence[Overlap]
    overlap_by_tool: Sequence[Overlap]
    failures: Sequence[Failure]
    stuck: Sequence[Stuck]
    disagreements: Sequence[Disagreement]
    tokens: Sequence[Tokens]


def tell(ask: Questions, listing: Listing, session: Session, *, as_of_ns: int) -> Told:
    """Ask everything of one session."""
    scope = Scope(session.session_id)
    return Told(
        line=listing.one(session, as_of_ns=as_of_ns),
        outcome=ask.outcomes(scope, as_of_ns),
        account=ask.account(scope, "session"),
        overlap=ask.overlap(scope, "session"),
        overlap_by_tool=ask.overlap(scope, "tool"),
        failures=ask.failures(scope),
        stuck=ask.stuck(scope, as_of_ns),
        disagreements=ask.disagreements(scope),
        tokens=ask.tokens(scope, "agent"),
    )


# For programs

_ROWS: Final[Mapping[str, type[Finding]]] = {
    "outcome": Outcome,
    "account": AccountLine,
    "overlap": Overlap,
    "overlap_by_tool": Overlap,
    "failures": Failure,
    "stuck": Stuck,
    "disagreements": Disagreement,
    "tokens": Tokens,
}


def as_object(told: Told) -> dict[str, Any]:
    """Give what a program reads of one session."""
    rows = {name: [row.as_row() for row in getattr(told, name)] for name in _ROWS}
    hidden = told.line.hidden
    share = {bound: getattr(hidden, bound, None) for bound in ("lower", "best", "upper")}
    return {
        "session": told.line.session.as_row(),
        "state": told.line.state,
        "cost_usd": told.line.cost_usd,
        **{f"hidden_share_{bound}": value for bound, value in share.items()},
        **rows,
    }


def schema() -> dict[str, Any]:
    """Give the JSON Schema of a report."""
    number = {"type": ["null", "number"]}
    properties: dict[str, Any] = {
        "session": schema_of(Session),
        "state": {"enum": list(STATES), "description": "as of the report"},
        "cost_usd": number | {"description": "as the client told it; null where it did not"},
        **{
            f"hidden_share_{bound}": number | {"description": f"share of tool time that hid, {bound}"}
            for bound in ("lower", "best", "upper")
        },
        **{name: rows_of(finding) for name, finding in _ROWS.items()},
    }
    return {
        "$schema": DIALECT,
        "$id": SCHEMA_ID,
        "title": "What tracekit reports of sessions. Times are integers of nanoseconds, and an unknown is null.",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "as_of": {"type": "string", "format": "date-time"},
            "schema": {"const": SCHEMA_ID},
            "rows": {
                "type": "array",
                "items": {"type": "object", "title": "One session", "properties": properties, "required": list(properties)},
            },
        },
        "required": ["format", "as_of", "schema", "rows"],
    }


# For people


def markdown(sessions: Sequence[Told], *, as_of_ns: int) -> str:
    """Write a summary: all sessions in one table, then each, as long as there is room."""
    head = "## tracekit: " + (
        f"session {code(sessions[0].line.session.session_id, 40)}" if len(sessions) == 1 else f"{len(sessions)} sessions"
    )
    parts = [head, "", _overview([told.line for told in sessions[:_MOST_SESSIONS]])]
    if len(sessions) > _MOST_SESSIONS:
        parts += ["", f"{len(sessions) - _MOST_SESSIONS} more sessions are not shown."]
    room = ROOM - sum(map(len, parts))
    for number, told in enumerate(sessions):
        section = _section(told, alone=len(sessions) == 1)
        if len(section) > room:
            parts += [
                "",
                f"There is no room here for the details of {len(sessions) - number} sessions; `tracekit report` writes them as HTML.",
            ]
            break
        room -= len(section)
        parts += ["", section]
    note = f"As of {units.moment(as_of_ns, UTC)}. A single number is measured, a range holds the truth, a dash is unknown."
    return "\n".join([*parts, "", f"<sub>{note}</sub>", ""])


def _overview(lines: Sequence[Line]) -> str:
    heads = ["Session", "State", "Wall", "Tools hidden", "Failures", "not recovered", "Tokens out", "Cost", "Turns", "Tools"]
    rows = [
        [
            line.session.session_id[:8],
            line.state,
            units.duration(line.session.active_ns),
            units.UNKNOWN if line.hidden is None else share_range(line.hidden.lower, line.hidden.best, line.hidden.upper),
            units.count(line.failures),
            units.count(line.unrecovered),
            units.count(line.session.output_tokens),
            _cost(line),
            units.count(line.session.turns),
            units.count(line.session.tool_calls),
        ]
        for line in lines
    ]
    return grid(heads, rows, numbers=[False, False, *[True] * 8])


def _cost(line: Line) -> str:
    if line.cost_usd is None and line.estimate_usd is not None:
        return f"{units.dollars(line.estimate_usd)} estimated"
    return units.dollars(line.cost_usd)


def _section(told: Told, *, alone: bool) -> str:
    parts = [
        _titled("How it came out", table(told.outcome, leave_out=("Session",), empty="No witness saw it.")),
        _titled("What it waits for", table(told.stuck, leave_out=("Session", "Key"), most=_MOST_ROWS, empty="Nothing.")),
        _titled("What failed", _failures(told.failures)),
        _titled("Where the time went", table(told.account, empty="No turn was seen.")),
        _titled("What hid behind streaming", _overlap(told)),
        _titled("Tokens", table(told.tokens, leave_out=("Session",), most=_MOST_ROWS, empty="No message was seen.")),
    ]
    if told.disagreements:
        parts.append(_titled("Witnesses that disagree", table(told.disagreements, leave_out=("Session",), most=_MOST_ROWS)))
    body = "\n\n".join(parts)
    if alone:
        return body
    # Within a line of HTML nothing is Markdown, so the id is escaped as HTML.
    name = escape(plain(told.line.session.session_id, 40))
    return f"<details><summary>Session <code>{name}</code></summary>\n\n{body}\n\n</details>"


def _titled(title: str, body: str) -> str:
    return f"### {title}\n\n{body}"


def _failures(failures: Sequence[Failure]) -> str:
    # Those that were not got over come first: they must not be lost where there are too many.
    ordered = sorted(failures, key=lambda failure: failure.recovered)
    return table(ordered, leave_out=("Session",), most=_MOST_ROWS, empty="Nothing.")


def _overlap(told: Told) -> str:
    if not told.overlap:
        return "No response issued a tool that ran."
    whole = table(told.overlap, leave_out=("Session", "Request", "Model", "Tool"))
    return f"{whole}\n\n{table(told.overlap_by_tool, leave_out=('Session', 'Request', 'Model'), most=_MOST_ROWS)}"
