"""Settings files get hooks, and are again what they were."""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture.hooks.test_jsonc import written
from tracekit.capture.hooks.entries import EVENTS, command_hooks, http_hooks, is_ours
from tracekit.capture.jsonc import parse
from tracekit.capture.settings import BACKUP, Change, Scope, has_comments, install, installed, settings_path, uninstall
from tracekit.errors import TracekitError

HOOKS = command_hooks(EVENTS, command="/opt/tracekit-hook")
SOME = {
    "//": "a key that nobody knows",
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./gate.sh"}]}], "Stop": []},
    "model": "opus",
}
OTHERS = [{"hooks": [{"type": "command", "command": "x"}]}]
COMMENTED = """\
// mine
{
    "model": "opus", // the good one
    /* not yet:
    "effort": "max", */
    "hooks": {
        // asks first
        "PreToolUse": [{ "matcher": "Bash", "hooks": [ {"type": "command", "command": "./gate.sh"}, ] }],
    },
    "permissions": { "allow": [] }  // none
}
// end
"""


def read(path: Path) -> Any:
    return parse(path.read_text(encoding="utf-8-sig")).read()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".claude" / "settings.json"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


TEXTS = {
    "pretty": json.dumps(SOME, indent=2) + "\n",
    "on one line": json.dumps(SOME),
    "tabs and CRLF": json.dumps(SOME, indent="\t").replace("\n", "\r\n"),
    "comments": COMMENTED,
    "byte order mark": "\ufeff" + json.dumps(SOME, indent=4),
    "empty object": "{}",
    "empty object on lines": "{\n\n}\n",
    "empty file": "",
    "blank file": " \n",
    "empty hooks": '{"hooks": {}}\n',
    "comment in empty hooks": '{\n  "hooks": {\n    // none yet\n  }\n}\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hooks_go_in_beside_what_is_there_and_come_out_without_a_trace(path: Path, text: str) -> None:
    write(path, text)
    before = everything(path.parent)
    assert install(path, HOOKS, is_ours) is Change.CHANGED
    assert path.with_name(path.name + BACKUP).read_bytes() == before["settings.json"]
    assert path.read_text().startswith("\ufeff") == text.startswith("\ufeff")
    after = read(path)
    known: Any = parse(text.removeprefix("\ufeff")).read() if text.strip() else {}
    assert {event for event, groups in after["hooks"].items() if {"hooks": [HOOKS.get(event)]} in groups} == set(EVENTS)
    for event, groups in known.get("hooks", {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert list(after)[: len(known)] == list(known)
    assert {name: value for name, value in after.items() if name != "hooks"} == {
        name: value for name, value in known.items() if name != "hooks"
    }
    assert uninstall(path, is_ours) is Change.RESTORED
    assert everything(path.parent) == before


@settings(max_examples=60)
@given(
    st.data(),
    st.dictionaries(st.sampled_from(["model", "env", "x"]), st.integers() | st.lists(st.text(max_size=3), max_size=2), max_size=3),
    st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "Unknown"]), st.just(OTHERS), max_size=3),
    st.booleans(),
)
def test_any_file_is_restored_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    others: dict[str, object],
    hooks: dict[str, object],
    has_hooks: bool,  # noqa: FBT001
) -> None:
    value = {**others, "hooks": hooks} if has_hooks else others
    path = tmp_path_factory.mktemp("any") / "settings.json"
    write(path, data.draw(written(value)))
    before = everything(path.parent)
    install(path, HOOKS, is_ours)
    assert len(installed(path, is_ours)) == len(HOOKS)
    again = everything(path.parent)
    assert install(path, HOOKS, is_ours) is Change.NONE
    assert everything(path.parent) == again
    uninstall(path, is_ours)
    assert everything(path.parent) == before


def test_a_file_that_was_not_there_is_removed_again(path: Path) -> None:
    assert install(path, HOOKS, is_ours) is Change.CREATED
    assert list(everything(path.parent)) == ["settings.json"]
    assert list(read(path)["hooks"]) == list(EVENTS)
    assert uninstall(path, is_ours) is Change.REMOVED
    assert everything(path.parent) == {}
    assert uninstall(path, is_ours) is Change.NONE


def test_installing_twice_is_installing_once_and_another_type_takes_the_place(path: Path) -> None:
    write(path, TEXTS["pretty"])
    before = everything(path.parent)
    install(path, HOOKS, is_ours)
    assert install(path, HOOKS, is_ours) is Change.NONE
    assert install(path, http_hooks(EVENTS, "http://127.0.0.1:4318/hook"), is_ours) is Change.CHANGED
    placed = {event: hook["type"] for event, hook in installed(path, is_ours)}
    assert placed == dict.fromkeys(EVENTS, "http") | {"SessionStart": "command", "Setup": "command"}
    assert install(path, command_hooks(["Stop"], command="/opt/tracekit-hook"), is_ours) is Change.CHANGED
    assert [event for event, _ in installed(path, is_ours)] == ["Stop"]
    assert uninstall(path, is_ours) is Change.RESTORED
    assert everything(path.parent) == before


