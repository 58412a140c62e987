"""Lines in an assistant's place: blocks of a response, and the client's word that a response was cut or never came."""

from collections.abc import Iterator
from itertools import islice

from tracekit.sources.fields import milliseconds, text, whole
from tracekit.sources.transcript.attempt import gave_up_attributes
from tracekit.sources.transcript.call import Call, call_of
from tracekit.sources.transcript.entries import Entry, block_bytes, session_of, to_keep
from tracekit.sources.transcript.response import Block, Response
from tracekit.sources.transcript.timing import version_of
from tracekit.sources.transcript.turn import Turn

_RESULTS_IN_A_REQUEST = 8
"""How many of a turn's last results are looked at to tell what a request waited for; parallel calls are seldom more."""

CUT = "true"
"""The cause of a cut that the client does not name."""


def response_of(turn: Turn, entry: Entry, message_id: str, parent_ns: int | None, stamp_ns: int, position: int) -> Response:
    """The response that a line belongs to.

    Args:
        turn: The turn that is running.
        entry: The line's entry.
        message_id: Of its message.
        parent_ns: When the entry was written that it hangs on.
        stamp_ns: When the block was complete.
        position: Of the entry.
    """
    response = turn.responses.get(message_id)
    if response is None:
        waits_for_ns = turn.failures[0].waits_for_ns if turn.failures else waited_for(turn, parent_ns, stamp_ns)
        response = Response(message_id, session_of(entry), position, version_of(entry.get("version")), waits_for_ns)
        _begin(turn, response, entry)
    request_id = text(entry, "requestId")
    if response.request_id is None and request_id is not None and request_id not in turn.request_ids:
        turn.request_ids.add(request_id)
        response.request_id = request_id
    return response


def waited_for(turn: Turn, parent_ns: int | None, stamp_ns: int) -> int:
    """The last thing that a request waited for of which something was seen at `stamp_ns`: its prompt, its parent, or a tool's result."""
    results = islice(_results_before(turn, stamp_ns), _RESULTS_IN_A_REQUEST)
    return min(max([*results, turn.start_ns, parent_ns or 0]), stamp_ns)


def _results_before(turn: Turn, stamp_ns: int) -> Iterator[int]:
    """When the results came that a request which was answered by then can carry, of the last call first."""
    for call in reversed(turn.calls.values()):
        if call.result is not None and call.result.stamp_ns <= stamp_ns:
            yield call.result.stamp_ns


def _begin(turn: Turn, response: Response, entry: Entry) -> None:
    """The attempts that failed before it, and the one that it answers, are the response's own from now on."""
    response.failures, turn.failures = turn.failures, []
    response.answers(turn.attempt_answered(entry.get("requestRef")))
    turn.responses[response.id] = response


def add_block(response: Response, entry: Entry, block: Entry, stamp_ns: int, position: int, *, content: bool) -> Call | None:
    """A block of the response is complete. It may be a call of a tool."""
    kind, index = str(block.get("type")), whole(entry, "apiBlockIndex")
    data = block_bytes(block, kind)
    kept = to_keep(data.decode(errors="surrogatepass")) if content else None
    number = len(response.blocks) if index is None else index
    response.blocks.append(Block(number, kind, stamp_ns, len(data), position, kept))
    if kind != "tool_use" or text(block, "id") is None:
        return None
    call = call_of(block, data, response, stamp_ns, position)
    call.input_stream_ns = milliseconds(entry, "toolInputStreamMs")
    call.content = kept
    return call


def give_up(turn: Turn, entry: Entry, parent_ns: int | None, stamp_ns: int, position: int) -> None:
    """The client says that a response was cut, or that it gave up on a request."""
    turn.saw(stamp_ns, waits_for_model=False)
    last = turn.last_response
    if last is not None and _is_cut(turn, last, entry, parent_ns):
        last.cut = text(entry, "streamCutCause") or CUT
        last.error, last.ended_ns = gave_up_attributes(entry), stamp_ns
        return
    waits_for_ns = turn.failures[0].waits_for_ns if turn.failures else waited_for(turn, parent_ns, stamp_ns)
    response = Response(str(entry.get("uuid")), session_of(entry), position, version_of(entry.get("version")), waits_for_ns)
    _begin(turn, response, entry)
    if (request_id := text(entry, "requestId")) is not None:
        turn.request_ids.add(request_id)
        response.request_id = request_id
    response.model = response.attempt.model if response.attempt else ""
    response.error, response.error_stamp_ns = gave_up_attributes(entry), stamp_ns


def _is_cut(turn: Turn, last: Response, entry: Entry, parent_ns: int | None) -> bool:
    """An error right after a block of a response is that response being cut; results may stand between where the client names a cut."""
    if not last.blocks or turn.failures:
        return False
    if parent_ns == last.last_ns:
        return True
    return "streamCutCause" in entry and all(attempt.closed for attempt in turn.attempts)


def cut_off(turn: Turn, stamp_ns: int) -> None:
    """The client tells the model that its last response was cut off."""
    turn.saw(stamp_ns, waits_for_model=True)
    last = turn.last_response
    if last is not None and last.blocks and last.cut is None:
        last.cut, last.ended_ns = CUT, stamp_ns
