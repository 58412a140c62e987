"""What an import takes, what it refuses, and what it says of both."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ingest.conftest import CAPTURES, Held, place
from tracekit.errors import TracekitError
from tracekit.ingest import default_roots, find_files, import_paths, import_stream
from tracekit.sources.lines import LINE_LIMIT
from tracekit.store import LedgerEntry, open_store

Holds = Callable[[Path], dict[str, Held]]
PROMPT = b'{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-11-30T10:00:00.000Z","message":{"role":"user","content":"go"}}\n'
ANSWER = (
    b'{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-11-30T10:00:03.000Z","requestId":"req_1",'
    b'"message":{"id":"msg_1","model":"m","role":"assistant","content":[{"type":"text","text":"done"}],"usage":{"output_tokens":3}}}\n'
)


def refused(paths: list[Path], store: Path) -> TracekitError:
    with pytest.raises(TracekitError) as caught:
        import_paths(paths, str(store))
    assert not store.exists()
    return caught.value


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refused([tmp_path / "empty"], tmp_path / "s").slug == "nothing-to-import"


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    error = refused([tmp_path / "nowhere"], tmp_path / "s")
    assert error.slug == "path-missing"
    assert "nowhere" in str(error)


def test_a_folder_of_other_files(tmp_path: Path) -> None:
    place(tmp_path / "pdfs", {"a.pdf": b"%PDF-1.7\n\xff", "b.jsonl": b"%PDF-1.7\n\xff", "c.json": b"{}"})
    assert refused([tmp_path / "pdfs"], tmp_path / "s").slug == "nothing-to-import"
    assert refused([tmp_path / "pdfs" / "a.pdf"], tmp_path / "s").slug == "nothing-to-import"


def test_other_files_beside_sessions_are_counted_and_passed_over(tmp_path: Path) -> None:
    place(tmp_path / "mixed", {"a.jsonl": PROMPT, "b.jsonl": b"plain text\n", "c.pdf": b"%PDF"})
    done = import_paths([tmp_path / "mixed"], str(tmp_path / "s"))
    assert done.files_read == 1
    assert [Path(path).name for path in done.files_unknown] == ["b.jsonl"]


def test_what_stands_beside_a_sub_agents_file_is_read_with_it_and_is_no_file_of_its_own(tmp_path: Path) -> None:
    entry = PROMPT.replace(b'"type":"user"', b'"type":"user","isSidechain":true,"agentId":"a1"')
    beside = b'{"toolUseId":"toolu_1","agentType":"explorer"}'
    place(tmp_path / "in", {"s1/subagents/agent-a1.jsonl": entry, "s1/subagents/agent-a1.meta.json": beside, "lost.meta.json": beside})
    done = import_paths([tmp_path / "in"], str(tmp_path / "s"))
    assert (done.files_read, [Path(path).name for path in done.files_unknown]) == (1, ["lost.meta.json"])
    with open_store(str(tmp_path / "s")) as store:
        assert store.rows("SELECT key, parent_key, name, end_ns FROM boundaries WHERE boundary = 'subagent'") == [
            {"key": "a1", "parent_key": "toolu_1", "name": "explorer", "end_ns": None}
        ]


def test_a_file_that_cannot_be_opened_is_told_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path / "mixed", {"a.jsonl": PROMPT, "locked.jsonl": PROMPT})
    opened = Path.open

    def guarded(self: Path, *arguments: object, **more: object) -> object:
        if self.name == "locked.jsonl":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", guarded)
    done = import_paths([tmp_path / "mixed"], str(tmp_path / "s"))
    assert (done.files_read, dict(done.problems)) == (1, {"unreadable file": 1})
    assert [(Path(path).name, line, reason) for path, line, reason, _ in done.problem_lines] == [("locked.jsonl", 0, "unreadable file")]
    with pytest.raises(TracekitError) as caught:
        import_paths([tmp_path / "mixed" / "locked.jsonl"], str(tmp_path / "s"))
    assert caught.value.slug == "path-unreadable"


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locked").mkdir()

    def scandir(path: object) -> Iterator[object]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", scandir)
    assert refused([tmp_path / "locked"], tmp_path / "s").slug == "path-unreadable"


def test_a_file_of_one_endless_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as handle:
        handle.write(b'{"type":"user","message":"')
        handle.truncate(LINE_LIMIT + 16 * 1024 * 1024)
    error = refused([path], tmp_path / "s")
    assert error.slug == "line-too-long"
    assert f"{path}:1" in str(error)


def test_after_an_endless_line_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as handle:
        handle.write(b'{"type":"user","message":"')
        handle.truncate(LINE_LIMIT + 16 * 1024 * 1024)
        handle.seek(0, os.SEEK_END)
        handle.write(b'"}\n' + PROMPT)
    done = import_paths([path], str(tmp_path / "s"))
    assert (done.spans, dict(done.problems)) == (1, {"line too long": 1})
    assert done.problem_lines[0][1] == 1


def test_globs_folders_and_files_name_each_file_once(tmp_path: Path) -> None:
    place(tmp_path, {"one/a.jsonl": PROMPT, "two/b.jsonl": PROMPT, "two/.hidden.jsonl": PROMPT, "two/notes.txt": b""})
    found = find_files([tmp_path, str(tmp_path / "*" / "*.jsonl"), tmp_path / "one" / "a.jsonl"])
    assert [path.name for path in found] == ["a.jsonl", "b.jsonl"]


def test_the_default_is_where_the_client_keeps_its_sessions(tmp_path: Path) -> None:
    assert default_roots({"HOME": "/home/demo"}) == [Path("/home/demo/.claude/projects")]
    assert default_roots({"HOME": "/home/demo", "CLAUDE_CONFIG_DIR": str(tmp_path)}) == [tmp_path / "projects"]


def test_progress_counts_the_bytes(tmp_path: Path) -> None:
    place(tmp_path / "s", {"a.jsonl": PROMPT, "b.jsonl": PROMPT + ANSWER})
    told: list[tuple[int, int]] = []
    import_paths([tmp_path / "s"], str(tmp_path / "store"), progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (2 * len(PROMPT) + len(ANSWER), 2 * len(PROMPT) + len(ANSWER))
    assert told == sorted(told)


def test_a_body_that_joins_its_folder_is_read_with_the_others(tmp_path: Path, held: Holds) -> None:
    """Claude Code's spans and events explain each other, whichever came first."""
    bodies = sorted((CAPTURES / "overlap" / "otlp").glob("*.pb"))
    late, fresh, folder = tmp_path / "late.duckdb", tmp_path / "fresh.duckdb", tmp_path / "otlp"
    folder.mkdir()
    for body in bodies:
        shutil.copy(body, folder)
        import_paths([folder], str(late))
    import_paths([folder], str(fresh))
    assert held(late) == held(fresh)
    assert import_paths([folder], str(late)).files_unchanged == len(bodies)


