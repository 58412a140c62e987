"""Bytes pass exactly, whatever they are and however they come; lines and messages are read from them beside."""

import os
import threading
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.capture.mcp_tap.pipes import CHUNK_BYTES, pump
from tracekit.capture.mcp_tap.wire import Lines, messages

PIECES = st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([b"\n", b"\r\n", b"\x00", "ä🙂".encode(), b"x" * 70_000])), max_size=20)


@settings(max_examples=50)
@given(PIECES)
def test_what_comes_out_is_what_went_in(pieces: list[bytes]) -> None:
    source, inlet = os.pipe()
    outlet, target = os.pipe()
    seen: list[tuple[bytes, int]] = []
    clock = count(1).__next__

    def write() -> None:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[os.write(inlet, left) :]
        os.close(inlet)

    def carry() -> None:
        assert pump(source, target, lambda data, at_ns: seen.append((data, at_ns)), clock)
        os.close(target)

    threads = [threading.Thread(target=write), threading.Thread(target=carry)]
    for thread in threads:
        thread.start()
    came = b"".join(iter(lambda: os.read(outlet, 10_000), b""))
    for thread in threads:
        thread.join()
    os.close(source)
    os.close(outlet)
    assert came == b"".join(pieces) == b"".join(data for data, _ in seen)
    assert all(len(data) <= CHUNK_BYTES for data, _ in seen)
    assert [at_ns for _, at_ns in seen] == sorted(at_ns for _, at_ns in seen)


def test_a_piece_is_known_before_anybody_can_answer_it() -> None:
    source, inlet = os.pipe()
    outlet, target = os.pipe()
    os.set_blocking(outlet, False)
    os.write(inlet, b"request")
    os.close(inlet)

    def seen(data: bytes, _: int) -> None:
        assert data == b"request"
        with pytest.raises(BlockingIOError):
            os.read(outlet, 1)

    assert pump(source, target, seen, lambda: 0)
    assert os.read(outlet, 10) == b"request"
    for descriptor in (source, outlet, target):
        os.close(descriptor)


def test_a_reader_that_has_gone_is_told() -> None:
    source, inlet = os.pipe()
    outlet, target = os.pipe()
    os.close(outlet)
    os.write(inlet, b"hello")
    seen: list[bytes] = []
    assert not pump(source, target, lambda data, _: seen.append(data), lambda: 0)
    assert seen == [b"hello"]
    for descriptor in (source, inlet, target):
        os.close(descriptor)


def ignore(data: bytes, at_ns: int) -> None:
    """Look away."""


def test_a_descriptor_that_does_not_wait_is_waited_for() -> None:
    source, inlet = os.pipe()
    outlet, target = os.pipe()
    os.set_blocking(target, False)
    data = os.urandom(300_000)

    def write() -> None:
        os.write(inlet, data)
        os.close(inlet)

    def carry() -> None:
        pump(source, target, ignore, lambda: 0)
        os.close(target)

    threads = [
        threading.Thread(target=write),
        threading.Thread(target=carry),
    ]
    for thread in threads:
        thread.start()
    came = list(iter(lambda: os.read(outlet, 999), b""))
    for thread in threads:
        thread.join()
    assert b"".join(came) == data
    os.close(source)
    os.close(outlet)


@given(PIECES)
def test_lines_are_the_same_however_they_come(pieces: list[bytes]) -> None:
    lines = Lines()
    found = [line for at_ns, piece in enumerate(pieces, 1) for line in lines.feed(piece, at_ns)]
    whole = b"".join(pieces).split(b"\n")[:-1]
    assert [line.data for line in found] == [line for line in whole if line]
    assert all(1 <= line.first_ns <= line.last_ns <= len(pieces) for line in found)
    assert lines.unread == 0


def test_a_line_that_came_in_parts_began_with_its_first() -> None:
    lines = Lines()
    assert list(lines.feed(b'one\n{"a"', 10)) == [(10, 10, b"one")]
    assert list(lines.feed(b":1", 20)) == []
    assert list(lines.feed(b"}\n\n", 30)) == [(10, 30, b'{"a":1}')]


def test_a_line_that_is_too_long_is_not_read_and_the_next_one_is() -> None:
    lines = Lines(max_bytes=10)
    assert list(lines.feed(b"x" * 9, 1)) == []
    assert list(lines.feed(b"yy", 2)) == []
    assert list(lines.feed(b"z\nshort\n", 3)) == [(3, 3, b"short")]
    assert lines.unread == 1


def test_a_hole_spoils_its_line_only() -> None:
    lines = Lines()
    assert list(lines.feed(b"half of", 1)) == []
    lines.hole()
    assert list(lines.feed(b" a line\nwhole\n", 2)) == [(2, 2, b"whole")]
    assert lines.unread == 1


@pytest.mark.parametrize(
    "data", [b"", b"\x00\xff", b"Server is starting!", b"[]", b"1", b'{"jsonrpc":"2.0"}', b'[{"method":"x"},2]', b"[" * 5_000]
)
def test_what_is_no_message_is_none(data: bytes) -> None:
    assert messages(data) is None


def test_requests_notifications_responses_and_batches() -> None:
    (request,) = messages(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}') or []
    assert (request.method, request.id, request.shown_id, request.params) == ("tools/call", "1", "1", {"name": "add"})
    named, failed, notice = messages(b'[{"id":"1","result":{"a":1}},{"id":null,"error":{"code":-32700}},{"method":"n","params":[1]}]') or []
    assert (named.id, named.result, named.error) == ('"1"', {"a": 1}, None)
    assert (failed.id, failed.error) == (None, {"code": -32700})
    assert (notice.method, notice.id, notice.params) == ("n", None, {})
