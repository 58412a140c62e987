"""The mark and the fixture of tests that run the real client."""

from pathlib import Path

import pytest

from tests.lab import client


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "realclient: runs the client of the claude-agent-sdk wheel; skipped where that is not installed")


@pytest.fixture(scope="session")
def realclient() -> Path:
    """The client's binary; without it the test is skipped."""
    binary = client.binary()
    if binary is None:
        pytest.skip("the client is not here: pip install -e '.[realclient]'")
    return binary
