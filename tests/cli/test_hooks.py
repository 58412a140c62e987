"""`tracekit hooks`: what is said of installing, undoing and looking."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tracekit.capture.hooks.entries import EVENTS
from tracekit.cli.main import run


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.delenv("TRACEKIT_URL", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("COLUMNS", "250")


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


@pytest.fixture
def endpoint() -> Iterator[str]:
    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}" if self.path == "/hook" else b"hello")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def row(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (found,) = json.loads(said(capsys)[0])["rows"]
    return dict(found)


def test_hooks_are_installed_once_and_undone(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings.parent.mkdir()
    settings.write_text('{\n  "model": "opus"\n}\n')
    assert run(["hooks", "install"]) == 0
    out, err = said(capsys)
    assert f"{len(EVENTS)} hooks in {settings}: changed" in out
    assert "settings.json.before-tracekit" in out
    assert "left out: MessageDisplay, PreModelSwitch, WorktreeCreate" in err
    assert list(json.loads(settings.read_text())["hooks"]) == list(EVENTS)
    assert run(["hooks", "install"]) == 0
    assert "already there" in said(capsys)[0]
    assert run(["hooks", "uninstall"]) == 0
    assert "is again what it was before" in said(capsys)[0]
    assert settings.read_text() == '{\n  "model": "opus"\n}\n'
    assert run(["hooks", "uninstall"]) == 0
    assert "no hooks of tracekit in" in said(capsys)[0]


def test_a_file_that_was_not_there_goes_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "project" / ".claude" / "settings.local.json"
    assert run(["hooks", "install", "--scope", "local", "--json"]) == 0
    assert row(capsys) == {"scope": "local", "path": str(path), "change": "created", "type": "command", "events": list(EVENTS)}
    assert run(["hooks", "uninstall", "--scope", "local"]) == 0
    assert "was not there before and is removed" in said(capsys)[0]
    assert not path.exists()


def test_changes_of_others_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "project" / ".claude" / "settings.json"
    assert run(["hooks", "install", "--scope", "project"]) == 0
    path.write_text(path.read_text().replace("{", '{"model": "opus",', 1))
    said(capsys)
    assert run(["hooks", "uninstall", "--scope", "project", "--json"]) == 0
    assert row(capsys)["change"] == "changed"
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_only_the_events_named(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hooks", "install", "--events", "Stop, EventOfTheFuture"]) == 0
    assert list(json.loads(settings.read_text())["hooks"]) == ["Stop", "EventOfTheFuture"]
    assert "left out" not in said(capsys)[1]
    assert run(["hooks", "install", "--events", "Stop,WorktreeCreate"]) == 2
    assert "tracekit explain hook-event-refused" in said(capsys)[1]
    assert list(json.loads(settings.read_text())["hooks"]) == ["Stop", "EventOfTheFuture"]


@pytest.mark.parametrize(
    ("environment", "options", "url"),
    [
        ({}, [], "http://127.0.0.1:4318/hook"),
        ({"TRACEKIT_URL": "http://127.0.0.1:5000/"}, [], "http://127.0.0.1:5000/hook"),
        ({"TRACEKIT_URL": "http://127.0.0.1:5000"}, ["--url", "https://traces.example/hook"], "https://traces.example/hook"),
    ],
)
def test_http_hooks_go_to_the_server(
    settings: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], options: list[str], url: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run(["hooks", "install", "--type", "http", *options]) == 0
    (group,) = json.loads(settings.read_text())["hooks"]["Stop"]
    (hook,) = group["hooks"]
    assert (hook["type"], hook["url"], hook["headers"]) == ("http", url, {"X-Tracekit-Token": "$TRACEKIT_TOKEN"})


def test_a_url_is_for_http_hooks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hooks", "install", "--url", "http://h/hook"]) == 2
    assert "is for --type http" in said(capsys)[1]


def test_settings_with_comments_are_kept_and_their_reader_is_warned(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings.parent.mkdir()
    settings.write_text('{\n  // mine\n  "model": "opus"\n}\n')
    assert run(["hooks", "install"]) == 0
    assert "Claude Code reads no comments in settings" in said(capsys)[1]
    assert "// mine" in settings.read_text()


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_settings_that_cannot_be_read_are_an_error_with_a_page(settings: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings.parent.mkdir()
    settings.write_text("{")
    assert run(["hooks", command]) == 2
    assert "tracekit explain settings-malformed" in said(capsys)[1]
    assert settings.read_text() == "{"


def statuses(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    return {found["scope"]: found for found in json.loads(said(capsys)[0])["rows"]}


def test_the_status_tells_what_is_where_and_whether_it_works(endpoint: str, settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hooks", "status", "--json"]) == 0
    assert [(found["hooks"], found["works"], found["found"]) for found in statuses(capsys).values()] == [(0, None, "no such file")] * 3
    run(["hooks", "install", "--type", "http", "--url", f"{endpoint}/hook"])
    run(["hooks", "install", "--scope", "local", "--events", "Stop,PreToolUse"])
    said(capsys)
    assert run(["hooks", "status", "--json"]) == 0
    found = statuses(capsys)
    user, local = found["user"], found["local"]
    assert (user["path"], user["hooks"], user["kind"], user["target"]) == (str(settings), len(EVENTS), "http", f"{endpoint}/hook")
    assert (user["works"], user["found"]) == (True, "the endpoint answers")
    assert (local["hooks"], local["kind"], local["works"]) == (2, "command", True)
    assert "not at SessionStart" in local["found"]
    assert "records go to" in local["found"]


@pytest.mark.parametrize(
    ("url", "says"),
    [("{endpoint}/other", "something else answers there"), ("http://127.0.0.1:9/hook", "does not answer"), ("nonsense", "does not answer")],
)
def test_an_endpoint_that_is_not_there_is_told_and_is_an_exit_code(
    endpoint: str, url: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["hooks", "install", "--type", "http", "--url", url.format(endpoint=endpoint)])
    said(capsys)
    assert run(["hooks", "status", "--json"]) == 1
    assert says in statuses(capsys)["user"]["found"]


def test_a_command_that_is_gone_is_told(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["hooks", "install"])
    hooks = json.loads(settings.read_text())
    for groups in hooks["hooks"].values():
        groups[0]["hooks"][0] |= {"command": "/nowhere/tracekit-hook", "args": []}
    settings.write_text(json.dumps(hooks))
    said(capsys)
    assert run(["hooks", "status"]) == 1
    assert "there is no such command: install again" in said(capsys)[0]
