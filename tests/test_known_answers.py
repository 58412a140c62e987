"""Acceptance: real sessions give the numbers that are known of them, alone and together, and keep what must hold of any session.

What is known was counted straight from the lines by scripts that know no span and no store.
"""

import json
import lzma
import tarfile
from bisect import bisect_left
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.lab.count import count, entries
from tracekit.analysis.account import account
from tracekit.analysis.overlap import overlap
from tracekit.analysis.sessions import sessions
from tracekit.ingest import import_paths
from tracekit.sources.timestamps import timestamp_ns
from tracekit.store import SpanStore, open_store

DATA = Path(__file__).parent / "data"
KNOWN: dict[str, Any] = json.loads((DATA / "known_answers.json").read_text(encoding="utf-8"))
FILES = list(KNOWN["files"])
LAST_SERIAL_CLIENT = (2, 1, 23)
SAME_MOMENT_NS = 100_000_000
"""A prompt that takes the place of a refused call is stamped some ms before the end of the turn that it ends."""

COLUMNS = {
    "messages": "messages",
    "tool_calls": "tool_calls",
    "tool_calls_unanswered": "tool_unanswered",
    "tool_errors": "tool_errors",
    "results_before_last_block": "results_before_last_block",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "compact_boundary": "compactions",
    "microcompact_boundary": "microcompactions",
    "api_error": "api_errors",
    "api_error_messages": "api_error_messages",
    "interrupts": "interrupts",
}
"""What is known, and the column of `sessions` that says it."""


@contextmanager
def loaded(paths: Iterable[Path], folder: Path) -> Generator[SpanStore]:
    """Import files into a store of their own."""
    database = folder / "store.duckdb"
    done = import_paths(paths, str(database))
    assert (done.problem_lines, done.files_unknown) == ([], [])
    with open_store(str(database)) as store:
        yield store


def counted(store: SpanStore) -> dict[str, int]:
    """Sum what is known over the sessions of a store."""
    found = sessions(store)
    return {name: sum(getattr(session, column) for session in found) for name, column in COLUMNS.items()}


def known(of: dict[str, Any]) -> dict[str, int]:
    return {name: of[name] for name in COLUMNS}


def waited_ns(store: SpanStore) -> int:
    return sum(session.use_to_result_ns for session in sessions(store))


# What must hold of any session ---------------------------------------------------------------------------------------


def check_accounts(store: SpanStore) -> None:
    """Every turn's categories sum to its wall."""
    left: dict[tuple[str, str | None, str | None], int] = {}
    for line in account(store):
        left.setdefault((line.session_id, line.agent_id, line.turn_key), line.wall_ns)
        left[line.session_id, line.agent_id, line.turn_key] -= line.duration_ns
    assert {turn: rest for turn, rest in left.items() if rest} == {}


def check_overlaps(store: SpanStore, *, serial: bool) -> None:
    """Nothing hides longer than its stream lasted, and nothing at all in clients that start tools after the message."""
    streams = {
        (row["session_id"], row["key"]): row["end_ns"] - row["start_ns"]
        for row in store.rows(
            "SELECT session_id, key, start_ns, end_ns FROM boundaries WHERE boundary = 'model_request' AND end_ns IS NOT NULL"
        )
    }
    for row in overlap(store):
        assert row.hidden_lower_ns <= row.hidden_upper_ns <= streams.get((str(row.session_id), str(row.request_key)), row.hidden_upper_ns)
        assert row.hidden_best_ns is None or row.hidden_lower_ns <= row.hidden_best_ns <= row.hidden_upper_ns
        assert row.exposed_lower_ns <= row.exposed_upper_ns
        assert not serial or row.hidden_upper_ns == 0


def check_turns(store: SpanStore, found: Iterable[dict[str, Any]]) -> None:
    """A turn ends with the last thing that was written before the next prompt: the user's time is in no turn."""
    # A turn that has no prompt, because the file begins inside it, may be written in the same millisecond as the first prompt.
    sql = "SELECT start_ns, end_ns FROM boundaries WHERE boundary = 'turn' AND agent_id IS NULL AND name <> 'implicit' ORDER BY start_ns"
    turns = store.rows(sql)
    stamps = sorted(stamp for entry in found if (stamp := timestamp_ns(entry.get("timestamp"))) is not None)
    for turn, following in pairwise(turns):
        last_ns = stamps[bisect_left(stamps, following["start_ns"] + SAME_MOMENT_NS) - 1]
        assert turn["start_ns"] <= turn["end_ns"] <= last_ns


