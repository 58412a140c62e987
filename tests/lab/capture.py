"""Run one scenario with the real client, and keep of it what may be kept.

OUT_DIR/NAME/ then holds:

    transcript/   the session file that the client wrote, sub-agents' files beside it (agent-ID.jsonl, agent-ID.meta.json)
    otlp/         bodies as they arrived, named by the Unix nanosecond of their arrival: N.traces.pb, N.logs.pb
    stream.jsonl  the client's stdout (stream-json), each line stamped on arrival
    truth.jsonl   what the server did and when; stamps.jsonl what the commands say of themselves
    truth.json    the judge's answers
    meta.json     scenario, client, exit code, and how many lines of which kind were left out
"""

import json
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.lab import client, judge, otlp
from tests.lab.home import DemoHome
from tests.lab.script import Scenario
from tests.lab.scripted_api import ScriptedApi
from tests.lab.scrub import cut, scrub_stream, scrub_transcript

FLUSH: Final = 0.3
"""For telemetry that is on its way when the client has ended."""


def capture(name: str, scenario: Scenario, out: Path, *, binary: Path) -> dict[str, Any]:
    """Run a scenario and fill `out`, which must not exist or is replaced; gives the judge's answers."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "otlp").mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as root:
        started_ns = time.time_ns()
        home, exit_code = _run(scenario, out, Path(root), binary)
        left_out = _collect(out, home)
    meta = {
        "scenario": name,
        "about": scenario.about,
        "client": client.version(binary),
        "exit_code": exit_code,
        "started_ns": started_ns,
        "left_out": left_out,
    }
    judged = judge.truth(out)
    _write(out / "meta.json", meta)
    _write(out / "truth.json", judged)
    return judged


def _run(scenario: Scenario, out: Path, root: Path, binary: Path) -> tuple[DemoHome, int]:
    home = DemoHome(root)
    with ScriptedApi(scenario, out, localize=home.here) as api:
        home.furnish(scenario, api.port)
        exit_code = client.Run(scenario, api, home).play(binary, out / "stream.jsonl")
        time.sleep(FLUSH)
    return home, exit_code


def _collect(out: Path, home: DemoHome) -> dict[str, int]:
    """Bring the client's files here and scrub everything; gives what was left out, by kind."""

    def clean(words: str) -> str:
        return str(cut(home.as_recorded(words)))

    left_out: Counter[str] = Counter()
    sessions = home.path / ".claude" / "projects"
    for path in sorted(found for found in sessions.rglob("*.json*") if found.is_file()):
        target = out / "transcript" / Path(*path.relative_to(sessions).parts[1:])
        target.parent.mkdir(parents=True, exist_ok=True)
        written = home.as_recorded(path.read_text(encoding="utf-8"))
        if path.suffix == ".json":
            target.write_text(json.dumps(cut(json.loads(written))) + "\n", encoding="utf-8")
        else:
            kept, dropped = scrub_transcript(written.splitlines())
            left_out += dropped
            _write_lines(target, kept)
    stream = out / "stream.jsonl"
    _write_lines(stream, scrub_stream(home.as_recorded(stream.read_text(encoding="utf-8")).splitlines()))
    for body in list((out / "otlp").iterdir()):
        otlp.scrub(body, clean)
    stamps = home.project / "stamps.jsonl"
    if stamps.exists():
        shutil.copy(stamps, out / "stamps.jsonl")
    return dict(sorted(left_out.items()))


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
