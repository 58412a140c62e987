"""The store: made on first use, stamped, closed to all but reading, and plain about what is wrong with a file."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tracekit.errors import TracekitError
from tracekit.store import default_store, open_store, store_path


def slug_of(url: str, *, write: bool = False) -> str:
    with pytest.raises(TracekitError) as caught, open_store(url, write=write, wait=0.1):
        pytest.fail("the store opened")
    assert url in str(caught.value) or caught.value.slug == "store-unknown"
    return caught.value.slug


def test_a_store_is_made_on_first_writing_and_read_afterwards(tmp_path: Path) -> None:
    url = str(tmp_path / "deep" / "store.duckdb")
    with open_store(url, write=True) as store:
        assert store.ledger() == {}
    with open_store(url) as store:
        assert store.rows("SELECT value FROM meta WHERE name = 'schema_version'") == [{"value": "2"}]
        assert store.rows("SELECT * FROM boundaries") == []


def test_reading_makes_no_store(tmp_path: Path) -> None:
    assert slug_of(str(tmp_path / "none.duckdb")) == "no-store"
    assert not (tmp_path / "none.duckdb").exists()


def test_a_newer_schema_is_refused_for_reading_and_for_writing(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with open_store(str(path), write=True):
        pass
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE name = 'schema_version'")
    assert slug_of(str(path)) == "store-newer"
    assert slug_of(str(path), write=True) == "store-newer"


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    assert slug_of(str(path), write=True) == "store-newer"


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "junk.duckdb"
    path.write_bytes(bytes(range(256)) * 40)
    assert slug_of(str(path)) == "store-damaged"
    assert slug_of(str(path), write=True) == "store-damaged"
    assert path.read_bytes() == bytes(range(256)) * 40


def test_a_store_open_in_another_program_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with open_store(str(path), write=True):
        pass
    program = f"import duckdb; c = duckdb.connect({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        assert slug_of(str(path)) == "store-busy"
        other.communicate(b"\n", timeout=20)
    with open_store(str(path)):
        pass


def test_a_reader_can_change_nothing_and_touch_no_other_file(tmp_path: Path) -> None:
    url = str(tmp_path / "store.duckdb")
    with open_store(url, write=True):
        pass
    leak = tmp_path / "leak.csv"
    other = tmp_path / "other.duckdb"
    for sql in ("DELETE FROM spans", f"COPY spans TO '{leak}'", f"ATTACH '{other}' AS other", "SET enable_external_access = true"):
        with open_store(url) as store, pytest.raises(TracekitError):
            store.rows(sql)
    assert not leak.exists()


def test_a_query_takes_only_the_parameters_that_it_names() -> None:
    with open_store(":memory:") as store:
        assert store.rows("SELECT $a + 1 AS b", a=1, unused=2) == [{"b": 2}]
        assert store.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_frame_has_the_rows_of_the_query() -> None:
    with open_store(":memory:") as store:
        frame = store.query("SELECT $a AS a UNION ALL SELECT 2 ORDER BY a", a=1)
        assert frame.rows() == [(1,), (2,)]
        assert store.query("SELECT 1 AS x WHERE FALSE").rows() == []


def test_a_frame_can_be_the_first_thing_that_is_asked_of_a_file(tmp_path: Path) -> None:
    store = str(tmp_path / "store.duckdb")
    with open_store(store, write=True):
        pass
    with open_store(store) as opened:
        assert opened.query("SELECT 1 AS one").rows() == [(1,)]


def test_a_wrong_query_says_so() -> None:
    with open_store(":memory:") as store, pytest.raises(TracekitError) as caught:
        store.rows("SELEC 1")
    assert caught.value.slug == "bad-sql"


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_store() == str(tmp_path / "tracekit" / "store.duckdb")
    monkeypatch.setenv("TRACEKIT_STORE", "elsewhere.duckdb")
    assert default_store() == "elsewhere.duckdb"
    assert store_path("duckdb:///var/x.duckdb") == Path("/var/x.duckdb")
    assert slug_of("ftp://host/store") == "store-unknown"
