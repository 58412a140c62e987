"""Claude Code's settings files: put hooks of ours in, take them out, and leave everything else as it was, byte for byte.

Nothing is remembered beside the backup: what a file would be if ours were put into the backup is computed again, and where the file is
that, nobody has changed it since.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracekit.capture.jsonc import MalformedError, Value, insert, parse, remove
from tracekit.errors import TracekitError

Hook = dict[str, Any]
IsOurs = Callable[[Mapping[str, Any]], bool]

BACKUP: Final = ".before-tracekit"
"""What the name of a backup ends with."""

_BOM: Final = "\ufeff"


class Scope(StrEnum):
    """Whose settings."""

    USER = "user"
    """Of all sessions of this user."""
    PROJECT = "project"
    """Of all sessions in this folder, by whomever: the file is shared."""
    LOCAL = "local"
    """Of this user's sessions in this folder."""


class Change(StrEnum):
    """What became of a file."""

    NONE = "unchanged"
    CREATED = "created"
    CHANGED = "changed"
    RESTORED = "restored"
    """It is again what it was, byte for byte."""
    REMOVED = "removed"
    """It was not there before, and is not there now."""


class Placed(NamedTuple):
    """A hook of ours in a file."""

    event: str
    hook: Mapping[str, Any]


def settings_path(scope: Scope, environment: Mapping[str, str], folder: Path) -> Path:
    """Where the settings of a scope are: of the user, or of the project in `folder`."""
    if scope is Scope.USER:
        configured = environment.get("CLAUDE_CONFIG_DIR")
        return (Path(configured) if configured else Path.home() / ".claude") / "settings.json"
    return folder / ".claude" / ("settings.json" if scope is Scope.PROJECT else "settings.local.json")


def install(path: Path, hooks: Mapping[str, Hook], is_ours: IsOurs) -> Change:
    """Put one hook an event into a file, in the place of those of ours that are there. A backup of the file is kept beside it.

    Raises:
        TracekitError: `settings-malformed`, `settings-read-only` or `settings-changed`. The file is as it was.
    """
    current = _read(path)
    original = _without(path, current, is_ours)
    wanted = _with(path, original, hooks)
    if wanted == current:
        return Change.NONE
    _check_writable(path)
    _write_or_delete(_backup(path), original)
    _replace(path, current, wanted)
    return Change.CREATED if current is None else Change.CHANGED


def uninstall(path: Path, is_ours: IsOurs) -> Change:
    """Take every hook of ours out of a file. Where nothing else was changed since they were put in, it is again what it was.

    Raises:
        TracekitError: `settings-malformed`, `settings-read-only` or `settings-changed`. The file is as it was.
    """
    current = _read(path)
    original = _without(path, current, is_ours)
    if original == current:
        return Change.NONE
    _check_writable(path)
    is_exact = original is None or original == _read(_backup(path))
    _replace(path, current, original)
    if is_exact:
        _write_or_delete(_backup(path), None)
    return Change.REMOVED if original is None else Change.RESTORED if is_exact else Change.CHANGED


def installed(path: Path, is_ours: IsOurs) -> list[Placed]:
    """The hooks of ours that a file holds.

    Raises:
        TracekitError: `settings-malformed` or `settings-read-only`.
    """
    current = _read(path)
    return [] if current is None else _found(parse(_decoded(path, current)[1]), is_ours)


def has_comments(path: Path) -> bool:
    """Whether a file has comments, or commas too many, which Claude Code does not read: it passes over the whole file."""
    current = _read(path)
    try:
        json.loads(_decoded(path, current or b"{}")[1])
    except ValueError:
        return True
    return False


# Text


