"""Capture scenarios, one after the other: `python -m tests.lab OUT_DIR [SCENARIO ...]`."""

import sys
from pathlib import Path

from tests.lab import client
from tests.lab.capture import capture
from tests.lab.scenarios import SCENARIOS


def main() -> None:
    """Run the scenarios that were named, or all, and say in a line what each came to."""
    out, *names = sys.argv[1:]
    binary = client.binary()
    if binary is None:
        sys.exit("the client is not here: python -m pip install claude-agent-sdk")
    for name in names or SCENARIOS:
        judged = capture(name, SCENARIOS[name], Path(out) / name, binary=binary)
        total = {key.removesuffix("_ns"): round(value / 1e9, 3) for key, value in judged["total"].items()}
        print(name, total, [request["ended"] for request in judged["requests"]], flush=True)


if __name__ == "__main__":
    main()
