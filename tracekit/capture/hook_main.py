"""`tracekit-hook`: one command hook. It reads its input, leaves its records and ends: it prints nothing and always exits with 0.

`TRACEKIT_DEBUG=1` lets it say on stderr what went wrong, for whoever runs it by hand.

It runs for every tool call, so it loads the standard library only, and of that as little as it can.
"""

import os
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracekit.model import Span

_PAUSE_SECONDS: Final = 0.1
_UNSURE: Final = frozenset({"PermissionRequest", "PostToolBatch"})
"""Events that follow another within milliseconds, whose own hook may still be writing."""


def main() -> None:
    """Record what stdin says, under the time when this began. Whatever goes wrong, the agent must not feel it."""
    at_ns = time.time_ns()
    try:
        record(sys.stdin.buffer.read(), at_ns)
    except BaseException:  # noqa: BLE001  (also an interrupt, or a package that was half removed)
        if os.environ.get("TRACEKIT_DEBUG"):
            import traceback  # noqa: PLC0415

            traceback.print_exc()
    sys.stderr.flush()
    # Python's own leave-taking is a tenth of the time that this takes.
    os._exit(0)


def record(body: bytes, at_ns: int) -> None:
    """Leave the records of one hook.

    Args:
        body: The hook's input.
        at_ns: When the hook began to run.

    Raises:
        OSError: When they cannot be kept.
    """
    from tracekit.capture.hooks.heard import COMMAND_LATE_NS  # noqa: PLC0415  (`main` must survive that it is not there)
    from tracekit.capture.hooks.known import TAIL_BYTES, Edge, Known, recall  # noqa: PLC0415
    from tracekit.capture.hooks.observing import Said  # noqa: PLC0415
    from tracekit.spool import SharedSpool, spool_folder  # noqa: PLC0415

    said = Said.read(body)
    if said is None:
        return
    spool = SharedSpool(spool_folder(), "hooks")
    content = os.environ.get("TRACEKIT_CONTENT", "") not in {"", "0"}

    def observed() -> "list[Span]":
        words = said.words()
        known = recall(Known(is_whole=False), spool.recent(TAIL_BYTES) if words else b"", said.session_id, words)
        return said.spans(Edge(at_ns - COMMAND_LATE_NS, at_ns), known, content=content)

    spans = observed()
    if said.event in _UNSURE and any(span.end_ns is not None or span.parent_key is None for span in spans):
        time.sleep(_PAUSE_SECONDS)
        spans = observed()
    if spans:
        spool.write(spans)