def is_serial(clients: Iterable[str]) -> bool:
    return all(tuple(int(part) for part in client.split(".")) <= LAST_SERIAL_CLIENT for client in clients)


# The sessions of this repository -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transcripts")
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.decompress((DATA / "transcripts" / f"{name}.xz").read_bytes()))
    return folder


@pytest.mark.parametrize("name", FILES)
def test_a_file_alone_gives_what_is_known_of_it(name: str, unpacked: Path, tmp_path: Path) -> None:
    of, path = KNOWN["files"][name], unpacked / name
    with loaded([path], tmp_path) as store:
        assert counted(store) == known(of)
        assert store.rows("SELECT SUM(entries) AS lines FROM files") == [{"lines": of["lines"]}]
        assert round(waited_ns(store) / 1e9, 3) == count(entries(path))["use_to_result_s"]
        check_accounts(store)
        check_overlaps(store, serial=is_serial(of["client"]))
        check_turns(store, entries(path))


@pytest.mark.parametrize("name", KNOWN["together"])
@pytest.mark.parametrize("order", [1, -1], ids=["as-made", "reversed"])
def test_what_files_share_counts_once_whichever_came_first(name: str, order: int, unpacked: Path, tmp_path: Path) -> None:
    of = KNOWN["together"][name]
    database = str(tmp_path / "store.duckdb")
    for file in of["files"][::order]:
        import_paths([unpacked / file], database)
    with open_store(database) as store:
        assert counted(store) == known(of)
        assert abs(waited_ns(store) / 1e9 - of["use_to_result_s"]) < 0.001
        check_accounts(store)
        check_overlaps(store, serial=False)


# All the sessions of the corpus --------------------------------------------------------------------------------------

EVERYTHING = {
    "messages": 4658,
    "tool_calls": 4991,
    "output_tokens": 589_849,
    "cache_read_tokens": 420_221_874,
    "cache_write_tokens": 17_246_054,
}


@pytest.fixture(scope="module")
def corpus_files(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(corpus / "data" / "transcripts.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def corpus_answers(corpus: Path) -> dict[str, dict[str, Any]]:
    """Read the table of a file each in KNOWN_ANSWERS.md."""
    lines = (corpus / "data" / "KNOWN_ANSWERS.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (head,) = [row for row in rows if row[0] == "file"]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows if row[0].endswith(".jsonl")}


def test_every_file_of_the_corpus_alone_gives_what_is_known_of_it(corpus: Path, corpus_files: Path, tmp_path: Path) -> None:
    answers = corpus_answers(corpus)
    assert len(answers) == 73
    wrong: dict[str, dict[str, tuple[int, int]]] = {}
    for number, (name, of) in enumerate(answers.items()):
        (tmp_path / str(number)).mkdir()
        with loaded([corpus_files / name], tmp_path / str(number)) as store:
            found, told = counted(store), {column: int(of[column]) for column in COLUMNS}
            wrong[name] = {column: (told[column], found[column]) for column in COLUMNS if told[column] != found[column]}
            assert round(waited_ns(store) / 1e9, 3) == count(entries(corpus_files / name))["use_to_result_s"]
            check_accounts(store)
            check_overlaps(store, serial=is_serial(of["client"].split(", ")))
            check_turns(store, entries(corpus_files / name))
    assert {name: columns for name, columns in wrong.items() if columns} == {}


def test_the_whole_corpus_in_one_store_counts_what_its_files_share_once(corpus_files: Path, tmp_path: Path) -> None:
    with loaded([corpus_files], tmp_path) as store:
        found = counted(store)
        assert {name: found[name] for name in EVERYTHING} == EVERYTHING
        check_accounts(store)
        check_overlaps(store, serial=False)
