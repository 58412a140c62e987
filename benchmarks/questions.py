"""Questions to a large store: one session's timeline out of 100,000, overlap over 10 million spans.

    python benchmarks/questions.py [--sessions 100000] [--store FILE]

The store is made by the engine itself: sessions of 100 spans, ten responses each with two tools that start at their block's
completion, with the attributes that witnesses give. Beside each question stands what somebody would write over the same table who knows
one witness and no slack: for the timeline a filter by session, for the overlap a join of each tool with its response and the sum
of what they share (twice counted where tools overlap).
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import duckdb

from tracekit.analysis.overlap import overlap
from tracekit.analysis.scope import Scope
from tracekit.analysis.timeline import timeline
from tracekit.store import SpanStore, open_store

RESPONSES: Final = 10
FILL: Final = """
INSERT INTO spans
WITH session AS (
    SELECT i AS n, printf('%08x-0000-4000-8000-000000000000', i) AS id, 1760000000000000000 + i * 10000000000 AS t0
    FROM range($first, $last) AS r(i)
),
response AS (SELECT session.*, k, t0 + k * 900000000 AS s FROM session, range($responses) AS r(k)),
tool AS (SELECT response.*, j FROM response, range(2) AS r(j)),
rows AS (
    SELECT id, NULL AS agent, 'session' AS boundary, id AS key, NULL AS parent, '' AS name, t0 AS s, t0 + 9000000000 AS e,
        MAP {'tracekit.project': '/p', 'tracekit.client.version': '2.1.300'} AS attributes FROM session
    UNION ALL
    SELECT id, NULL, 'turn', 'p_' || id, id, '', t0, t0 + 9000000000, MAP {'tracekit.turn.kind': 'prompt'} FROM session
    UNION ALL
    SELECT id, NULL, 'model_request', printf('req_%x_%d', n, k), 'p_' || id, 'claude-sonnet-4-5', s, s + 600000000,
        MAP {'gen_ai.response.id': printf('msg_%x_%d', n, k), 'gen_ai.usage.output_tokens': '100', 'gen_ai.usage.input_tokens': '10',
            'tracekit.response.last_block_ns': CAST(s + 590000000 AS VARCHAR), 'tracekit.response.eager_tools': 'true'}
    FROM response
    UNION ALL
    SELECT id, NULL, 'stream_event', printf('msg_%x_%d#%d', n, k, j), printf('req_%x_%d', n, k), 'tool_use', s + 100000000,
        s + 200000000 + j * 100000000, MAP {'tracekit.block.type': 'tool_use', 'tracekit.block.index': CAST(j AS VARCHAR)} FROM tool
    UNION ALL
    SELECT id, NULL, 'tool_schedule', printf('toolu_%x_%d_%d', n, k, j), printf('req_%x_%d', n, k), 'Bash',
        s + 200000000 + j * 100000000, s + 700000000, MAP {'gen_ai.tool.name': 'Bash', 'tracekit.tool.input_size': '200'} FROM tool
    UNION ALL
    SELECT id, NULL, 'tool_execution', printf('toolu_%x_%d_%d', n, k, j), printf('toolu_%x_%d_%d', n, k, j), 'Bash',
        s + 200000000 + j * 100000000, s + 700000000, MAP {'gen_ai.tool.name': 'Bash', 'tracekit.tool.result_size': '900'} FROM tool
    UNION ALL
    SELECT id, NULL, 'hook_reply', printf('hook_%x_%d_%d', n, k, j), printf('toolu_%x_%d_%d', n, k, j), 'PreToolUse:Bash',
        s + 700000000, s + 710000000, MAP {'tracekit.hook.event': 'PostToolUse', 'tracekit.hook.name': 'x'} FROM tool
)
SELECT 1, 0, 'otel', id, agent, boundary, key, parent, name, s, 0, e, 0, 'ok', attributes, NULL FROM rows ORDER BY id, s
"""
PLAIN_TIMELINE: Final = "SELECT boundary, key, name, start_ns, end_ns, status FROM spans WHERE session_id = $session_id ORDER BY start_ns"
PLAIN_OVERLAP: Final = """
SELECT r.session_id, r.key, SUM(GREATEST(0, LEAST(r.end_ns, e.end_ns) - GREATEST(r.start_ns, e.start_ns))) AS hidden_ns
FROM spans AS e
JOIN spans AS s ON s.session_id = e.session_id AND s.key = e.key AND s.boundary = 'tool_schedule'
JOIN spans AS r ON r.session_id = s.session_id AND r.key = s.parent_key AND r.boundary = 'model_request'
WHERE e.boundary = 'tool_execution'
GROUP BY r.session_id, r.key
"""


def fill(path: Path, sessions: int) -> None:
    """Make a store, and let the engine put its rows into it."""
    with open_store(str(path), write=True):
        pass
    with duckdb.connect(str(path)) as engine:
        for first in range(0, sessions, 10_000):
            engine.execute(FILL, {"first": first, "last": min(sessions, first + 10_000), "responses": RESPONSES})


def took(ask: Callable[[], int], times: int) -> tuple[float, int]:
    """The median of several runs in seconds, and how many rows came."""
    found: list[float] = []
    rows = 0
    for _ in range(times):
        began = time.perf_counter()
        rows = ask()
        found.append(time.perf_counter() - began)
    return statistics.median(found), rows


def measure(store: SpanStore, sessions: int) -> None:
    """Ask, and print."""
    session = f"{sessions // 2:08x}-0000-4000-8000-000000000000"
    (total,) = store.rows("SELECT COUNT(*) AS spans FROM spans")
    print(f"{total['spans']:,} spans in {sessions:,} sessions")
    plain, _ = took(lambda: len(store.rows(PLAIN_TIMELINE, session_id=session)), 7)
    ours, rows = took(lambda: len(timeline(store, Scope(session))), 7)
    print(f"  timeline of one session  {ours * 1e3:8.0f} ms  {ours / plain:6.1f} times a plain filter ({plain * 1e3:.0f} ms)  {rows} rows")
    plain, _ = took(lambda: len(store.rows(PLAIN_OVERLAP)), 1)
    ours, rows = took(lambda: len(overlap(store, Scope(None))), 1)
    print(f"  overlap of all           {ours:8.1f} s   {ours / plain:6.1f} times a plain join ({plain:.1f} s)  {rows:,} rows")


def main() -> None:
    """Fill a store, and ask it."""
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=100_000)
    options.add_argument("--store", type=Path, help="keep the store here, or use the one that is here")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.store or Path(folder) / "store.duckdb"
        if not path.exists():
            fill(path, chosen.sessions)
        with open_store(str(path)) as store:
            measure(store, chosen.sessions)


if __name__ == "__main__":
    main()
