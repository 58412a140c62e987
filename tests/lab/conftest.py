"""The fixture of tests that run the real client."""

from pathlib import Path

import pytest

from tests.lab import client


@pytest.fixture(scope="session")
def realclient() -> Path:
    """The client's binary; without it the test is skipped."""
    binary = client.binary()
    if binary is None:
        pytest.skip("the client is not here: pip install -e '.[realclient]'")
    return binary