def _decoded(path: Path, data: bytes) -> tuple[str, str]:
    """The byte order mark of a file, and its text, which holds at least an empty object."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _malformed(path, "it is not UTF-8") from error
    mark = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    try:
        root = parse(text if text.strip() else "{}\n")
    except (MalformedError, RecursionError) as error:
        raise _malformed(path, f"it is no JSON ({error or 'nested too deeply'})") from error
    _check_shape(path, root)
    return mark, text if text.strip() else "{}\n"


def _check_shape(path: Path, root: Value) -> None:
    if root.members is None:
        raise _malformed(path, "it holds no object")
    hooks = root.member("hooks")
    if hooks is not None and (hooks.members is None or any(member.value.items is None for member in hooks.members)):
        raise _malformed(path, "its `hooks` are no object of lists")


def _malformed(path: Path, why: str) -> TracekitError:
    return TracekitError(f"{path} was not touched: {why}; correct it first", slug="settings-malformed")


def _with(path: Path, data: bytes | None, hooks: Mapping[str, Hook]) -> bytes:
    """A file's content with ours.

    Events that the file has come first: so the same hooks give the same text, in whichever order they are named.
    """
    mark, text = _decoded(path, data or b"")
    there = parse(text).member("hooks")
    known = [member.name for member in (there.members if there else None) or ()]
    for event, hook in sorted(hooks.items(), key=lambda named: known.index(named[0]) if named[0] in known else len(known)):
        root = parse(text)
        group = {"hooks": [hook]}
        if (events := root.member("hooks")) is None:
            text = insert(text, root, {event: [group]}, name="hooks")
        elif (groups := events.member(event)) is None:
            text = insert(text, events, [group], name=event)
        else:
            text = insert(text, groups, group)
    return (mark + text).encode()


def _without(path: Path, data: bytes | None, is_ours: IsOurs) -> bytes | None:
    """What a file's content was before ours; None where there was no file."""
    if data is None:
        return None
    mark, text = _decoded(path, data)
    placed = _found(parse(text), is_ours)
    if not placed:
        return data
    hooks = {event: dict(hook) for event, hook in placed}
    backup = _read(_backup(path))
    for before in (backup, None):
        with suppress(TracekitError):
            if (before is not None or backup is None) and _with(path, before, hooks) == data:
                return before
    while spot := next(_spots(parse(text), is_ours), None):
        text = _take_out(text, spot)
    return (mark + text).encode()


class _Spot(NamedTuple):
    """Where a hook of ours stands: in its group, the group in those of its event, the event in the hooks."""

    root: Value
    events: Value
    event: int
    groups: Value
    group: int
    hooks: Value
    hook: int


def _spots(root: Value, is_ours: IsOurs) -> Iterator[_Spot]:
    events = root.member("hooks")
    for event, member in enumerate(events.members or () if events else ()):
        for group, value in enumerate(member.value.items or ()):
            hooks = value.member("hooks")
            for number, hook in enumerate(hooks.items or () if hooks else ()):
                said: Any = hook.read()
                if events and hooks and hook.members is not None and is_ours(said):
                    yield _Spot(root, events, event, member.value, group, hooks, number)


def _take_out(text: str, spot: _Spot) -> str:
    """Take a hook out, and what it would leave empty: its group, its event, the hooks."""
    if len(spot.hooks.items or ()) > 1:
        return remove(text, spot.hooks, spot.hook)
    if len(spot.groups.items or ()) > 1:
        return remove(text, spot.groups, spot.group)
    if len(spot.events.members or ()) > 1:
        return remove(text, spot.events, spot.event)
    return remove(text, spot.root, [member.name for member in spot.root.members or ()].index("hooks"))


def _found(root: Value, is_ours: IsOurs) -> list[Placed]:
    found: list[Placed] = []
    for spot in _spots(root, is_ours):
        hook: Any = (spot.hooks.items or ())[spot.hook].read()
        found.append(Placed((spot.events.members or ())[spot.event].name, hook))
    return found


# Files


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _forbidden(path, f"cannot be read ({error.strerror})") from error


def _forbidden(path: Path, why: str) -> TracekitError:
    return TracekitError(
        f"{path} {why}; nothing was changed. Change its owner or mode, or choose another --scope", slug="settings-read-only"
    )


def _check_writable(path: Path) -> None:
    """A file that was made read-only is left alone, also where it could be replaced all the same."""
    real = path.resolve()
    if real.exists() and not (real.stat().st_mode & 0o222 and os.access(real, os.W_OK)):
        raise _forbidden(path, "is read-only")


def _replace(path: Path, expected: bytes | None, data: bytes | None) -> None:
    if _read(path) != expected:
        message = f"{path} was changed by somebody else meanwhile; nothing was done, run the command again"
        raise TracekitError(message, slug="settings-changed")
    _write_or_delete(path, data)


def _write_or_delete(path: Path, data: bytes | None) -> None:
    """Let a file have this content, or not be there, at once: nobody sees half of it. A symbolic link stays one."""
    real = path.resolve()
    try:
        if data is None:
            real.unlink(missing_ok=True)
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        _write(real, data)
    except OSError as error:
        raise _forbidden(path, f"cannot be written ({error.strerror})") from error


def _write(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        Path(name).chmod(mode)
        if path.exists():
            # Only root can give a file away, and only root needs to.
            with suppress(PermissionError):
                os.chown(name, path.stat().st_uid, path.stat().st_gid)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
