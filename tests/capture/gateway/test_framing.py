"""Streams are taken apart the same way wherever they are cut, in whatever they are wrapped."""

import base64
import gzip
import json
import struct
import sys
import time
import zlib
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.gateway.world import whole_message
from tracekit.capture.gateway import body as bodies
from tracekit.capture.gateway.aws_events import CONTENT_TYPE, AwsFraming
from tracekit.capture.gateway.body import Body
from tracekit.capture.gateway.decoding import Unreadable, decode, decoders
from tracekit.capture.gateway.message import Response
from tracekit.capture.gateway.sse import Frame, SseFraming


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[begin:end] for begin, end in pairwise(edges)]


def seen(frames: list[Frame]) -> list[tuple[str, bytes, bool]]:
    return [(frame.name, frame.data, frame.has_id) for frame in frames]


CUTS = st.lists(st.integers(0, 10_000), max_size=12)
LINES = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=20)


@given(
    st.lists(st.tuples(st.sampled_from(["ping", "message_start", ""]), st.lists(LINES, min_size=1, max_size=3))),
    CUTS,
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events_come_out_as_they_went_in_wherever_they_are_cut(events: list[tuple[str, list[str]]], cuts: list[int], end: str) -> None:
    written = "".join(
        f"{f'event: {name}{end}' if name else ''}{''.join(f'data: {line}{end}' for line in lines)}{end}" for name, lines in events
    ).encode()
    framing = SseFraming()
    found = [frame for piece in pieces(written, cuts) for frame in framing.feed(piece)]
    assert seen(found) == [(name, "\n".join(lines).encode(), False) for name, lines in events]


def test_what_is_no_event_is_none() -> None:
    framing = SseFraming()
    found = list(framing.feed(b"\n\n\nretry: 3\n\n: comment\n\nid: 7\ndata:x\n\ndata: unfinished\n"))
    assert seen(found) == [(":", b"", False), ("", b"x", True)]


@given(CUTS)
def test_line_ends_may_change_in_the_middle(cuts: list[int]) -> None:
    written = b"event: a\ndata: 1\n\nevent: b\ndata: 2\r\n\r\nevent: c\r\ndata: 3\n\nevent: d\rdata: 4\r\revent: e\ndata: 5\n\n"
    framing = SseFraming()
    found = [frame for piece in pieces(written, cuts) for frame in framing.feed(piece)]
    assert seen(found) == [(name, b"%d" % number, False) for number, name in enumerate("abcde", start=1)]


def header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()


def frame(payload: bytes, **headers: str) -> bytes:
    named = b"".join(header(f":{name.replace('_', '-')}", value) for name, value in headers.items())
    # Headers of other types stand beside those that matter: a flag, a number, a time.
    named += b"\x01f\x00" + b"\x01n\x04" + struct.pack(">i", -3) + b"\x01t\x08" + struct.pack(">q", 1)
    prelude = struct.pack(">II", 16 + len(named) + len(payload), len(named))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + named + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def bedrock(event: dict[str, object]) -> bytes:
    inner = base64.b64encode(json.dumps(event).encode()).decode()
    return frame(
        json.dumps({"bytes": inner, "p": "abcd"}).encode(), event_type="chunk", content_type="application/json", message_type="event"
    )


EVENTS = [json.loads(line.removeprefix("data: ")) for line in whole_message().decode().splitlines() if line.startswith("data: ")]


@given(CUTS)
def test_bedrocks_frames_hold_the_same_events(cuts: list[int]) -> None:
    framing, response = AwsFraming(), Response()
    written = b"".join(bedrock(event) for event in EVENTS) + frame(b"{}", event_type="other", message_type="event")
    found = [one for piece in pieces(written, cuts) for one in framing.feed(piece)]
    for at_ns, one in enumerate(found, start=1):
        response.take(one, at_ns)
    assert (response.id, response.stopped_ns, [block.size for block in response.blocks.values()]) == ("msg_1", len(EVENTS), [5])


def test_an_exception_in_bedrocks_stream_is_an_error_event() -> None:
    written = frame(b'{"message":"Too many requests"}', exception_type="throttlingException", message_type="exception")
    response = Response()
    for one in AwsFraming().feed(written):
        response.take(one, 5)
    assert (response.error_ns, *response.error.values()) == (5, "throttlingException", "Too many requests")


@pytest.mark.parametrize("at", [0, 9, 20, -6, -1])
def test_a_damaged_frame_ends_the_reading(at: int) -> None:
    written = bytearray(bedrock(EVENTS[0]))
    written[at] ^= 0x40
    read = Body({"Content-Type": CONTENT_TYPE})
    assert list(read.feed(bytes(written))) == []
    assert read.unread == "a damaged frame"
    assert (list(read.feed(bedrock(EVENTS[0]))), read.size) == ([], len(written) + len(bedrock(EVENTS[0])))


def raw_deflate(data: bytes) -> bytes:
    squeezer = zlib.compressobj(wbits=-15)
    return squeezer.compress(data) + squeezer.flush()


@given(st.binary(max_size=400), CUTS)
def test_encodings_are_undone_wherever_they_are_cut(data: bytes, cuts: list[int]) -> None:
    encoded = {
        "gzip": gzip.compress(data),
        "X-GZIP": gzip.compress(data[:50]) + gzip.compress(data[50:]),
        "deflate": zlib.compress(data),
        "Deflate": raw_deflate(data),
        "deflate, gzip": gzip.compress(zlib.compress(data)),
        "identity": data,
    }
    for name, written in encoded.items():
        steps = decoders(name)
        assert b"".join(decode(steps, piece) for piece in pieces(written, cuts)) == data, name


@pytest.mark.parametrize("name", ["br", "zstd", "compress"])
def test_what_a_python_cannot_undo_it_says(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for library in ("brotli", "brotlicffi", "compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unreadable, match=f"no decoder for {name}"):
        decoders(name)


def test_a_decoder_of_a_library_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Decompressor:
        def process(self, piece: bytes) -> bytes:
            return piece[::-1]

    brotli = ModuleType("brotli")
    brotli.Decompressor = Decompressor  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "brotli", brotli)
    assert decode(decoders("br"), b"abc") == b"cba"


def test_a_bomb_is_not_followed() -> None:
    bomb = gzip.compress(b"\0" * (65 * 1024 * 1024))
    with pytest.raises(Unreadable, match="too large"):
        decode(decoders("gzip"), bomb)


def test_damaged_data_is_told() -> None:
    read = Body({"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
    assert list(read.feed(b"this is no gzip")) == []
    assert read.unread == "damaged gzip data"


def test_a_body_beyond_all_measure_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_KEPT", 10)
    read = Body({"Content-Type": "application/json"})
    list(read.feed(b"[1, 2, 3]"))
    assert read.value() == [1, 2, 3]
    list(read.feed(b"  "))
    assert (read.value(), read.unread) == (None, "too large to be kept")


def test_an_event_without_an_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracekit.capture.gateway import sse

    monkeypatch.setattr(sse, "_LARGEST", 100)
    read = Body({"Content-Type": "text/event-stream"})
    list(read.feed(b"data: " + b"x" * 200))
    assert read.unread == "an event without an end"


def test_half_a_character_is_read_all_the_same() -> None:
    response = Response(content=True)
    start = Frame.of("content_block_start", b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
    half = Frame.of("content_block_delta", b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}')
    for one in (start, half):
        response.take(one, 1)
    assert response.blocks[0].size == 3


DELTAS = st.fixed_dictionaries(
    {
        "type": st.just("content_block_delta"),
        "index": st.integers(0, 3),
        "delta": st.one_of(
            st.fixed_dictionaries({"type": st.just("text_delta"), "text": st.text(max_size=20)}),
            st.fixed_dictionaries({"type": st.just("input_json_delta"), "partial_json": st.text(max_size=20)}),
            st.fixed_dictionaries({"type": st.just("signature_delta"), "signature": st.text(max_size=20)}),
        ),
    },
    optional={"more": st.text(max_size=3)},
)


@given(
    deltas=st.lists(DELTAS),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]),
    is_ascii=st.booleans(),
    padding=st.sampled_from(["", "   "]),
)
def test_a_glance_at_a_delta_sees_what_parsing_it_would(
    deltas: list[dict[str, Any]], separators: tuple[str, str], *, is_ascii: bool, padding: str
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tracekit.capture.gateway.deltas._LARGE", 0)
        _see(deltas, separators, is_ascii=is_ascii, padding=padding)


def _see(deltas: list[dict[str, Any]], separators: tuple[str, str], *, is_ascii: bool, padding: str) -> None:
    glanced, parsed = Response(content=True), Response(content=True)
    for index in range(3):
        start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        for response in (glanced, parsed):
            response.take(Frame.of("content_block_start", json.dumps(start).encode()), 1)
    for delta in deltas:
        written = json.dumps(delta, separators=separators, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        glanced.take(Frame.of("content_block_delta", written.replace(b"}}", b"}" + padding.encode() + b"}")), 2)
        # A field before all others hides the shape, and nothing else.
        parsed.take(Frame.of("content_block_delta", b'{"first":1,' + written[1:]), 2)
    for seen, known in zip(glanced.blocks.values(), parsed.blocks.values(), strict=True):
        assert (seen.size, "".join(seen.pieces or [])) == (known.size, "".join(known.pieces or []))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_very_large_event_is_put_together_without_looking_at_it_again_and_again(end: bytes) -> None:
    piece, framing = b"x" * 65_536, SseFraming()
    began = time.process_time()
    list(framing.feed(b"event: big" + end + b"data: "))
    for _ in range(600):
        assert list(framing.feed(piece)) == []
    (found,) = framing.feed(end + end)
    assert (found.name, len(found.data)) == ("big", 600 * len(piece))
    # Quadratic work would take minutes.
    assert time.process_time() - began < 10
