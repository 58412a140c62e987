"""One command as a child, as if it had been started directly: its streams, its signals, its stops and its exit code are its own."""

import errno
import os
import shutil
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tracekit.capture.stamped import Arrival, StampedPipe
from tracekit.errors import TracekitError

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_SIGNALLED: Final = 128
"""A shell reports a command that a signal ended as this and the signal's number."""

_WATCHED: Final = frozenset(
    {
        signal.SIGCHLD,
        signal.SIGCONT,
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGTERM,
        signal.SIGTSTP,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
    }
)
_KEYS: Final = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH})
_LOOK_SECONDS: Final = 1.0
"""How often the child is looked at where no signal tells of it."""
_STDOUT: Final = 1
_IGNORED_BY_PYTHON: Final = frozenset({signal.SIGPIPE, signal.SIGXFSZ})


class Outcome(NamedTuple):
    """How the command ended, and what it said on a stdout that was stamped."""

    exit_code: int
    """As a shell tells it: 128 and the signal's number where one ended the command."""
    signal: int | None
    lines: Sequence[Arrival] = ()
    lines_left_out: int = 0
    """Lines that were passed on and, for lack of room, not kept as a witness."""


def says_stream_json(command: Sequence[str]) -> bool:
    """Whether a command line asks for stream-json on stdout."""
    pairs = zip(command, [*command[1:], ""], strict=True)
    return any(word == "--output-format=stream-json" or (word, after) == ("--output-format", "stream-json") for word, after in pairs)


def run(
    command: Sequence[str], environment: Mapping[str, str], *, stamped: bool = False, clock: Callable[[], int] = time.time_ns
) -> Outcome:
    """Run a command to its end.

    stdin and stderr are the caller's own, stdout too unless it is `stamped`: then its bytes pass through a pipe, each line noted with
    its arrival, and are written at once. The command stays in the caller's process group, so that a terminal reaches both; what
    somebody sends to the caller alone is passed on.

    Args:
        command: The program and its arguments.
        environment: All that the command finds in its environment.
        stamped: Keep the lines of stdout with the time at which each arrived.
        clock: Gives Unix nanoseconds.

    Raises:
        TracekitError: `command-not-found` (exit code 127) or `command-not-executable` (126).
    """
    with _held_signals() as mask:
        pipe = StampedPipe(_STDOUT, clock=clock) if stamped else None
        try:
            child = _spawn(command, environment, mask, stdout=None if pipe is None else pipe.write_end)
        except BaseException:
            if pipe is not None:
                pipe.abandon()
            raise
        if pipe is not None:
            pipe.start()
        status = _until_it_ends(child)
    if pipe is None:
        return _outcome(status)
    pipe.finish()
    return _outcome(status)._replace(lines=pipe.lines, lines_left_out=pipe.left_out)


def _outcome(status: int) -> Outcome:
    if os.WIFSIGNALED(status):
        return Outcome(_SIGNALLED + os.WTERMSIG(status), os.WTERMSIG(status))
    return Outcome(os.WEXITSTATUS(status), None)


@contextmanager
def _held_signals() -> Generator[set[signal.Signals]]:
    """Hold the watched signals until somebody waits for them; gives the mask that was before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        yield {signal.Signals(number) for number in before if number in signal.valid_signals()}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(command: Sequence[str], environment: Mapping[str, str], mask: set[signal.Signals], *, stdout: int | None) -> int:
    """Start the child with the signals as they were before Python and this module touched them."""
    as_before: dict[str, Any] = {"setsigmask": mask, "setsigdef": _IGNORED_BY_PYTHON}
    as_before["file_actions"] = [] if stdout is None else [(os.POSIX_SPAWN_DUP2, stdout, _STDOUT)]
    try:
        return os.posix_spawnp(command[0], list(command), environment, **as_before)
    except OSError as error:
        if error.errno == errno.ENOEXEC and (path := shutil.which(command[0])):
            # A script that names no interpreter is the shell's, as everywhere.
            return os.posix_spawn("/bin/sh", ["/bin/sh", path, *command[1:]], environment, **as_before)
        raise _not_started(command[0], error) from error


def _not_started(name: str, error: OSError) -> TracekitError:
    if error.errno == errno.ENOENT and shutil.which(name) is None:
        message = f"there is no command {name}; check its spelling and your PATH"
        return TracekitError(message, slug="command-not-found", exit_code=NOT_FOUND)
    message = f"the command {name} cannot be executed: {error.strerror or error}; check its permissions and its first line"
    return TracekitError(message, slug="command-not-executable", exit_code=NOT_EXECUTABLE)


def _until_it_ends(child: int) -> int:
    """Wait for the child and give its wait status; meanwhile pass signals on, and stop when it stops."""
    while True:
        known, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if known == child and not os.WIFSTOPPED(status):
            return status
        if known == child:
            # The shell that waits for this process must see the stop; whoever continues this process means the child too.
            os.kill(os.getpid(), signal.SIGSTOP)
        _pass_on(child)


def _pass_on(child: int) -> None:
    """Wait for a signal, but not for long, and send it to the child where nobody else has."""
    number, is_from_terminal = next_signal()
    if number is not None and number != signal.SIGCHLD and not is_from_terminal:
        os.kill(child, number)


def next_signal() -> tuple[int | None, bool]:
    """Give a signal, and whether it is a terminal's: its keys and its size go to the whole process group, so the child has it already."""
    if hasattr(signal, "sigtimedwait"):
        told = signal.sigtimedwait(_WATCHED, _LOOK_SECONDS)
        return (None, False) if told is None else (told.si_signo, told.si_code > 0)
    number = signal.sigwait(_WATCHED)
    return number, number in _KEYS and is_in_foreground()


def is_in_foreground() -> bool:
    """Whether a terminal sends its keys to this process group: the best guess where the system does not tell who sent a signal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    finally:
        os.close(terminal)
