"""A command hook from start to exit, beside the least that any hook in Python costs and beside a hook in a shell.

    python benchmarks/hook.py [--runs 30]

An agent waits for its hooks, so every millisecond here is one of the user's. Processes are timed in turn, so that a busy machine is
busy for all of them; medians and the ratio to a bare Python are told.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PAYLOAD = {
    "session_id": "5e551000-0000-4000-8000-000000000001",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_use_id": "toolu_1",
    "tool_input": {"command": "make"},
}
COMMANDS = {
    "sh, reads its input": ["sh", "-c", "cat >/dev/null"],
    "python, does nothing": [sys.executable, "-c", ""],
    "python, reads JSON": [sys.executable, "-c", "import json, sys; json.load(sys.stdin)"],
    "tracekit-hook": [sys.executable, "-c", "from tracekit.capture.hook_main import main; main()"],
}


def seconds(command: list[str], folder: str) -> float:
    """How long a hook takes, from its start to its exit."""
    began = time.perf_counter()
    subprocess.run(command, input=json.dumps(PAYLOAD).encode(), env={**os.environ, "TRACEKIT_SPOOL": folder}, check=True)
    return time.perf_counter() - began


def main() -> None:
    """Time the commands in turn and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    runs: int = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        turns = [{name: seconds(command, folder) for name, command in COMMANDS.items()} for _ in range(runs)]
    taken = {name: [turn[name] for turn in turns] for name in COMMANDS}
    bare = statistics.median(taken["python, does nothing"])
    for name, times in taken.items():
        middle = statistics.median(times)
        print(f"{name:22} p50 {middle * 1e3:6.1f} ms   max {max(times) * 1e3:6.1f} ms   ratio {middle / bare:5.2f}")


if __name__ == "__main__":
    main()
