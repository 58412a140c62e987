"""The example agent, as its docstring says to run it, and what it is an experiment about: what tracekit reports hidden is what is saved."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from anthropic import AsyncAnthropic

from tracekit.analysis.overlap import overlap
from tracekit.ingest import import_paths
from tracekit.instrument import instrument, session, turn, uninstrument
from tracekit.store import open_store

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = ROOT / "examples"
SECOND: Final = 1_000_000_000
TRACEKIT: Final = (sys.executable, "-c", "from tracekit.cli.main import main; main()")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example's module. It finds the scripted model beside it, as a script does."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    yield import_module("eager_agent")
    for name in ("eager_agent", "scripted_model"):
        sys.modules.pop(name, None)


async def both(example: Any, url: str) -> tuple[float, float]:
    """Run the eager agent and the waiting one at once, so that a busy machine is busy for both; gives how long each took."""
    client = AsyncAnthropic(api_key="none", base_url=url)
    # What an SDK loads for its first request it does not load for the others.
    stream = await client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}], stream=True)
    await stream.close()

    async def timed(*, eager: bool) -> float:
        began = time.perf_counter()
        with session("eager" if eager else "waiting"), turn():
            assert await example.agent(client, "Tidy up.", eager=eager) == "All is well."
        return time.perf_counter() - began

    eager, waiting = await asyncio.gather(timed(eager=True), timed(eager=False))
    return eager, waiting


def test_the_eager_run_is_shorter_by_what_is_reported_hidden(example: Any, tmp_path: Path) -> None:
    instrument(spool=tmp_path / "spool", libraries=("anthropic",))
    try:
        with example.scripted_model() as url:
            eager_s, waiting_s = asyncio.run(both(example, url))
    finally:
        uninstrument()
    store = str(tmp_path / "store.duckdb")
    import_paths([tmp_path / "spool"], store)
    with open_store(store) as opened:
        reported = {row.session_id: row for row in overlap(opened, by="session")}
    eager, waiting = reported["eager"], reported["waiting"]
    assert eager.hidden_best_ns == eager.hidden_lower_ns == eager.hidden_upper_ns
    assert eager.hidden_best_ns is not None
    assert eager.hidden_best_ns / SECOND == pytest.approx(waiting_s - eager_s, rel=0.05)
    # And the waiting run knows what it missed, without the eager one.
    assert waiting.hidden_best_ns == 0
    assert waiting.missed_ns == waiting.could_hide_best_ns
    assert waiting.missed_ns == pytest.approx(eager.hidden_best_ns, rel=0.05)
    assert (eager.tools, waiting.tools, eager.responses) == (3, 3, 2)


def test_the_commands_that_the_example_names_show_both_runs_side_by_side(tmp_path: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in {"PYTEST_CURRENT_TEST", "TRACEKIT_STORE", "CLAUDE_CONFIG_DIR"}
    }
    environment |= {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "TRACEKIT_SPOOL": str(tmp_path / "spool")}
    environment |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'exporters'}", "COLUMNS": "120"}

    def started(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def said(process: "subprocess.Popen[str]") -> str:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err.count("Traceback")) == (0, 0), err
        return out

    script = str(EXAMPLES / "eager_agent.py")
    eager, waiting = (said(one) for one in [started(sys.executable, script), started(sys.executable, script, "--wait")])
    assert eager.startswith("eager: 'All is well.' after ")
    assert waiting.startswith("waiting: 'All is well.' after ")
    said(started(*TRACEKIT, "import"))
    lines = {line.split("-")[0]: line.split() for line in said(started(*TRACEKIT, "overlap")).splitlines() if line[:1] in "ew"}
    assert lines["waiting"][5:7] == ["0", "s"]
    assert lines["eager"][5:7] != ["0", "s"]
