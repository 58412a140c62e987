"""A command under `run` is as it would be alone: its output byte for byte, its exit code, its signals, its stops."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from tracekit.capture import run as running
from tracekit.capture.run import Outcome, run, says_stream_json
from tracekit.capture.stamped import Arrival, StampedPipe
from tracekit.errors import TracekitError

LIMIT = 20.0
PATIENT = "import os, sys; from tracekit.capture.run import run; sys.exit(run(sys.argv[1:], os.environ).exit_code)"
STAMPING = (
    "import os, sys; from tracekit.capture.run import run\n"
    "done = run(sys.argv[1:], os.environ, stamped=True)\n"
    "print(len(done.lines), done.exit_code, file=sys.stderr); sys.exit(done.exit_code)"
)


def under_run(*command: str, script: str = PATIENT, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", script, *command], input=data, capture_output=True, timeout=LIMIT, check=False)


@pytest.mark.parametrize(
    ("command", "stamped"),
    [
        (["claude", "-p", "x"], False),
        (["claude", "-p", "--output-format", "json"], False),
        (["claude", "--output-format", "stream-json", "-p"], True),
        (["npx", "claude", "--output-format=stream-json"], True),
        (["claude", "--input-format", "stream-json", "--output-format"], False),
    ],
)
def test_a_command_line_tells_whether_its_stdout_is_stream_json(command: list[str], stamped: bool) -> None:  # noqa: FBT001
    assert says_stream_json(command) is stamped


@pytest.mark.parametrize("script", [PATIENT, STAMPING], ids=["inherited", "stamped"])
def test_streams_pass_untouched_and_the_exit_code_is_the_commands(script: str) -> None:
    data = bytes(range(256)) * 3000
    done = under_run("sh", "-c", "cat; echo heard >&2; exit 7", script=script, data=data)
    assert (done.stdout, done.returncode) == (data, 7)
    assert b"heard" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_signal_that_ends_the_command_is_told_as_a_shell_does(number: signal.Signals) -> None:
    assert run(["sh", "-c", f"kill -{int(number)} $$"], os.environ) == Outcome(128 + number, number)


def test_a_command_that_is_not_there_is_127(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="no command no-such-program") as error:
        run(["no-such-program"], os.environ)
    assert (error.value.slug, error.value.exit_code) == ("command-not-found", 127)
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    for path in (plain, tmp_path):
        with pytest.raises(TracekitError) as error:
            run([str(path)], os.environ, stamped=True)
        assert (error.value.slug, error.value.exit_code) == ("command-not-executable", 126)


def test_a_script_without_an_interpreters_line_is_the_shells(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("exit $1\n")
    script.chmod(0o755)
    assert run([str(script), "5"], os.environ).exit_code == 5


def test_the_child_finds_the_environment_that_it_is_given_and_no_signal_held(tmp_path: Path) -> None:
    found = tmp_path / "found"
    run(["sh", "-c", f'grep -E "Sig(Blk|Ign)" /proc/self/status > {found}; echo "$WHO" >> {found}'], {**os.environ, "WHO": "the child"})
    blocked, ignored, who = found.read_text().splitlines()
    assert (int(blocked.split()[1], 16), who) == (0, "the child")
    assert not int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


# Stamps


def test_lines_are_noted_with_the_time_at_which_their_end_arrived(capfd: pytest.CaptureFixture[str]) -> None:
    done = run(["sh", "-c", "echo one; sleep 0.3; printf 'tw'; sleep 0.3; echo o; printf rest"], os.environ, stamped=True)
    assert capfd.readouterr().out == "one\ntwo\nrest"
    assert [arrival.line for arrival in done.lines] == [b"one\n", b"two\n", b"rest"]
    one, two, _ = (arrival.arrived_ns for arrival in done.lines)
    assert 0.5e9 < two - one < 5e9


def test_a_line_passes_on_before_the_next_is_written() -> None:
    command = [sys.executable, "-c", STAMPING, "sh", "-c", "echo first; read answer; echo $answer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        process.stdin.write(b"second\n")
        process.stdin.close()
        assert process.stdout.read() == b"second\n"
        assert process.wait(LIMIT) == 0


def test_what_has_no_room_is_passed_on_and_counted(capfd: pytest.CaptureFixture[str]) -> None:
    pipe = StampedPipe(1, clock=count(1).__next__, room=8)
    os.write(pipe.write_end, b"one\ntwo\nthree\n")
    pipe.start()
    pipe.finish()
    assert capfd.readouterr().out == "one\ntwo\nthree\n"
    assert (pipe.lines, pipe.left_out) == ([Arrival(1, b"one\n"), Arrival(1, b"two\n")], 1)


def test_a_very_long_line_is_one_line() -> None:
    done = under_run("head", "-c", "20000000", "/dev/zero", script=STAMPING)
    assert (len(done.stdout), done.stderr) == (20_000_000, b"1 0\n")


def test_a_reader_that_leaves_ends_the_command_as_it_would_have_alone() -> None:
    command = f"{sys.executable} -c '{STAMPING}' yes | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.stdout == f"y\n{128 + signal.SIGPIPE}\n"


def test_a_process_that_the_command_leaves_behind_does_not_hold_its_end() -> None:
    began = time.monotonic()
    done = under_run("sh", "-c", "(sleep 15; echo late) 2>/dev/null & echo now", script=STAMPING)
    assert (done.stdout, done.returncode) == (b"now\n", 0)
    assert time.monotonic() - began < 8


def test_what_is_left_behind_and_never_quiet_does_not_hold_its_end_either() -> None:
    began = time.monotonic()
    done = under_run("sh", "-c", "(while echo more; do sleep 0.01; done) 2>/dev/null & echo now", script=STAMPING)
    assert done.stdout.startswith((b"now\n", b"more\n"))
    assert time.monotonic() - began < 8


# Signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT, signal.SIGWINCH])
def test_what_is_sent_to_run_alone_reaches_the_command(number: signal.Signals) -> None:
    waiting = f"trap 'echo got it; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([sys.executable, "-c", PATIENT, "sh", "-c", waiting], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "got it\n"
        assert process.wait(LIMIT) == 9


class Terminal:
    """A shell's place: a terminal, and a job of its own in the foreground."""

    def __init__(self, *command: str) -> None:
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)  # noqa: S606  (a terminal's first process)
        self._seen = b""

    def see(self, text: bytes) -> None:
        """Wait until the screen shows a text."""
        deadline = time.monotonic() + LIMIT
        while text not in self._seen:
            assert time.monotonic() < deadline, self._seen
            if select.select([self._screen], [], [], 0.1)[0]:
                self._seen += os.read(self._screen, 4096)
        self._seen = self._seen.partition(text)[2]

    def type(self, keys: bytes) -> None:
        os.write(self._screen, keys)

    def status(self, options: int = 0) -> int:
        """Wait status of the job; a bounded wait."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            known, status = os.waitpid(self.pid, os.WNOHANG | options)
            if known:
                return status
            time.sleep(0.02)
        pytest.fail("the job did not change")

    def close(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._screen)


@pytest.fixture
def terminal(request: pytest.FixtureRequest) -> Generator[Terminal]:
    made = Terminal(sys.executable, "-c", PATIENT, "bash", "-c", request.param)
    yield made
    made.close()


@pytest.mark.parametrize(
    "terminal",
    ["n=0; trap 'n=$((n+1))' INT; echo ready; read -r _; echo interrupted $n; exit 3"],
    indirect=True,
    ids=["interrupts counted"],
)
def test_ctrl_c_interrupts_the_command_once_and_run_not_at_all(terminal: Terminal) -> None:
    terminal.see(b"ready")
    terminal.type(b"\x03")
    time.sleep(0.5)
    terminal.type(b"\n")
    terminal.see(b"interrupted 1")
    assert os.waitstatus_to_exitcode(terminal.status()) == 3


@pytest.mark.parametrize("terminal", ["[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo a terminal"], indirect=True, ids=["asks"])
def test_a_terminal_stays_a_terminal(terminal: Terminal) -> None:
    terminal.see(b"a terminal")


def test_ctrl_z_stops_both_and_going_on_lets_both_go_on(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PATIENT)
    shell = Terminal("/bin/bash", "--norc", "--noprofile", "-i")
    try:
        shell.type(f"{sys.executable} {tmp_path / 'script.py'} bash -c 'echo rea''dy; read line; echo he''ard $line'\n".encode())
        shell.see(b"ready")
        shell.type(b"\x1a")
        shell.see(b"Stopped")
        shell.type(b"echo shell $((40 + 2)); fg\n")
        shell.see(b"shell 42")
        shell.see(b"script.py")
        shell.type(b"again\n")
        shell.see(b"heard again")
        shell.type(b"echo code $?\n")
        shell.see(b"code 0")
    finally:
        shell.close()


@pytest.mark.parametrize("terminal", ["kill -STOP $$; echo went on"], indirect=True, ids=["stops itself"])
def test_a_command_that_stops_itself_stops_run_and_goes_on_with_it(terminal: Terminal) -> None:
    assert os.WIFSTOPPED(terminal.status(os.WUNTRACED))
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.see(b"went on")
    assert os.waitstatus_to_exitcode(terminal.status()) == 0


@pytest.mark.parametrize("in_foreground", [True, False])
def test_where_the_system_does_not_tell_who_sent_a_signal_the_terminal_is_guessed(
    in_foreground: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_: object) -> signal.Signals:
        return signal.SIGINT

    def foreground() -> bool:
        return in_foreground

    monkeypatch.delattr(signal, "sigtimedwait")
    monkeypatch.setattr(signal, "sigwait", interrupted)
    monkeypatch.setattr(running, "is_in_foreground", foreground)
    assert running.next_signal() == (signal.SIGINT, in_foreground)
