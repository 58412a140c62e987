"""Bytes pass as they came and at once, whoever breaks off, and whatever becomes of the record."""

import asyncio
import gzip
import hashlib
import json
import random
import threading
from pathlib import Path

import pytest

from tests.capture.gateway.world import (
    ASKING,
    KEY,
    Request,
    Server,
    World,
    asking,
    attribute,
    block,
    chunk,
    chunked,
    gateway_before,
    head,
    message_end,
    message_start,
    run,
    silence,
    sse,
    until,
    whole,
    whole_message,
    world,
)
from tracekit.capture.gateway import Upstream
from tracekit.capture.gateway.exchange import ModelExchange
from tracekit.model import Boundary, Status, semconv
from tracekit.spool import Spool

CAPTURES = Path(__file__).parents[2] / "data" / "captures"


def recorded(name: str) -> bytes:
    """The stream of a capture, as the client passed it on."""
    lines = [json.loads(line)["line"] for line in (CAPTURES / name / "stream.jsonl").read_text().splitlines()]
    events = [line["event"] for line in lines if line["type"] == "stream_event"]
    return b"".join(sse(event["type"], **{key: value for key, value in event.items() if key != "type"}) for event in events)


def cut_up(data: bytes, seed: int) -> list[bytes]:
    """Pieces of 1 to 80 bytes: events, lines and characters are cut anywhere."""
    chance, pieces, at = random.Random(seed), list[bytes](), 0  # noqa: S311  (nothing is kept secret by it)
    while at < len(data):
        size = chance.randint(1, 80)
        pieces.append(data[at : at + size])
        at += size
    return pieces


