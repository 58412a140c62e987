"""What every test may ask for: golden files, the corpus of real sessions, and a state folder that is not the user's."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"

# A busy machine is no counterexample.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden from what the code gives now")


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests away from the user's store."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    monkeypatch.delenv("TRACEKIT_STORE", raising=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with `tests/golden/NAME`: `golden("overlap.txt", text)`."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, actual: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8", newline="")
            return
        expected = path.read_bytes().decode("utf-8") if path.exists() else ""
        if actual != expected:
            pytest.fail(_difference(name, expected, actual), pytrace=False)

    return compare


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real sessions and captures that `TRACEKIT_CORPUS` names; without it the test is skipped."""
    place = os.environ.get("TRACEKIT_CORPUS")
    if not place:
        pytest.skip("TRACEKIT_CORPUS names no corpus")
    return Path(place)


def _difference(name: str, expected: str, actual: str) -> str:
    lines = difflib.unified_diff(
        expected.splitlines(keepends=True),
        actual.splitlines(keepends=True),
        f"tests/golden/{name}",
        "what the code gives now",
    )
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)
    return f"{text}If the new text is right, refresh it with `pytest --update-golden` and read the diff."