def test_a_load_that_rests_on_an_old_ledger_is_left_out(tmp_path: Path) -> None:
    from tracekit.store import Batch

    entry = LedgerEntry(1, "/f.jsonl", "transcript", 10, 1, 1, "d", 10, 2, 0, 1, 0, 1, 1)
    with open_store(str(tmp_path / "s"), write=True) as store:
        assert store.load(Batch([], [], [entry], {1: (0, 0)})) == []
        assert store.load(Batch([], [(1, 1, 0, "not JSON", "")], [entry._replace(read_to=20)], {1: (0, 0)})) == ["/f.jsonl"]
        assert store.ledger()["/f.jsonl"].read_to == 10
        assert store.rows("SELECT * FROM problems") == []


def test_a_pipe_is_stamped_on_arrival_and_adds_nothing_twice(tmp_path: Path, held: Holds) -> None:
    lines = [
        b'{"type":"system","subtype":"init","session_id":"s","cwd":"/home/demo","model":"m","claude_code_version":"2.1.332"}\n',
        b'{"type":"system","subtype":"status","status":"requesting","session_id":"s","uuid":"q1"}\n',
        b'{"type":"stream_event","session_id":"s","event":{"type":"message_start","message":{"id":"msg_1","model":"m"}}}\n',
        b'{"type":"stream_event","session_id":"s","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}}\n',
        b'{"type":"stream_event","session_id":"s","event":{"type":"message_stop"}}\n',
        b'{"type":"result","subtype":"success","is_error":false,"session_id":"s","duration_ms":4000,"total_cost_usd":0.5,"uuid":"r"}\n',
    ]
    ticks = iter(range(1_000_000_000_000, 9_000_000_000_000, 1_000_000_000))
    store = tmp_path / "s.duckdb"
    done = import_stream(lines, str(store), clock=lambda: next(ticks))
    assert (done.files_read, dict(done.problems)) == (1, {})
    with open_store(str(store)) as opened:
        (request,) = opened.rows("SELECT * FROM boundaries WHERE boundary = 'model_request'")
    assert request["end_ns"] == 1_004_000_000_000
    assert request["attributes"]["tracekit.response.first_byte_ns"] == "1002000000000"
    before = held(store)
    assert import_stream(lines, str(store)).files_late
    assert held(store)["spans"] == before["spans"]


def test_a_pipe_that_its_reader_interrupts_keeps_what_came(tmp_path: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield PROMPT
        raise KeyboardInterrupt

    assert import_stream(lines(), str(tmp_path / "s")).spans == 1


def test_nothing_of_a_prompt_is_kept_unless_asked_for(tmp_path: Path) -> None:
    words = PROMPT.replace(b"go", b"xylophone quartz")
    place(tmp_path / "s", {"a.jsonl": words + ANSWER})
    import_paths([tmp_path / "s"], str(tmp_path / "without.duckdb"))
    import_paths([tmp_path / "s"], str(tmp_path / "with.duckdb"), content=True)
    assert b"xylophone" not in (tmp_path / "without.duckdb").read_bytes()
    with open_store(str(tmp_path / "with.duckdb")) as store:
        texts = store.rows("SELECT attributes['tracekit.content'] AS text FROM spans WHERE boundary = 'turn'")
    assert texts == [{"text": "xylophone quartz"}]
