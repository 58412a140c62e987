"""The questions as a library: each gives a frame whose columns its docstring names with their units."""

import inspect
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

import tracekit
from tracekit import TracekitError, Traces
from tracekit.analysis.account import account
from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import Scope
from tracekit.model import Finding
from tracekit.store import open_store
from tracekit.traces.frames import UNITS, schema

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
OWN = ("close", "sql")
"""Methods that are no question with columns of its own."""
QUESTIONS = [name for name, member in vars(Traces).items() if inspect.isfunction(member) and not name.startswith("_") and name not in OWN]
FINDINGS = {finding.question: finding for finding in Finding.__subclasses__() if finding.question in QUESTIONS}


@pytest.fixture(scope="module")
def traces() -> Iterator[Traces]:
    with tracekit.open(CAPTURES / "overlap", CAPTURES / "compaction", CAPTURES / "stalled_stream") as opened:
        yield opened


def latest(traces: Traces) -> str:
    found: str = traces.sessions()["session_id"][0]
    return found


def documented(name: str) -> dict[str, str]:
    """Columns and what stands in brackets behind them."""
    text = inspect.getdoc(getattr(Traces, name)) or ""
    _, found, lines = text.partition("Columns:\n")
    assert found, f"{name} documents no columns"
    return dict(re.findall(r"^ +(\w+): [^\n]*?(?:\(([^()]*)\))?(?:; [^\n]*)?\.$", lines, re.MULTILINE))


# Columns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_docstring_names_the_columns_of_the_frame_in_their_order(name: str, traces: Traces) -> None:
    assert list(documented(name)) == getattr(traces, name)().columns


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_time_and_a_number_have_a_unit(name: str, traces: Traces) -> None:
    found: pl.DataFrame = getattr(traces, name)()
    without = {"line", "position", "witness_count"}
    for column, unit in documented(name).items():
        dtype = found.schema[column]
        if column.endswith("_ns"):
            assert dtype == pl.Int64
            assert "nanoseconds" in unit
        elif dtype.is_numeric() and column not in without:
            assert unit in {*UNITS.values(), "number"}


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_a_frame_without_rows_has_the_same_columns_and_types(name: str, traces: Traces) -> None:
    nothing: pl.DataFrame = getattr(traces, name)(until=0)
    assert nothing.height == 0
    assert nothing.schema == getattr(traces, name)().schema == schema(FINDINGS[name])


def test_every_question_of_a_finding_is_a_method() -> None:
    assert {"sessions", "timeline", "account", "overlap", "failures", "stuck", "tokens", "context", "critical_path"} <= set(FINDINGS)


# Answers -------------------------------------------------------------------------------------------------------------


def test_an_answer_is_what_the_analysis_finds(traces: Traces) -> None:
    session = latest(traces)
    with open_store(traces.url) as store:
        expected = {
            "overlap": [row.as_row() for row in overlap(store, Scope(session), by="tool")],
            "account": [row.as_row() for row in account(store, Scope(session), by="turn")],
        }
    assert traces.overlap(session, by="tool").rows(named=True) == expected["overlap"]
    assert traces.account(session[:8], by="turn").rows(named=True) == expected["account"]


def test_latest_is_one_session_and_none_is_all(traces: Traces) -> None:
    assert traces.account("latest")["session_id"].n_unique() == 1
    assert traces.sessions().height == traces.account()["session_id"].n_unique() == 3


def test_an_unknown_session_is_an_error_with_a_slug(traces: Traces) -> None:
    with pytest.raises(TracekitError) as refused:
        traces.account("nobody")
    assert refused.value.slug == "session-unknown"


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=9)), None])
def test_bounds_are_moments_in_any_form(zone: timezone | None, traces: Traces) -> None:
    newest, second = traces.sessions()["start_ns"][:2]
    moment = datetime.fromtimestamp(newest // 1_000_000_000, tz=zone) - timedelta(seconds=1)
    assert traces.sessions(since=moment)["start_ns"].to_list() == traces.sessions(since=newest)["start_ns"].to_list() == [newest]
    assert traces.sessions(until=newest)["start_ns"][0] == second


def test_ages_count_to_the_moment_that_is_given(traces: Traces) -> None:
    moment: int = min(traces.sessions()["last_ns"].to_list()) + 60_000_000_000
    found = traces.stuck(as_of=moment)
    assert found.height > 0
    assert (found["since_ns"] + found["age_ns"]).unique().to_list() == [moment]
    with_zone = traces.stuck(as_of=datetime.fromtimestamp(moment // 1_000_000_000, tz=UTC))
    assert with_zone["age_ns"].to_list() == [age - moment % 1_000_000_000 for age in found["age_ns"]]


def test_what_if_takes_factors(traces: Traces) -> None:
    named = traces.sql("SELECT DISTINCT session_id, name FROM boundaries WHERE boundary = 'tool_execution' AND name = 'Bash' ORDER BY 1")
    session = named["session_id"][0]
    (row,) = traces.what_if({"Bash": 0.5}, session).rows(named=True)
    assert row["change"] == "Bash × 0.5"
    assert row["wall_if_lower_ns"] < row["wall_ns"]


def test_sql_takes_parameters_and_changes_nothing(traces: Traces) -> None:
    assert traces.sql("SELECT $a + 1 AS b", a=1).rows() == [(2,)]
    with pytest.raises(TracekitError) as refused:
        traces.sql("DELETE FROM spans")
    assert refused.value.slug == "bad-sql"


def test_attributes_are_a_map(traces: Traces) -> None:
    assert traces.boundaries().schema["attributes"] == traces.spans().schema["attributes"]
    session = latest(traces)
    assert traces.spans(session)["session_id"].unique().to_list() == [session]
    assert traces.spans(session).height >= traces.boundaries(session).height > 0
