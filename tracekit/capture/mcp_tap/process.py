"""The server's process: started, given every signal that comes here, and ended as it ended."""

import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from tracekit.capture.mcp_tap.calls import Server
from tracekit.capture.mcp_tap.listening import Listener
from tracekit.capture.mcp_tap.pipes import pump
from tracekit.capture.mcp_tap.wire import Side
from tracekit.errors import TracekitError
from tracekit.model import Status
from tracekit.spool import Spool

ENDING: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""Signals by which a client asks its server to end."""
FORWARDED: Final = ENDING | {signal.SIGUSR1, signal.SIGUSR2}

_NOT_FOUND: Final = 127
_NOT_EXECUTABLE: Final = 126
_GRACE_SECONDS: Final = 1.0
"""What others may still write to the stdout of a server that has ended."""
_FROM_TERMINAL: Final = 0x80
"""SI_KERNEL: the terminal sends a signal to all processes in front of it, so the server has it already."""
_PR_SET_PDEATHSIG: Final = 1


def tap(command: Sequence[str], *, server: Server, spool: Spool, content: bool = False) -> int:
    """Run a server between this process's stdin and stdout until it ends, and give its exit code.

    A server that a signal ended ends this process by the same signal.

    Args:
        command: The server's program and its arguments.
        server: What it is called, and whose it is.
        spool: Where records go; closed at the end.
        content: Keep arguments of calls, stripped of secrets.

    Raises:
        TracekitError: `server-not-started`.
    """
    listener = Listener(server, time.time_ns(), spool.write, content=content)
    signals = _Signals()
    try:
        process = subprocess.Popen(  # noqa: S603  (what the user gave)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            preexec_fn=signals.in_server,  # noqa: PLW1509  (no thread runs yet)
        )
    except OSError as error:
        signals.restore()
        listener.could_not_start(time.time_ns(), errno.errorcode.get(error.errno or 0, "ENOENT"), f"spawn {command[0]}: {error.strerror}")
        raise _not_started(command[0], error) from error
    listener.start()
    code = _Session(process, listener, signals).run()
    spool.close()
    if listener.gaps:
        _say(f"tracekit: {listener.gaps} observations of {server.name} are missing in the record; its traffic was not touched by it")
    if code < 0:
        _end_like(-code)
    return code if code >= 0 else 128 - code


class _Session:
    """A server that runs, and the client that it runs for."""

    def __init__(self, process: subprocess.Popen[bytes], listener: Listener, signals: "_Signals") -> None:
        assert process.stdin is not None  # noqa: S101  (as it was started)
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._listener = listener
        self._signals = signals
        self._client_left = threading.Event()

    def run(self) -> int:
        """Pass everything on until the server ends."""
        over, ended = os.pipe()
        threading.Thread(target=self._to_server, name="to server", daemon=True).start()
        to_client = threading.Thread(target=self._to_client, args=(over,), name="to client", daemon=True)
        to_client.start()
        self._signals.forward(self._process, self._client_left.set)
        code = self._process.wait()
        at_ns = time.time_ns()
        os.close(ended)
        # Whoever takes nothing for now still gets all of it: only silence ends this.
        to_client.join()
        self._listener.stop(at_ns, *self._verdict(code))
        return code

    def _to_server(self) -> None:
        ended = pump(0, self._stdin.fileno(), lambda data, at_ns: self._listener.hear(Side.CLIENT, data, at_ns), time.time_ns)
        if ended:
            self._client_left.set()
        else:
            _let_go(0)
        self._stdin.close()

    def _to_client(self, over: int) -> None:
        source = self._stdout.fileno()

        def seen(data: bytes, at_ns: int) -> None:
            self._listener.hear(Side.SERVER, data, at_ns)

        if not pump(source, 1, seen, time.time_ns, hurry=over, grace_seconds=_GRACE_SECONDS):
            self._client_left.set()
        self._stdout.close()

    def _verdict(self, code: int) -> tuple[Status, str]:
        how = f"was ended by {_named(-code)}" if code < 0 else f"exited with code {code}"
        if self._client_left.is_set():
            return Status.CANCELLED, f"the client left, and the server {how}"
        return Status.ERROR, f"the server {how}"


class _Signals:
    """Signals that come here are the server's. They are held back from here on, and given to it once it runs."""

    def __init__(self) -> None:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        # Looked up here: between fork and exec there is no looking up.
        self._libc: ctypes.CDLL | None = ctypes.CDLL(None) if _IS_LINUX else None

    def restore(self) -> None:
        """Take signals as before."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def in_server(self) -> None:
        """Let the server take signals as its client wanted, and be killed with this process, as it would have been without it."""
        self.restore()
        if self._libc is not None:
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def forward(self, process: subprocess.Popen[bytes], ending: Callable[[], None]) -> None:
        """Give every signal that comes from now on to a process; `ending` is called before one that asks it to end."""
        threading.Thread(target=self._forward, args=(process, ending), name="signals", daemon=True).start()

    def _forward(self, process: subprocess.Popen[bytes], ending: Callable[[], None]) -> None:
        while True:
            number, is_shared = _next_signal()
            if number in ENDING:
                ending()
            if not is_shared:
                process.send_signal(number)


_IS_LINUX: Final = sys.platform == "linux"


def _next_signal() -> tuple[int, bool]:
    """Wait for a signal, and tell whether the server has it already."""
    if not _IS_LINUX:
        return signal.sigwait(FORWARDED), False
    found = signal.sigwaitinfo(FORWARDED)
    return found.si_signo, found.si_code == _FROM_TERMINAL


def _let_go(descriptor: int) -> None:
    """Let whoever writes to a descriptor of ours feel that nobody reads; its number stays taken."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def _not_started(program: str, error: OSError) -> TracekitError:
    message = f"cannot start {program}: {error.strerror}; give the server's command as a shell would find it, arguments apart"
    missing = isinstance(error, FileNotFoundError)
    return TracekitError(message, slug="server-not-started", exit_code=_NOT_FOUND if missing else _NOT_EXECUTABLE)


def _end_like(number: int) -> None:
    """End as the server did. Its memory has been dumped, if at all; ours need not be."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _named(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the nameless real-time signals
        return f"signal {number}"


def _say(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