async def raw(here: World, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client without manners: only what it writes is sent."""
    port = int(here.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    return reader, writer


def posted(body: bytes | None = None, path: str = "/v1/messages") -> bytes:
    body = json.dumps(asking()).encode() if body is None else body
    told = {"Host": "127.0.0.1", **ASKING, "Content-Length": str(len(body))}
    return "\r\n".join([f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items()), "", ""]).encode() + body


@pytest.mark.parametrize("name", ["overlap", "parallel_reads", "subagent"])
def test_recorded_streams_pass_unchanged_however_they_are_cut(tmp_path: Path, name: str) -> None:
    sent = recorded(name)

    async def test() -> None:
        for seed in range(3):
            async with world(tmp_path / str(seed), chunked(*cut_up(sent, seed))) as here:
                assert await here.ask() == sent
                assert here.gateway.gaps == 0

    run(test())


def test_characters_that_are_cut_in_two_pass_and_are_counted_whole(tmp_path: Path) -> None:
    sent = b"".join([message_start(), *block(0, "åß∂", "🙂 ƒin"), *message_end()])

    async def test() -> None:
        async with world(tmp_path, chunked(*(sent[at : at + 1] for at in range(len(sent))))) as here:
            assert await here.ask() == sent
            row = await here.row("stream_event")
            assert attribute(row, semconv.BLOCK_SIZE) == str(len("åß∂🙂 ƒin".encode()))

    run(test())


def test_a_compressed_stream_stays_compressed_and_is_read_all_the_same(tmp_path: Path) -> None:
    sent = gzip.compress(whole_message())

    async def test() -> None:
        async with world(tmp_path, chunked(*cut_up(sent, 1), Content_Encoding="gzip")) as here:
            assert await here.ask() == sent
            row = await here.row("model_request")
            assert row["status"] == Status.OK
            assert attribute(row, semconv.RESPONSE_ID) == "msg_1"
            assert attribute(row, semconv.RESPONSE_SIZE) == str(len(sent))

    run(test())


def test_an_encoding_that_cannot_be_undone_passes_and_is_told(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(b"\x01\x02\x03", Content_Encoding="rot13")) as here:
            assert await here.ask() == b"\x01\x02\x03"
            row = (await here.row("model_request"))["attributes"]
            assert row[semconv.UNREAD] == "no decoder for rot13"
            assert semconv.STREAM_CUT not in row

    run(test())


def test_a_large_answer_passes_unchanged(tmp_path: Path) -> None:
    noise = random.Random(7).randbytes(64 * 1024).hex()  # noqa: S311  (as above)
    sent = b"".join([message_start(), *block(0, *[noise] * 1_600), *message_end()])
    assert len(sent) > 200_000_000

    async def test() -> None:
        async with world(tmp_path, whole(sent)) as here:
            assert hashlib.sha256(await here.ask()).digest() == hashlib.sha256(sent).digest()
            row = await here.row("stream_event")
            assert attribute(row, semconv.BLOCK_SIZE) == str(1_600 * len(noise))

    run(test())


def test_each_piece_passes_before_the_next_is_written(tmp_path: Path) -> None:
    got: asyncio.Queue[bytes] = asyncio.Queue()
    pieces = [message_start(), *block(0, "one", "two"), *message_end()]

    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(Transfer_Encoding="chunked"))
        assert await got.get() == b"head"
        for piece in pieces:
            writer.write(chunk(piece))
            assert await got.get() == piece
        writer.write(b"0\r\n\r\n")

    async def test() -> None:
        async with world(tmp_path, play) as here, here.client.post(f"{here.url}/v1/messages", json=asking(), headers=ASKING) as answer:
            await got.put(b"head")
            seen = b""
            async for piece in answer.content.iter_any():
                seen += piece
                await got.put(piece)
            assert seen == b"".join(pieces)

    run(test())


def test_a_request_passes_while_it_is_still_being_sent(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"half of it")
        arrived.set()
        await reader.readuntil(b"the rest")
        writer.write(head(Content_Length="2") + b"ok")

    async def test() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, gateway_before(Upstream(f"http://127.0.0.1:{port}", environment={}), tmp_path) as here:
            reader, writer = await raw(here, posted(b"half of it, and the rest").removesuffix(b", and the rest"))
            await arrived.wait()
            writer.write(b", and the rest")
            assert b"200 Some-Reason" in await reader.readuntil(b"ok")
            writer.close()

    run(test())


def test_a_body_beyond_all_measure_passes_and_is_not_kept(tmp_path: Path) -> None:
    sent = bytes(34 * 1024 * 1024)

    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            for path in ("/v1/messages", "/v1/files"):
                await here.ask(path, sent)
            assert [len(request.body) for request in here.requests] == [len(sent), len(sent)]
            row = await here.row("model_request")
            assert (row["status"], row["name"]) == (Status.OK, "")

    run(test())


def test_an_answer_that_comes_before_the_request_is_whole_passes(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'
        writer.write(head(413, "application/json", Content_Length=str(len(body)), Connection="close") + body)
        await writer.drain()

    async def test() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with gateway_before(Upstream(f"http://127.0.0.1:{port}", environment={}), tmp_path) as here:
                request = posted(b"x" * 1000)
                reader, writer = await raw(here, request[:-10])
                assert b" 413 " in await reader.readuntil(b"maximum size")
                writer.close()
                row = await here.row("request_attempt")
                assert (row["status"], attribute(row, semconv.ERROR_TYPE)) == (Status.ERROR, "request_too_large")

    run(test())


def test_heads_pass_as_they_are_but_for_what_belongs_to_one_connection(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        told = "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: ümlaut\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: 5\r\n"
        writer.write(f"HTTP/1.1 299 Odd\r\n{told}Content-Length: 2\r\n\r\nok".encode())

    async def test() -> None:
        async with world(tmp_path, play, prefix="/llm/gw") as here:
            request = posted(b"{}", "/v1/messages?beta=true&x=%2F%C3%BC//").replace(
                b"Host", b"Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nHost"
            )
            reader, writer = await raw(here, request)
            answer = (await reader.readuntil(b"\r\n\r\nok")).decode()
            writer.close()
            assert answer == "HTTP/1.1 299 Odd\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: ümlaut\r\nContent-Length: 2\r\n\r\nok"
            (got,) = here.requests
            assert got.target == "/llm/gw/v1/messages?beta=true&x=%2F%C3%BC//"
            assert got.headers[1:] == [*ASKING.items(), ("Content-Length", "2")]
            assert got.headers[0][0] == "Host"

    run(test())


@pytest.mark.parametrize("undone", [False, True])
def test_a_compressed_request_passes_and_is_read(tmp_path: Path, *, undone: bool) -> None:
    plain = json.dumps(asking(model="claude-zipped")).encode()
    server = Server(whole(whole_message()))

    async def test() -> None:
        async with server.listening() as port:
            upstream = Upstream(f"http://127.0.0.1:{port}", environment={})
            async with gateway_before(upstream, tmp_path, auto_decompress=undone) as here:
                await here.ask(body=gzip.compress(plain), **{"Content-Encoding": "gzip"})
                (got,) = server.requests
                # A web server that undoes encodings itself leaves nothing to pass on but what was inside.
                assert (gzip.decompress(got.body), got.header("Content-Encoding")) == (plain, "gzip") if not undone else (got.body, None)
                assert (await here.row("model_request"))["name"] == "claude-zipped"

    run(test())


def test_other_requests_pass_without_a_record(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(b"moved", 307, "text/plain", Location="/elsewhere")) as here:
            for method in ("GET", "DELETE", "PUT"):
                async with here.client.request(method, f"{here.url}/v1/models", data=b"x", allow_redirects=False) as answer:
                    assert (answer.status, answer.headers["Location"], await answer.read()) == (307, "/elsewhere", b"moved")
            async with here.client.get(f"{here.url}/v1/messages", allow_redirects=False) as answer:
                assert answer.status == 307
            assert [request.method for request in here.requests] == ["GET", "DELETE", "PUT", "GET"]
        assert here.rows() == []

    run(test())


def test_a_probe_for_the_head_alone_passes(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(200, "application/json", Content_Length="20"))

    async def test() -> None:
        async with world(tmp_path, play) as here, here.client.head(f"{here.url}/") as answer:
            assert (answer.status, answer.headers["Content-Length"], await answer.read()) == (200, "20", b"")

    run(test())


def test_a_client_that_leaves_in_mid_stream_is_seen_at_once_and_the_upstream_is_left_too(tmp_path: Path) -> None:
    server = Server(chunked(message_start(), *block(0, "one")[:2], *[b"event: ping\ndata: {}\n\n"] * 10_000, pause=0.01))

    async def test() -> None:
        async with server.listening() as port, gateway_before(Upstream(f"http://127.0.0.1:{port}", environment={}), tmp_path) as here:
            reader, writer = await raw(here, posted())
            await reader.readuntil(b"content_block_delta")
            writer.close()
            await asyncio.wait_for(server.left.wait(), 5)
            row = await here.row("model_request")
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.CANCELLED, "client")
            lost = await here.row("stream_event")
            assert (lost["status"], attribute(lost, semconv.STREAM_CUT)) == (Status.CANCELLED, "client")

    run(test())


def test_an_upstream_that_never_answers_is_an_open_attempt_while_it_hangs(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, silence) as here:
            _, writer = await raw(here, posted())
            row = await here.row("request_attempt", is_open=True)
            assert (row["session_id"], row["name"]) == (ASKING["X-Claude-Code-Session-Id"], "claude-x")
            assert here.rows(boundary=Boundary.MODEL_REQUEST) == []
            writer.close()
            closed = await here.row("request_attempt")
            assert (closed["status"], attribute(closed, semconv.STREAM_CUT)) == (Status.CANCELLED, "client")
            assert closed["key"] == row["key"]

    run(test())


def test_an_upstream_that_falls_silent_is_an_open_request_that_says_since_when(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head(Transfer_Encoding="chunked") + chunk(message_start() + block(0, "x")[0]))
        await writer.wait_closed()

    async def test() -> None:
        async with world(tmp_path, play) as here:
            _, writer = await raw(here, posted())
            row = await here.row("model_request", is_open=True)
            assert row["key"] == "req_1"
            assert int(row["attributes"][semconv.LAST_EVENT_NS]) >= int(row["attributes"][semconv.FIRST_BYTE_NS]) > row["start_ns"]
            assert attribute(row, semconv.BLOCK_TYPE) == "text"
            writer.close()
            await here.row("model_request")

    run(test())


def test_a_stream_that_the_upstream_cuts_is_cut_for_the_client_behind_all_that_had_come(tmp_path: Path) -> None:
    sent = b"".join([message_start(), *block(0, "one")])

    async def test() -> None:
        async with world(tmp_path, chunked(sent, end=False)) as here:
            reader, writer = await raw(here, posted())
            answer = await reader.read()
            writer.close()
            assert answer.endswith(chunk(sent))
            row = await here.row("model_request")
            assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.ERROR, "upstream")
            assert attribute(row, semconv.ERROR_TYPE) == "ClientPayloadError"
            assert (await here.row("request_attempt"))["status"] == Status.OK

    run(test())


def test_a_slow_client_still_gets_all_that_came_before_the_cut(tmp_path: Path) -> None:
    sent = [b"%d" % number * 1024 for number in range(3_000)]

    async def test() -> None:
        async with world(tmp_path, chunked(*sent, end=False)) as here:
            reader, writer = await raw(here, posted())
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.5)
            answer = await reader.read()
            writer.close()
            assert answer.endswith(sent[-1] + b"\r\n")

    run(test())


def test_an_upstream_that_is_down_is_a_502_in_the_shape_of_the_api_and_a_closed_attempt(tmp_path: Path) -> None:
    async def test() -> None:
        upstream = Upstream("http://127.0.0.1:9", environment={})
        async with (
            gateway_before(upstream, tmp_path) as here,
            here.client.post(f"{here.url}/v1/messages", json=asking(), headers=ASKING) as answer,
        ):
            assert (answer.status, answer.content_type) == (502, "application/json")
            said = await answer.json()
            assert (said["type"], said["error"]["type"]) == ("error", "api_error")
            assert "http://127.0.0.1:9: Connection refused (ECONNREFUSED)" in said["error"]["message"]
            row = await here.row("request_attempt")
            assert (row["status"], row["name"]) == (Status.ERROR, "claude-x")
            assert (attribute(row, semconv.ERROR_CODE), attribute(row, semconv.HTTP_STATUS)) == ("ECONNREFUSED", None)
            assert here.rows(boundary=Boundary.MODEL_REQUEST) == []

    run(test())


def test_an_upstream_that_hangs_up_without_a_word_is_a_502(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def test() -> None:
        async with world(tmp_path, play) as here:
            assert b"Server disconnected" in await here.ask()
            row = await here.row("request_attempt")
            assert (row["status"], attribute(row, semconv.ERROR_TYPE)) == (Status.ERROR, "ServerDisconnectedError")

    run(test())


def test_a_gateway_that_is_stopped_says_so_of_what_was_under_way(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, silence) as here:
            _, writer = await raw(here, posted())
            await here.row("request_attempt", is_open=True)
        writer.close()
        (row,) = here.closed("request_attempt")
        assert (row["status"], attribute(row, semconv.STREAM_CUT)) == (Status.CANCELLED, "gateway")

    run(test())


def test_a_spool_that_cannot_be_written_is_a_gap_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")

    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            assert await here.ask() == whole_message()
            await until(lambda: here.gateway.gaps == 5)

    run(test())


def test_a_spool_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = threading.Event()

    def hang(*_: object) -> None:
        stuck.wait(20)

    monkeypatch.setattr(Spool, "write", hang)

    async def test() -> None:
        try:
            async with world(tmp_path, whole(whole_message())) as here:
                assert await here.ask() == whole_message()
                stuck.set()
        finally:
            stuck.set()

    run(test())


def test_a_recorder_that_fails_is_a_gap_and_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    for name in ("moment", "asked", "answered", "received", "ended"):
        monkeypatch.setattr(ModelExchange, name, broken)

    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            assert await here.ask() == whole_message()
            await until(lambda: here.gateway.gaps >= 5)

    run(test())


@pytest.mark.parametrize("content", [False, True])
def test_credentials_never_reach_the_spool(tmp_path: Path, *, content: bool) -> None:
    secret = "sk-ant-oat01-anothersecret"
    echoed = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid x-api-key {KEY}"}}
    plays = [whole(json.dumps(echoed).encode(), 401, "application/json", Set_Cookie=f"a={secret}"), whole(whole_message())]

    async def test() -> None:
        async with world(tmp_path, *plays, content=content) as here:
            for _ in plays:
                said = asking(messages=[{"role": "user", "content": f"my key is {KEY}, hush"}])
                told = {"Authorization": f"Bearer {secret}", "Cookie": f"s={secret}", "Proxy-Authorization": f"Basic {secret}"}
                await here.ask("/v1/messages?key=" + secret, said, **told)
        written = json.dumps(here.rows())
        assert len(here.closed("request_attempt")) == 2
        assert "secret" not in written.replace("[secret]", "")
        assert ("hush" in written) is content

    run(test())
