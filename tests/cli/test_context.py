"""`tracekit context`: the window turn by turn, compactions, and failures that came again and again."""

import json
import lzma
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.cli.main import run
from tracekit.ingest import import_paths

DATA = Path(__file__).parents[1] / "data"
SESSION = "4d5611e5-241a-462a-8d15-5122611a9569"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real session that was compacted, and a headless one whose client tells its window."""
    folder = tmp_path_factory.mktemp("context")
    spotter = DATA / "transcripts" / "spotter"
    for path in [spotter / f"{SESSION}.jsonl.xz", *(spotter / SESSION).rglob("*.xz")]:
        unpacked = folder / path.relative_to(spotter).with_suffix("")
        unpacked.parent.mkdir(parents=True, exist_ok=True)
        unpacked.write_bytes(lzma.decompress(path.read_bytes()))
    store = str(folder / "store.duckdb")
    import_paths([folder, DATA / "captures" / "compaction"], store)
    return store


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("NO_COLOR", "1"), ("COLUMNS", "110"), ("TZ", "UTC")):
        monkeypatch.setenv(name, value)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("session", [SESSION, "latest"])
def test_what_is_printed(session: str, recorded: str, capsys: pytest.CaptureFixture[str], golden: Callable[[str, str], None]) -> None:
    pytest.importorskip("genai_prices", reason="the extra `prices` estimates what a compaction cost")
    assert run(["context", session, "--store", recorded]) == 0
    golden(f"context_{session[:8]}.txt", capsys.readouterr().out)


def test_programs_get_every_request_with_what_surrounds_it(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", SESSION, "--by", "request", "--json", "--store", recorded]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["rows"]) > 100
    assert {row["window_source"] for row in answer["rows"] if row["agent_id"] is None} == {"compaction"}
    (compaction,) = answer["compactions"]
    assert (compaction["before_tokens"], compaction["trigger"], compaction["cost_input_tokens"]) == (170_251, "auto", 173_514)
    assert [(row["name"], row["alike"], row["times"]) for row in answer["repeated_failures"]] == [("Read", "result", 7)]


def test_nothing_in_a_scope_is_said(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", "--all", "--until", "2001-01-01", "--store", recorded]) == 0
    assert capsys.readouterr().out == "No request with tokens in this scope.\n"
