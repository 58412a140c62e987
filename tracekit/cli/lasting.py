"""Commands that go on until somebody ends them: Ctrl-C and SIGTERM are their proper end, and no error."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def until_ended() -> Generator[threading.Event]:
    """Give an event that is set when somebody wants the command to end."""
    ended = threading.Event()

    def end(*_: object) -> None:
        ended.set()

    before = {number: signal.signal(number, end) for number in _ENDING}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
