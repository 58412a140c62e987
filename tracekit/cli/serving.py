"""The server that runs on this machine, as other commands find it: a small file in the state folder, and what a shell is to export."""

import json
import os
import shlex
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from tracekit.capture import environment
from tracekit.model import Column, Finding
from tracekit.spool import spool_folder

_ANSWER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Address:
    """A server that clients can come by."""

    url: str
    pid: int = 0
    grpc_port: int | None = None
    token: str | None = None
    upstream: str | None = None
    store: str | None = None
    content: bool = False


@dataclass(frozen=True, slots=True)
class Variable(Finding):
    """One line to export."""

    name: Annotated[str, Column("Name")]
    value: Annotated[str, Column("Value")]


def variables(server: Address, shell: Mapping[str, str]) -> list[Variable]:
    """What a shell must export so that what is started from it comes by a server."""
    way = environment.route(shell)
    before = dict(shell) if server.upstream is None else {**shell, way.variable: server.upstream}
    found = environment.variables(
        before, url=server.url, spool=str(spool_folder()), store=server.store, content=server.content, token=server.token
    )
    return [Variable(name, value) for name, value in found.items()]


def spelt(found: list[Variable], shell: str) -> str:
    """Write variables in the words of a shell: `sh`, `fish`, or `json` for programs."""
    if shell == "json":
        return json.dumps({one.name: one.value for one in found}, indent=2)
    if shell == "fish":
        return "\n".join(f"set -gx {one.name} {_fish(one.value)}" for one in found)
    return "\n".join(f"export {one.name}={shlex.quote(one.value)}" for one in found)


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# The file


def state_path() -> Path:
    """Where a server says that it runs."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tracekit" / "server.json"


@contextmanager
def announced(server: Address) -> Generator[None]:
    """Say that a server runs, as long as the block lasts. The file holds its token, so it is its owner's only."""
    path = state_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_suffix(f".{os.getpid()}")
    new.touch(mode=0o600)
    new.write_text(json.dumps(asdict(server)), encoding="utf-8")
    new.replace(path)
    try:
        yield
    finally:
        # Another server may have spoken since.
        if _read() == server:
            path.unlink(missing_ok=True)


def running() -> Address | None:
    """The server that runs on this machine; None where none does, whatever a dead one has left behind."""
    found = _read()
    return found if found is not None and _is_alive(found.pid) and _answers(found.url) else None


def _read() -> Address | None:
    try:
        return Address(**json.loads(state_path().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return pid > 0


def _answers(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=_ANSWER_SECONDS):
            return True
    except OSError:
        return False
