"""The line between the host's errors and ours: its own pass untouched, ours end here, said once and counted."""

import logging
import os
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec

_LOG: Final = logging.getLogger("tracekit.instrument")
P = ParamSpec("P")


class _Gaps:
    count = 0


def gaps() -> int:
    """How many observations could not be made or kept in this process so far."""
    return _Gaps.count


def is_strict() -> bool:
    """Whether an error of ours is raised: under pytest, and where `TRACEKIT_STRICT` is 1; never where that is 0."""
    said = os.environ.get("TRACEKIT_STRICT", "")
    return said == "1" or (said != "0" and "PYTEST_CURRENT_TEST" in os.environ)


def blame(error: Exception) -> None:
    """Keep an error of ours from the host: count it, and say the first one. To be called where it is caught.

    Raises:
        Exception: The error itself, where `is_strict`.
    """
    if is_strict():
        raise error
    _Gaps.count += 1
    if _Gaps.count == 1:
        _LOG.warning("tracekit could not keep an observation, and the agent goes on without: %s: %s", type(error).__name__, error)
    _LOG.debug("an observation is missing", exc_info=error)


def guarded(function: Callable[P, None]) -> Callable[P, None]:
    """Make a function of ours one whose errors the host never meets."""

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    return safe
