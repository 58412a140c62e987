import json
from dataclasses import dataclass
from typing import Annotated

from tracekit.model import Boundary, Column, Finding
from tracekit.report import REPORTS, Sheet
from tracekit.report.csv import sheet
from tracekit.report.json import document

AS_OF = 1_796_052_723_187_000_001


@dataclass(frozen=True, slots=True)
class Gap(Finding):
    session_id: Annotated[str, Column("Session")]
    boundary: Annotated[Boundary, Column("Boundary")]
    hidden_lower_ns: Annotated[int, Column("Hidden, at least", "ns")]
    hidden_best_ns: Annotated[int | None, Column("Hidden", "ns")]
    hidden_upper_ns: Annotated[int, Column("Hidden, at most", "ns")]
    share: Annotated[float, Column("Share", "ratio", show=False)]
    tools: Annotated[tuple[str, ...], Column("Tools")] = ()


GAP = Gap("s,1", Boundary.TOOL_SCHEDULE, 1, None, 3, 0.5, ("Bash", "Read “ü”"))


def test_the_document_has_its_format_its_moment_and_every_field() -> None:
    text = document([GAP], as_of_ns=AS_OF)
    assert json.loads(text) == {
        "format": 1,
        "as_of": "2026-11-30T15:32:03.187000001Z",
        "rows": [
            {
                "session_id": "s,1",
                "boundary": "tool_schedule",
                "hidden_lower_ns": 1,
                "hidden_best_ns": None,
                "hidden_upper_ns": 3,
                "share": 0.5,
                "tools": ["Bash", "Read “ü”"],
            }
        ],
    }
    assert "ü" in text


def test_no_findings_are_no_rows() -> None:
    assert json.loads(document([], as_of_ns=AS_OF))["rows"] == []


def test_further_keys_stand_beside_the_rows() -> None:
    written = json.loads(document([{"a": 1}], as_of_ns=AS_OF, problems=[{"reason": "not JSON", "lines": {3}}]))
    assert list(written) == ["format", "as_of", "problems", "rows"]
    assert written["problems"] == [{"reason": "not JSON", "lines": [3]}]


def test_a_number_that_is_none_is_unknown() -> None:
    assert json.loads(document([{"share": float("nan"), "other": float("inf")}], as_of_ns=0))["rows"] == [{"share": None, "other": None}]


def test_a_sheet_of_comma_separated_values() -> None:
    assert sheet([{"a": 1, "b": 'x, "y"'}, {"a": None, "b": "z"}]) == 'a,b\n1,"x, ""y"""\n,z'
    assert sheet([]) == ""
    assert sheet([GAP]).splitlines()[1].startswith('"s,1",tool_schedule,1,,3,0.5,')


def test_every_report_writes_any_findings() -> None:
    written = {name: report([GAP], Sheet(as_of_ns=AS_OF, width=100)) for name, report in REPORTS.items()}
    assert list(written) == ["table", "json", "csv"]
    assert all("tool_schedule" in text for text in written.values())
    assert REPORTS["table"]([], Sheet(as_of_ns=AS_OF, empty="No gaps.")) == "No gaps."
