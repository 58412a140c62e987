"""`tracekit export`: files that appear when they are whole, stdout for pipes, and nothing replaced unasked."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.cli.test_serve import serving
from tests.exporters.test_collector import OK, collector
from tests.exporters.world import SECOND, at, session
from tracekit.cli.exporting import QUESTIONS
from tracekit.cli.main import run
from tracekit.ingest.parse import span_line
from tracekit.model import semconv
from tracekit.store import Batch, LedgerEntry, open_store
from tracekit_exporters import EXPORTERS, Trace

DAY = 86_400 * SECOND


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions on two days, one of them with content."""
    path = tmp_path / "store.duckdb"
    monkeypatch.setenv("TRACEKIT_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    private = [one._replace(attributes={**one.attributes, semconv.CONTENT: "my prompt"}) for one in session("one")]
    later = [
        one._replace(start_ns=one.start_ns + DAY, end_ns=None if one.end_ns is None else one.end_ns + DAY, attributes={})
        for one in session("two")
    ]
    segment = tmp_path / "spans.jsonl"
    segment.write_bytes(b"".join(span_line(one, 1) for one in [*private, *later]))
    with open_store(str(path), write=True) as opened:
        entry = LedgerEntry(1, "spans", "spans", 0, 0, 0, "", 0, 1, 0, 1, 0, 0, 0)
        opened.load(Batch(segments=[segment], problems=[], entries=[entry]))
    return path


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("form", EXPORTERS)
def test_every_format_goes_to_a_file_and_to_stdout(form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    target = tmp_path / "export"
    assert run(["export", "--format", form, "--output", str(target), "one"]) == 0
    assert b"1 session, " in capfdbinary.readouterr().err
    assert run(["export", "--format", form, "one"]) == 0
    written = capfdbinary.readouterr().out
    assert target.stat().st_size > 0
    if form not in {"otlp", "perfetto", "prometheus"}:  # these say when they were written
        assert written == target.read_bytes()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("form", EXPORTERS)
def test_content_stays_in_the_store_unless_it_is_asked_for(form: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["export", "--format", form]) == 0
    assert b"my prompt" not in capfdbinary.readouterr().out
    assert run(["export", "--format", form, "--content"]) == 0
    assert (b"my prompt" in capfdbinary.readouterr().out) == (form in {"csv", "otlp", "perfetto"})


@pytest.mark.usefixtures("store")
def test_sessions_are_chosen_by_id_and_by_time(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for chosen, expected in (
        (["one"], {"one"}),
        (["one", "tw"], {"one", "two"}),
        ([], {"one", "two"}),
        (["latest"], {"two"}),
        (["--until", "2026-12-01T00:00:00Z"], {"one"}),
    ):
        assert run(["export", "--format", "csv", *chosen]) == 0
        text = capfdbinary.readouterr().out.decode()
        assert {row["session_id"] for row in csv.DictReader(io.StringIO(text))} == expected


@pytest.mark.usefixtures("store")
def test_what_is_there_is_kept_unless_force_says_otherwise(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "export"
    target.write_text("mine")
    assert run(["export", "--format", "csv", "-o", str(target)]) == 2
    assert "tracekit explain output-exists" in capfd.readouterr().err
    assert target.read_text() == "mine"
    assert run(["export", "--format", "csv", "-o", str(target), "--force"]) == 0
    assert target.read_text().startswith("session_id,")


@pytest.mark.usefixtures("store")
def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for target in (tmp_path / "none" / "export", tmp_path):
        assert run(["export", "--format", "csv", "-o", str(target)]) == 2
        assert "tracekit explain output-unwritable" in capfd.readouterr().err


@pytest.mark.usefixtures("store")
def test_json_tells_what_was_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "export"
    assert run(["export", "--format", "csv", "-o", str(target), "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert row == {"format": "csv", "output": str(target), "sessions": 2, "bytes": target.stat().st_size}


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "csv", "--json"],
        ["--format", "parquet"],
        ["--format", "csv", "--endpoint", "http://127.0.0.1:9"],
        ["--format", "otlp", "--endpoint", "http://127.0.0.1:9", "-o", "file"],
        ["--format", "otlp", "--endpoint", "http://127.0.0.1:9", "--header", "nonsense"],
    ],
)
def test_options_that_make_no_sense_together_are_refused(arguments: list[str]) -> None:
    assert run(["export", *arguments]) == 2


@pytest.mark.usefixtures("store")
def test_no_session_and_no_format_are_errors(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--format", "csv", "--project", "nowhere"]) == 2
    assert "tracekit explain nothing-to-export" in capfd.readouterr().err
    assert run(["export", "--format", "flamegraph"]) == 2
    said = capfd.readouterr().err
    assert "csv, junit, otlp, parquet, perfetto, prometheus" in said
    assert "tracekit explain format-unknown" in said


# --------------------------------------------------------------------------------------------------------------- parquet


@pytest.mark.usefixtures("store")
def test_a_lake_is_parted_by_day_and_sorted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "lake"
    assert run(["export", "--format", "parquet", "-o", str(lake), "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    found = sorted(path.relative_to(lake).as_posix() for path in lake.rglob("*.parquet"))
    days = ["day=2026-11-30", "day=2026-12-01"]
    assert found == [f"{table}/{day}/part-0.parquet" for table in ("boundaries", "spans") for day in days]
    assert (row["sessions"], row["files"], row["rows"]) == (2, 4, 4 * len(session()))
    assert [path.name for path in lake.iterdir() if path.name.startswith(".")] == []
    for path in lake.rglob("*.parquet"):
        frame = pl.read_parquet(path)
        order = list(zip(frame["session_id"], frame["start_ns"], strict=True))
        assert order == sorted(order)


@pytest.mark.usefixtures("store")
def test_a_lake_holds_what_the_store_holds_without_content(store: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert run(["export", "--format", "parquet", "-o", str(lake)]) == 0
    columns = "session_id, boundary, key, start_ns, end_ns, status, map_entries(attributes) AS attributes"
    with duckdb.connect(str(store), read_only=True) as connection:
        expected = connection.execute(f"SELECT {columns} FROM boundaries ORDER BY ALL").fetchall()  # noqa: S608
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {columns} FROM read_parquet('{lake}/boundaries/*/*.parquet') ORDER BY ALL").fetchall()  # noqa: S608
    stripped = [(*row[:-1], [pair for pair in row[-1] if pair["key"] != semconv.CONTENT]) for row in expected]
    assert found == stripped
    assert found != expected


@pytest.mark.usefixtures("store")
def test_a_lake_may_hold_one_session_and_is_replaced_only_by_force(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "notes.txt").write_text("mine")
    assert run(["export", "--format", "parquet", "-o", str(lake), "one"]) == 0
    assert run(["export", "--format", "parquet", "-o", str(lake)]) == 2
    assert "tracekit explain output-exists" in capfd.readouterr().err
    assert set(pl.read_parquet(lake / "spans" / "*" / "*.parquet")["session_id"]) == {"one"}
    assert run(["export", "--format", "parquet", "-o", str(lake), "--force", "two"]) == 0
    assert set(pl.read_parquet(lake / "spans" / "*" / "*.parquet")["session_id"]) == {"two"}
    assert not (lake / "spans" / "day=2026-11-30").exists()
    assert (lake / "notes.txt").read_text() == "mine"


@pytest.mark.usefixtures("store")
def test_content_is_in_a_lake_only_when_it_is_asked_for(tmp_path: Path) -> None:
    for name, arguments, expected in (("without", [], False), ("with", ["--content"], True)):
        assert run(["export", "--format", "parquet", "-o", str(tmp_path / name), *arguments]) == 0
        frame = pl.read_parquet(tmp_path / name / "spans" / "*" / "*.parquet")
        assert ("my prompt" in str(frame["attributes"].to_list())) is expected


# ------------------------------------------------------------------------------------------------------------- collector


@pytest.mark.usefixtures("store")
def test_otlp_goes_to_a_collector(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-team=a")
    with collector(OK) as kept:
        assert run(["export", "--format", "otlp", "--endpoint", kept.url, "--header", "x-team=b", "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)["rows"]
    assert (row["bodies"], row["rejected"], row["sessions"]) == (2, 0, 2)
    headers = kept.came[0][1]
    assert (headers["authorization"], headers["x-team"]) == ("Bearer abc", "b")


@pytest.mark.usefixtures("store")
def test_a_collector_that_is_not_there_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with collector((400, {}, b"")) as kept:
        assert run(["export", "--format", "otlp", "--endpoint", kept.url]) == 2
    assert "tracekit explain collector-failed" in capfd.readouterr().err


# ------------------------------------------------------------------------------------------------------- other people's


def lengths(trace: Trace) -> Iterator[str]:
    for one in trace.sessions:
        yield f"{one.session_id} {len(list(one.boundaries))} {len(trace.ask('tokens', one.session_id))}\n"


def failing(trace: Trace) -> Iterator[str]:
    yield f"{len(trace.sessions)}\n"
    raise KeyError("oh")


def asking(trace: Trace) -> Iterator[str]:
    yield str(len(trace.ask("weather", None)))


@pytest.fixture
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "offered_exporters", module)
    points = [
        EntryPoint(name, f"offered_exporters:{value}", "tracekit.exporters")
        for name, value in [("lengths", "lengths"), ("failing", "failing"), ("asking", "asking"), ("gone", "_gone")]
    ]
    points += [EntryPoint("twice", f"offered_exporters:{value}", "tracekit.exporters") for value in ("lengths", "failing")]

    def offered(*, group: str) -> EntryPoints:
        return EntryPoints(points).select(group=group)

    monkeypatch.setattr("tracekit.cli.exporting.entry_points", offered)


@pytest.mark.usefixtures("store", "_offered")
def test_an_exporter_of_another_package_is_used_like_one_of_ours(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["export", "--format", "lengths"]) == 0
    count = len(session())
    assert capfdbinary.readouterr().out.decode().splitlines() == [f"one {count} 1", f"two {count} 0"]


@pytest.mark.usefixtures("store", "_offered")
@pytest.mark.parametrize(
    ("name", "said"), [("failing", "KeyError"), ("asking", "weather"), ("gone", "_gone"), ("twice", "several packages")]
)
def test_what_is_wrong_with_it_is_told_with_its_name(name: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "export"
    assert run(["export", "--format", name, "-o", str(target)]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert "tracekit explain exporter-broken" in error
    assert [path.name for path in tmp_path.iterdir() if "export" in path.name] == []


@pytest.mark.usefixtures("store", "_offered")
def test_a_format_that_nobody_offers_is_told_with_those_that_somebody_does(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--format", "flamegraph"]) == 2
    assert "lengths" in capfd.readouterr().err


def test_every_question_of_an_exporter_is_answered(store: Path) -> None:
    from tracekit.analysis.scope import Scope

    with open_store(str(store)) as opened:
        answered = {name: len(ask(opened, Scope("one"), at(100))) for name, ask in QUESTIONS.items()}
    assert all(answered[name] for name in ("account", "failures", "metrics", "overlap", "tokens"))


def test_what_one_tracekit_exports_another_takes_as_it_was(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = "session_id, agent_id, boundary, key, parent_key, name, start_ns, start_slack_ns, end_ns, end_slack_ns, status"
    asked = f"SELECT {columns} FROM boundaries ORDER BY session_id, boundary, key"  # noqa: S608
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    other = tmp_path / "other.duckdb"
    with serving("--store", str(other)) as server:
        assert run(["export", "--format", "otlp", "--endpoint", server.url]) == 0
        assert server.end()[0] == 0
    with open_store(str(store)) as sent, open_store(str(other)) as taken:
        assert taken.rows(asked) == sent.rows(asked)
