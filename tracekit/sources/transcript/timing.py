"""How far a transcript's stamps may be from what they stand for, as measured on the real client.

Each constant was taken from recorded runs of client 2.1.332 against a server that logged its own times.
"""

from collections.abc import Sequence
from typing import Final

from tracekit.sources.timestamps import MILLISECOND, SECOND

BLOCK_LATE_NS: Final = 500 * MILLISECOND
"""A block's line is stamped up to 460 ms after the server sent the block's end (2 ms at the median; late when the client is busy)."""

REQUEST_BEFORE_NS: Final = 250 * MILLISECOND
"""The request began up to 204 ms before its `api-request` line."""

REQUEST_AFTER_NS: Final = 20 * MILLISECOND
"""The server read the request up to 12 ms after its `api-request` line."""

RESULT_LATE_NS: Final = 60 * MILLISECOND
"""A tool's result line is stamped 2 to 51 ms after the tool ended."""

PROGRESS_LATE_NS: Final = 250 * MILLISECOND
"""A progress line says `elapsed 7 s` up to this long after the seventh second."""

BURST_NS: Final = 50 * MILLISECOND
"""Blocks whose lines are closer than this came out of the client in one go: their stamps say when it caught up."""

LAST_SERIAL_CLIENT: Final = (2, 1, 23)
"""Clients up to this version start tools only after the whole message: 0 of 751 results stand before the last block."""


def last_block_estimate(stamps: Sequence[int], request_sent_ns: int) -> int:
    """Best estimate of when the last block was complete on the wire, from when the client said so of each block.

    The last stamp itself, unless the block came out in a burst: then its stamp says when a busy client caught up, and the
    middle between the last calm stamp and the burst is the better guess.

    Args:
        stamps: When the client told each block complete; at least one.
        request_sent_ns: Latest start of the request: no block came before.
    """
    ordered = sorted(stamps)
    calm = len(ordered) - 1
    while calm > 0 and ordered[calm] - ordered[calm - 1] < BURST_NS:
        calm -= 1
    if calm == len(ordered) - 1:
        return ordered[-1]
    before = ordered[calm - 1] if calm > 0 else max(request_sent_ns, ordered[0] - BLOCK_LATE_NS)
    return (min(before, ordered[-1]) + ordered[-1]) // 2


def version_of(text: object) -> tuple[int, ...]:
    """`2.1.39` as numbers; empty where there is no version."""
    if not isinstance(text, str):
        return ()
    numbers: list[int] = []
    for part in text.split("."):
        digits = part.split("-")[0]
        if not digits.isdigit():
            break
        numbers.append(int(digits))
    return tuple(numbers)


def waits_for_message(version: tuple[int, ...]) -> bool:
    """Whether a client of this version starts its tools only after message_stop. Unknown versions may not."""
    return bool(version) and version[:3] <= LAST_SERIAL_CLIENT


def elapsed_bounds(stamp_ns: int, elapsed_seconds: int) -> tuple[int, int]:
    """Earliest and latest start of a tool whose progress line says that whole seconds have passed."""
    latest = stamp_ns - elapsed_seconds * SECOND
    return latest - SECOND - PROGRESS_LATE_NS, latest
