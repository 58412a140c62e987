"""Import of 164 MB of transcripts: cold, unchanged, and grown by one line, beside what a user would do instead.

    python benchmarks/import.py [--sessions FOLDER] [--copies 10] [--runs 3]

FOLDER holds real sessions (`*.jsonl`, sub-agents in their own folders; `.xz` files are unpacked). Each copy gets ids of its own,
so that nothing is taken for a fork. Without FOLDER the sessions of the tests are copied until they make the same amount.

Beside it, in the same run and as ratios: DuckDB's own `read_json` into a table (what somebody with a SQL shell would type), and
`json.loads` over every line (the least that any Python program does). Whole processes are timed, the median of the runs is told.
"""

import argparse
import lzma
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = "import sys; from tracekit.cli.main import run; sys.exit(run(['import', sys.argv[1], '--store', sys.argv[2]]))"
DUCKDB = """
import duckdb, sys
connection = duckdb.connect(sys.argv[2])
connection.execute(
    "CREATE TABLE lines AS SELECT * FROM read_json(?, format = 'newline_delimited', columns = {type: 'VARCHAR', uuid: 'VARCHAR',"
    " sessionId: 'VARCHAR', timestamp: 'VARCHAR', message: 'JSON', data: 'JSON', toolUseResult: 'JSON'}, maximum_object_size = 16777216)",
    [sys.argv[1] + "/**/*.jsonl"],
)
"""
JSON = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb") as handle:
        for line in handle:
            json.loads(line)
"""
_ID = re.compile(rb"(?<=[\"_])(?=(?:[0-9a-f]{8}-[0-9a-f]{4}|01[A-Za-z0-9]{20}))")


def main() -> None:
    """Measure and print a table."""
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=Path)
    options.add_argument("--copies", type=int, default=10)
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "sessions"
        size = copy(chosen.sessions or Path(__file__).parent.parent / "tests" / "data" / "transcripts", folder, chosen.copies)
        print(f"{size / 1e6:.0f} MB in {len(list(folder.rglob('*.jsonl')))} files, {chosen.runs} runs, medians")
        measure(folder, Path(name), chosen.runs)


def measure(folder: Path, place: Path, runs: int) -> None:
    """Time each way, a fresh store each time, in turns, so that a busy machine is busy for all."""
    cold: list[float] = []
    others: dict[str, list[float]] = {"duckdb read_json": [], "json.loads": []}
    unchanged: list[float] = []
    grown: list[float] = []
    for number in range(runs):
        store = place / f"ours-{number}.duckdb"
        cold.append(seconds(OURS, folder, store))
        others["duckdb read_json"].append(seconds(DUCKDB, folder, place / f"theirs-{number}.duckdb"))
        others["json.loads"].append(seconds(JSON, folder, store))
        unchanged.append(seconds(OURS, folder, store))
        largest = max(folder.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
        with largest.open("ab") as handle:
            handle.write(b'{"type":"summary","summary":"s","leafUuid":"l"}\n')
        grown.append(seconds(OURS, folder, store))
    ours = statistics.median(cold)
    print(f"{'cold import':<28}{ours:8.2f} s   (min {min(cold):.2f}, max {max(cold):.2f})")
    for name, times in others.items():
        theirs = statistics.median(times)
        print(f"{name:<28}{theirs:8.2f} s   ours / theirs {ours / theirs:.2f}")
    print(f"{'again, nothing changed':<28}{statistics.median(unchanged):8.2f} s")
    print(f"{'again, one file grew':<28}{statistics.median(grown):8.2f} s")


def seconds(program: str, folder: Path, store: Path) -> float:
    """Wall time of a whole process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, str(folder), str(store)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def copy(source: Path, target: Path, copies: int) -> int:
    """Copy sessions with ids of their own; give the bytes written."""
    size = 0
    for path in sorted(source.rglob("*.jsonl*")):
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        for number in range(copies):
            mark = b"%02d" % number
            again = _ID.sub(mark, data)
            name = path.relative_to(source).with_suffix("") if path.suffix == ".xz" else path.relative_to(source)
            place = target / f"copy-{number}" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(again)
            size += len(again)
    return size


if __name__ == "__main__":
    main()
