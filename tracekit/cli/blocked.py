"""What a process is blocked in reading: Linux tells it in /proc, other systems do not."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TERMINAL: Final = "terminal"
INPUT: Final = "input"

_PROC: Final = Path("/proc")
_READS: Final = {"x86_64": frozenset({0, 19}), "aarch64": frozenset({63, 65})}
"""Numbers of the system calls read and readv."""
_WAITS: Final = {"x86_64": frozenset({7, 23, 270, 271}), "aarch64": frozenset({72, 73})}
"""Numbers of poll, select, pselect6 and ppoll: editors and password prompts wait so for a key."""
_TERMINALS: Final = ("/dev/tty", "/dev/pts/", "/dev/console")


def read_by(pid: int) -> str:
    """Give `terminal` where a process waits for somebody to type, `input` where it reads a pipe that nobody writes to, else nothing."""
    call = _call(pid)
    machine = platform.machine()
    if call is None:
        return ""
    number, first = call
    if number in _READS.get(machine, ()):
        return _kind(pid, first)
    is_waiting = number in _WAITS.get(machine, ())
    return TERMINAL if is_waiting and _target(pid, 0).startswith(_TERMINALS) else ""


def _call(pid: int) -> tuple[int, int] | None:
    """Number of the system call that a process is in, and its first argument."""
    try:
        words = (_PROC / str(pid) / "syscall").read_text(encoding="ascii").split()
        return int(words[0]), int(words[1], 16)
    except (OSError, ValueError, IndexError):
        return None


def _kind(pid: int, descriptor: int) -> str:
    target = _target(pid, descriptor)
    if target.startswith(_TERMINALS):
        return TERMINAL
    return INPUT if _is_pipe(pid, descriptor) and not _has_writer(target, pid) else ""


def _is_pipe(pid: int, descriptor: int) -> bool:
    try:
        return (_PROC / str(pid) / "fd" / str(descriptor)).is_fifo()
    except OSError:
        return False


def _target(pid: int, descriptor: int) -> str:
    try:
        return str((_PROC / str(pid) / "fd" / str(descriptor)).readlink())
    except OSError:
        return ""


def _has_writer(pipe: str, reader: int) -> bool:
    """Whether any other process has the pipe open: where nobody has, or only those that wait for it too, nothing will come."""
    return any(pid != reader and _writes(pid, pipe) for pid in _pids())


def _writes(pid: int, pipe: str) -> bool:
    try:
        descriptors = list((_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False
    return any(_target(pid, int(entry.name)) == pipe and _is_for_writing(pid, entry.name) for entry in descriptors)


def _is_for_writing(pid: int, descriptor: str) -> bool:
    try:
        lines = (_PROC / str(pid) / "fdinfo" / descriptor).read_text(encoding="ascii").splitlines()
        flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
    except (OSError, ValueError, StopIteration):
        return True  # who may not look must not guess
    return flags & os.O_ACCMODE != os.O_RDONLY


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)
