"""The page and the report with a session of 20,000 spans, in a headless Chromium: first paint, first picture, frames while zooming.

    python benchmarks/page.py [--spans 20000]

Needs Debian's Chromium and the extra `dev`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tracekit.ingest import import_paths
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.spool import Spool

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MS = 1_000_000
SECOND = 1_000 * MS
SESSION = "20000000-0000-4000-8000-000000000000"
TOOLS = ("Bash", "Read", "Grep", "Edit", "mcp__db__query")
TIMELINE = "document.querySelector('.timeline')?.tracekit"
FRAMES = """async () => {
  const timeline = document.querySelector('.timeline').tracekit;
  const frames = [];
  let before = performance.now();
  for (let step = 0; step < 90; step += 1) {
    timeline.zoom(step < 45 ? 0.85 : 1 / 0.85);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return frames;
}"""
PAINT = """async () => {
  const began = performance.now();
  document.querySelector('.timeline').tracekit.paint();
  return performance.now() - began;
}"""


def session(count: int) -> Iterator[Span]:
    """Turns of requests that issue tools, as a long session has them."""
    dice = random.Random(1)  # noqa: S311  (the same session each time)
    at, made, turn = 1_790_000_000 * SECOND, 0, 0
    while made < count:
        turn += 1
        began, key = at, f"turn_{turn}"
        for number in range(dice.randint(3, 12)):
            spans = list(_response(dice, at, f"{turn}_{number}", key))
            yield from spans
            made += len(spans)
            at = max(span.end_ns or 0 for span in spans) + dice.randint(10, 200) * MS
        yield Span(Source.TRANSCRIPT, SESSION, Boundary.TURN, key, began, at, "prompt", attributes={semconv.PROJECT: "/home/user/project"})
        made += 1
        at += dice.randint(5, 90) * SECOND


def _response(dice: random.Random, at: int, name: str, turn: str) -> Iterator[Span]:
    key, first_byte = f"req_{name}", at + dice.randint(300, 3_000) * MS
    ready: list[int] = []
    block_end = first_byte
    for index in range(dice.randint(1, 5)):
        begins, block_end = block_end, block_end + dice.randint(200, 4_000) * MS
        kind = "tool_use" if index else "text"
        yield Span(Source.GATEWAY, SESSION, Boundary.STREAM_EVENT, f"msg_{name}#{index}", begins, block_end, kind, parent_key=key)
        ready += [block_end] if index else []
    told: dict[str, str | int | float | bool] = {
        semconv.FIRST_BYTE_NS: first_byte,
        semconv.RESPONSE_ID: f"msg_{name}",
        semconv.OUTPUT_TOKENS: dice.randint(10, 900),
    }
    yield Span(Source.GATEWAY, SESSION, Boundary.MODEL_REQUEST, key, at, block_end, "example-model-1", parent_key=turn, attributes=told)
    for number, complete in enumerate(ready):
        call, tool, status = f"toolu_{name}_{number}", dice.choice(TOOLS), Status.ERROR if dice.random() < 0.04 else Status.OK  # noqa: PLR2004
        starts = complete + dice.randint(5, 60) * MS
        ends = starts + round(dice.expovariate(1 / 3_000)) * MS
        slack = dice.choice((0, 0, 200 * MS))
        yield Span(Source.OTEL, SESSION, Boundary.TOOL_SCHEDULE, call, complete, ends, tool, parent_key=key, status=status)
        yield Span(
            Source.OTEL, SESSION, Boundary.TOOL_EXECUTION, call, starts, ends, tool, parent_key=call, start_slack_ns=slack, status=status
        )


@contextmanager
def serving(folder: Path, store: str) -> Generator[str]:
    """Run `tracekit serve` over a store."""
    command = [sys.executable, "-c", "from tracekit.cli.main import main; main()", "serve", "--json", "--port", "0", "--store", store]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None  # noqa: S101
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
        try:
            yield str(json.loads("".join(lines))["url"])
        finally:
            process.terminate()


def until(page: Page, expression: str) -> None:
    """Ask a page again and again: its policy lets nobody evaluate text in it as a script."""
    for _ in range(6_000):
        if page.evaluate(f"Boolean({expression})"):
            return
        page.wait_for_timeout(10)
    raise TimeoutError(expression)


def measured(browser: Browser, address: str, name: str) -> dict[str, Any]:
    """Open an address and measure what a person waits for."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    until(page, f"{TIMELINE}?.drawn > 0")
    picture = time.perf_counter() - began
    page.wait_for_load_state("load")
    loaded = time.perf_counter() - began
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    frames = sorted(page.evaluate(FRAMES))
    redraw = page.evaluate(PAINT)
    bars = page.evaluate(f"{TIMELINE}.bars.size")
    page.close()
    return {
        "what": name,
        "bars": bars,
        "first paint ms": round(paint),
        "timeline drawn ms": round(picture * 1000),
        "all parts ms": round(loaded * 1000),
        "zoom frame p50 ms": round(frames[len(frames) // 2], 1),
        "zoom frame p95 ms": round(frames[int(len(frames) * 0.95)], 1),
        "one redraw ms": round(redraw, 1),
    }


def main() -> None:
    """Make the session, open it as a page and as a report, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=20_000)
    spans = parser.parse_args().spans
    with tempfile.TemporaryDirectory(prefix="tracekit-page-") as place, sync_playwright() as playwright:
        folder = Path(place)
        with Spool(folder / "made", "made") as spool:
            for span in session(spans):
                spool.write(span)
        store = str(folder / "store.duckdb")
        print(f"{import_paths([folder / 'made'], store).spans} spans")
        report = folder / "report.html"
        command = [
            sys.executable,
            "-c",
            "from tracekit.cli.main import main; main()",
            "report",
            SESSION,
            "--store",
            store,
            "-o",
            str(report),
        ]
        began = time.perf_counter()
        subprocess.run(command, check=True)
        print(f"report: {time.perf_counter() - began:.1f} s, {report.stat().st_size / 1e6:.1f} MB")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with serving(folder, store) as url:
            address = f"{url}/sessions/{SESSION}"
            rows = [measured(browser, address, "page, first look"), measured(browser, address, "page, again")]
        rows.append(measured(browser, report.as_uri(), "report from a disk"))
        browser.close()
    for row in rows:
        print(", ".join(f"{name}: {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
