"""A headless Chromium, and servers of the page in processes of their own. Where there is no Chromium, its tests are skipped."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.looking import LIMIT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
COMMAND = (sys.executable, "-c", "from tracekit.cli.main import main; main()")


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Debian's Chromium, without a window. Not longer than a module needs it: it runs an event loop in which no other can run."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="comes with the extra `dev`")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}; apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@dataclass
class Watched:
    """A page, with all that must not happen while it is looked at."""

    page: "Page"
    hosts: set[str] = field(default_factory=set[str])
    complaints: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.page.set_default_timeout(LIMIT_MS)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.page.on("requestfailed", self._failed)
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def _heard(self, message: "ConsoleMessage") -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _failed(self, request: "Request") -> None:
        # Who leaves a page leaves its open questions too.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.complaints.append(f"failed: {request.url}")

    def _asked(self, request: "Request") -> None:
        self.hosts.add(request.url.split("/")[2] if "://" in request.url else request.url[:40])


@pytest.fixture
def look(browser: "Browser") -> "Iterator[Callable[..., Watched]]":
    """Open a page that fails the test if it complains or asks another host than the one given."""
    with ExitStack() as opened:
        watched: list[tuple[Watched, str]] = []

        def begin(address: str, *, width: int = 1280, scheme: str = "light") -> Watched:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light")
            opened.callback(context.close)
            one = Watched(context.new_page())
            watched.append((one, address.split("/")[2]))
            one.page.goto(address)
            return one

        yield begin
        for one, host in watched:
            assert one.complaints == []
            assert one.hosts <= {host}


@dataclass
class Served:
    """A server of the page."""

    url: str
    store: str
    spool: Path


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Served]]:
    """Start a server with a store and a spool of its own; it ends with the tests."""
    with ExitStack() as running:

        def begin() -> Served:
            return running.enter_context(_serving(tmp_path_factory.mktemp("served")))

        yield begin


@contextmanager
def _serving(folder: Path) -> Generator[Served]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "OTEL_", "TRACEKIT_", "CLAUDE_"))}
    environment = {**kept, "XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    store = str(folder / "store.duckdb")
    command = [*COMMAND, "serve", "--json", "--port", "0", "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or lines[-1] != "}\n":
                lines.append(process.stdout.readline())
                assert lines[-1], "the server ended"
            yield Served(json.loads("".join(lines))["url"], store, folder / "state" / "tracekit" / "spool")
        finally:
            process.terminate()
            process.wait(30)
    shutil.rmtree(folder, ignore_errors=True)
