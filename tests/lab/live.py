"""A scenario with the real client under `tracekit run`: what its witnesses saw, beside what the server knows to be true."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.lab import client, judge
from tests.lab.home import DemoHome
from tests.lab.script import Scenario
from tests.lab.scripted_api import ScriptedApi

TRACEKIT: Final = (sys.executable, "-c", "from tracekit.cli.main import main; main()")
LONGEST: Final = 90.0


@dataclass
class Lived:
    """One run that is over, or that hangs.

    Attributes:
        folder: Holds truth.jsonl, the telemetry that was passed on, the stamped stream, and a state folder of its own.
        exit_code: Of `tracekit run`.
        said: What it said on stderr.
        seconds_after: From the end of the client's stdout to the end of `tracekit run`.
        left: What of tracekit still ran after that.
    """

    folder: Path
    exit_code: int = 0
    said: str = ""
    seconds_after: float = 0.0
    left: Sequence[str] = field(default_factory=list[str])

    @property
    def store(self) -> Path:
        """What `tracekit run` loaded."""
        return self.folder / "store.duckdb"

    @property
    def summary(self) -> dict[str, Any]:
        """What it said, as the object that `--json` promises."""
        found: dict[str, Any] = json.loads(self.said[self.said.index("{") :])
        return found

    def judged(self) -> dict[str, Any]:
        """The truth."""
        return judge.truth(self.folder)

    def ask(self, *command: str) -> dict[str, Any]:
        """Ask tracekit while it happens, with the run's own home and state."""
        environment = {**os.environ, **self.own()}
        done = subprocess.run(
            [*TRACEKIT, *command, "--json"], env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def own(self) -> dict[str, str]:
        """What makes the run's places its own."""
        return {"HOME": str(self.folder / "root" / "home" / "demo"), "XDG_STATE_HOME": str(self.folder / "state")}


class LiveRun(client.Run):
    """The client as a child of `tracekit run`."""

    def live(self, binary: Path, home: DemoHome, lived: Lived, *, hanging: Callable[[Lived], None] | None) -> None:
        """Play the scenario to its end. Where it hangs, `hanging` is called meanwhile, and then the run is ended by a signal."""
        process = subprocess.Popen(
            [*TRACEKIT, "run", "--json", "--store", str(lived.store), "--", *client.command(binary, self._scenario, home)],
            env=self._environment(home, lived),
            cwd=home.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        limit = threading.Timer(LONGEST, process.kill)
        limit.start()
        if hanging is not None:
            threading.Thread(target=self._end, args=(process, lived, hanging), daemon=True).start()
        errors: list[bytes] = []
        reading = threading.Thread(target=lambda: errors.append(process.stderr.read() if process.stderr else b""), daemon=True)
        reading.start()
        try:
            self._converse(process, lived.folder / "stream.jsonl")
            last = time.monotonic()
            lived.exit_code = process.wait()
            lived.seconds_after = time.monotonic() - last
            lived.left = left_running(process.pid)
            reading.join(LONGEST)
            lived.said = b"".join(errors).decode()
        finally:
            limit.cancel()
            _end_session(process.pid)

    def _environment(self, home: DemoHome, lived: Lived) -> dict[str, str]:
        found = client.environment(self._scenario, home, self._api.port) | lived.own()
        # Where tracekit runs from a checkout, the interpreter must find it.
        return found | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}

    def _end(self, process: "subprocess.Popen[bytes]", lived: Lived, hanging: Callable[[Lived], None]) -> None:
        if self._api.last_answer_began.wait(LONGEST):
            try:
                hanging(lived)
            finally:
                process.send_signal(signal.SIGTERM)


def live(scenario: Scenario, folder: Path, *, binary: Path, hanging: Callable[[Lived], None] | None = None) -> Lived:
    """Run a scenario under `tracekit run` in `folder`, which must not exist."""
    (folder / "otlp").mkdir(parents=True)
    home = DemoHome(folder / "root")
    lived = Lived(folder)
    with ScriptedApi(scenario, folder, localize=home.here) as api:
        home.furnish(scenario, api.port)
        LiveRun(scenario, api, home).live(binary, home, lived, hanging=hanging)
    return lived


def left_running(session: int, *, patience: float = 3.0) -> Sequence[str]:
    """Give what of tracekit still runs in a session after a moment, by its command line; the client's own children are its own."""
    deadline = time.monotonic() + patience
    while (
        found := [line for line in _commands(session) if "tracekit" in line or "multiprocessing" in line]
    ) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _commands(session: int) -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == session:
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def _end_session(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
