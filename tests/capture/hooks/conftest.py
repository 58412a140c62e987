"""The mark of tests with the real client."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "realclient: needs a client or server of the extra `realclient`; skipped where that is not installed"
    )
