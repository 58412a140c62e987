"""The frame of the command line: what is loaded, what an error becomes, what a closed pipe or an interrupt does."""

import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest
from typer.main import get_command

from tracekit import __version__
from tracekit.cli import main, output
from tracekit.errors import TracekitError

START = "import sys; from tracekit.cli.main import main; sys.argv[1:] = {arguments!r}"
Probe = Callable[[Callable[[], None]], None]


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """Make a function the command `probe`."""

    def add(command: Callable[[], None]) -> None:
        module = ModuleType("a_command_of_a_test")
        module.command = command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(main.COMMANDS, "probe", module.__name__)

    return add


def _fresh(script: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=settings or None)


def test_the_version_is_answered_before_typer_is_loaded() -> None:
    script = START.format(arguments=["--version"]) + "; main(); print(*sorted({'typer', 'rich', 'duckdb', 'polars'} & set(sys.modules)))"
    assert _fresh(script).stdout.splitlines() == [f"tracekit {__version__}", ""]


def test_the_version_is_in_the_help_and_works_through_typer_too(capsys: pytest.CaptureFixture[str]) -> None:
    application = main.build(["explain"])
    with pytest.raises(SystemExit) as done:
        application(args=["--version"], prog_name="tracekit")
    assert done.value.code == 0
    assert capsys.readouterr().out == f"tracekit {__version__}\n"


def test_only_the_command_that_was_asked_for_is_loaded() -> None:
    script = (
        START.format(arguments=["explain", "ranges"])
        + "\ntry: main()\nexcept SystemExit: pass"
        + "\nprint(*sorted({'duckdb', 'polars', 'plotly', 'tracekit.cli.sql', 'tracekit.cli.doctor'} & set(sys.modules)))"
    )
    assert _fresh(script).stdout.splitlines()[-1] == ""


def test_the_help_lists_every_command_in_order(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main.run(["--help"]) == 0
    listed = re.findall(r"^\W*([a-z-]+) +\w[^│]{20,}", capsys.readouterr().out.partition("Commands")[2], flags=re.MULTILINE)
    assert listed == list(main.COMMANDS)


def _commands() -> list[str]:
    groups = {name: getattr(import_module(module), "group", None) for name, module in main.COMMANDS.items()}
    return [f"{name} {one}".strip() for name, group in groups.items() for one in (get_command(group).commands if group else [""])]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", _commands())
def test_every_command_has_help_and_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"tracekit {name}" in printed
    # The stdout of the tap is its server's.
    assert ("--json" in printed) is (name != "mcp-tap")


def test_a_misspelt_command_names_the_one_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["sesions"]) == 2
    assert "sessions" in capsys.readouterr().err


def test_an_error_is_one_message_and_the_way_to_its_page(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise TracekitError("the store is gone; look for it", slug="no-store", exit_code=2)

    probe(fail)
    assert main.run(["probe"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "error: the store is gone; look for it\n(tracekit explain no-store)\n"


def test_an_error_may_have_an_exit_code_of_its_own(probe: Probe) -> None:
    def fail() -> None:
        raise TracekitError("no", slug="no-store", exit_code=7)

    probe(fail)
    assert main.run(["probe"]) == 7


def test_an_error_of_our_own_is_not_hidden(probe: Probe) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    probe(fail)
    with pytest.raises(ZeroDivisionError):
        main.run(["probe"])


def test_an_interrupt_ends_with_130(probe: Probe) -> None:
    def wait() -> None:
        raise KeyboardInterrupt

    probe(wait)
    assert main.run(["probe"]) == 130


def test_a_command_that_ends_well_ends_with_0(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe(lambda: output.write("fine"))
    assert main.run(["probe"]) == 0
    assert capsys.readouterr().out == "fine\n"


def test_a_usage_error_ends_with_2(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe(lambda: None)
    assert main.run(["probe", "--no-such-option"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--no-such-option" in printed.err


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    script = START.format(arguments=["explain"]) + "; main()"
    done = subprocess.run(
        ["/bin/sh", "-c", f'{{ {sys.executable} -c "$SCRIPT"; echo $? >&2; }} | true'],
        capture_output=True,
        text=True,
        check=False,
        env={"SCRIPT": script.replace("main()", "import time; time.sleep(0.3); main()"), "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stderr == "141\n"