@pytest.mark.parametrize("text", ["", *TEXTS.values()], ids=["no file", *TEXTS])
def test_what_somebody_changed_meanwhile_stays(path: Path, text: str) -> None:
    if text:
        write(path, text)
    known: Any = (parse(text.removeprefix("\ufeff")).read() if text.strip() else None) or {}
    install(path, HOOKS, is_ours)
    changed = path.read_text().replace("{", '{ "new": [1], ', 1)
    write(path, changed)
    assert uninstall(path, is_ours) is Change.CHANGED
    left: Any = parse(path.read_text().removeprefix("\ufeff")).read()
    # What ours leave empty goes with them.
    hooks = {event: groups for event, groups in known.get("hooks", {}).items() if groups}
    assert left.pop("hooks", {}) == hooks
    assert left == {"new": [1], **{name: value for name, value in known.items() if name != "hooks"}}
    assert installed(path, is_ours) == []


def test_a_hook_of_ours_that_was_moved_is_found(path: Path) -> None:
    mine = {"type": "command", "command": "mine"}
    value = {"hooks": {"Stop": [{"matcher": "", "hooks": [mine, {"type": "command", "command": "/old/bin/tracekit-hook"}, mine]}]}}
    write(path, json.dumps(value, indent=2))
    assert uninstall(path, is_ours) is Change.CHANGED
    assert read(path) == {"hooks": {"Stop": [{"matcher": "", "hooks": [mine, mine]}]}}


def test_a_symbolic_link_stays_one(tmp_path: Path, path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "claude.json", TEXTS["pretty"])
    real.chmod(0o640)
    path.parent.mkdir()
    path.symlink_to(real)
    install(path, HOOKS, is_ours)
    assert path.is_symlink()
    assert len(installed(real, is_ours)) == len(HOOKS)
    assert real.stat().st_mode & 0o777 == 0o640
    assert not list(real.parent.glob("*" + BACKUP))
    uninstall(path, is_ours)
    assert path.is_symlink()
    assert real.read_text() == TEXTS["pretty"]


def is_command(hook: Mapping[str, object]) -> bool:
    return hook.get("type") == "command"


def test_a_read_only_file_is_left_alone(path: Path) -> None:
    write(path, TEXTS["pretty"]).chmod(0o444)
    before = everything(path.parent)
    for attempt in (partial(install, path, HOOKS, is_ours), partial(uninstall, path, is_command)):
        with pytest.raises(TracekitError, match="is read-only; nothing was changed") as caught:
            attempt()
        assert caught.value.slug == "settings-read-only"
        assert everything(path.parent) == before


def test_a_folder_that_cannot_be_written_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, TEXTS["pretty"])
    before = everything(path.parent)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tracekit.capture.settings.tempfile.mkstemp", refuse)
    with pytest.raises(TracekitError, match="cannot be written") as caught:
        install(path, HOOKS, is_ours)
    assert caught.value.slug == "settings-read-only"
    assert everything(path.parent) == before


def test_a_write_that_breaks_off_leaves_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, TEXTS["pretty"])
    fsync = os.fsync
    calls: list[int] = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 1:  # the backup can still be written
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TracekitError, match="No space left"):
        install(path, HOOKS, is_ours)
    assert path.read_text() == TEXTS["pretty"]
    assert not list(path.parent.glob(".settings*"))


def test_a_file_that_changes_under_the_command_is_left_to_whoever_changed_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, TEXTS["pretty"])
    monkeypatch.setattr("tracekit.capture.settings._check_writable", partial(write, text="{}"))
    with pytest.raises(TracekitError, match="by somebody else meanwhile") as caught:
        install(path, HOOKS, is_ours)
    assert caught.value.slug == "settings-changed"
    assert path.read_text() == "{}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"{", "no JSON .line 1."),
        (b'{\n"a": 1\n"b": 2}', "no JSON .line 3."),
        (b"[]", "it holds no object"),
        (b'{"hooks": []}', "no object of lists"),
        (b'{"hooks": {"Stop": {}}}', "no object of lists"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_cannot_be_read_is_not_touched(path: Path, text: bytes, says: str) -> None:
    write(path, text)
    with pytest.raises(TracekitError, match=says) as caught:
        install(path, HOOKS, is_ours)
    assert caught.value.slug == "settings-malformed"
    assert everything(path.parent) == {"settings.json": text}


def test_comments_are_told_from_json(path: Path) -> None:
    assert has_comments(write(path, COMMENTED))
    assert not has_comments(write(path, TEXTS["byte order mark"]))
    assert not has_comments(write(path, ""))


def test_each_scope_has_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/demo")
    assert settings_path(Scope.USER, {}, tmp_path) == Path("/home/demo/.claude/settings.json")
    assert settings_path(Scope.USER, {"CLAUDE_CONFIG_DIR": "/etc/claude"}, tmp_path) == Path("/etc/claude/settings.json")
    assert settings_path(Scope.PROJECT, {}, tmp_path) == tmp_path / ".claude" / "settings.json"
    assert settings_path(Scope.LOCAL, {}, tmp_path) == tmp_path / ".claude" / "settings.local.json"
