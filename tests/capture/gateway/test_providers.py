"""The same record from every way to the model: Vertex, Bedrock, Foundry, an LLM gateway under a prefix."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.capture.gateway.test_framing import EVENTS, bedrock
from tests.capture.gateway.world import Play, Request, attribute, head, run, tokens, whole, whole_message, world
from tracekit.capture.gateway.asked import form_of
from tracekit.capture.gateway.aws_events import CONTENT_TYPE
from tracekit.model import Status, semconv

VERTEX = "/v1/projects/p/locations/global/publishers/anthropic/models/claude-x@20260101:streamRawPredict"
BEDROCK = "/model/eu.anthropic.claude-x%3A0/invoke-with-response-stream"


def bedrock_stream(*more: bytes) -> Play:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        sent = b"".join([*(bedrock(event) for event in EVENTS), *more])
        # No request id, as with the real one: Amazon's stands elsewhere.
        told = f"HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nx-amzn-RequestId: amzn-1\r\nContent-Length: {len(sent)}\r\n\r\n"
        writer.write(told.encode() + sent)
        await writer.drain()

    return play


def test_vertex_names_the_model_in_its_path(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(whole_message())) as here:
            await here.ask(VERTEX, {"anthropic_version": "vertex-2023-10-16", "messages": [], "stream": True})
            row = await here.row("model_request")
            assert (row["status"], row["name"]) == (Status.OK, "claude-x@20260101")
            assert attribute(row, semconv.PROVIDER) == "gcp.vertex_ai"
            assert here.requests[0].target == VERTEX

    run(test())


def test_bedrock_streams_frames(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, bedrock_stream()) as here:
            assert await here.ask(BEDROCK, {"anthropic_version": "bedrock-2023-05-31", "messages": []}) == b"".join(map(bedrock, EVENTS))
            row = await here.row("model_request")
            assert (row["key"], row["status"], row["name"]) == ("msg_1", Status.OK, "eu.anthropic.claude-x:0")
            assert (attribute(row, semconv.PROVIDER), attribute(row, semconv.REQUEST_ID)) == ("aws.bedrock", "amzn-1")
            assert tokens(row) == ("7", "9")
            assert (await here.row("stream_event"))["key"] == "msg_1#0"
            assert here.requests[0].target == BEDROCK

    run(test())


def test_bedrocks_errors_are_read(tmp_path: Path) -> None:
    async def play(_: Request, writer: asyncio.StreamWriter) -> None:
        body = json.dumps({"message": "Too many tokens, please wait"}).encode()
        writer.write(
            head(429, "application/json", Content_Length=str(len(body)), x_amzn_errortype="ThrottlingException:http://internal.amazon.com/")
            + body
        )

    async def test() -> None:
        async with world(tmp_path, play) as here:
            await here.ask(BEDROCK, {"messages": []})
            row = await here.row("request_attempt")
            assert (row["status"], attribute(row, semconv.ERROR_TEXT)) == (Status.ERROR, "Too many tokens, please wait")
            assert attribute(row, semconv.ERROR_TYPE) == "ThrottlingException"

    run(test())


@pytest.mark.parametrize("prefix", ["/anthropic", "/team/llm/"])
def test_a_prefix_stands_before_every_path(tmp_path: Path, prefix: str) -> None:
    async def test() -> None:
        async with world(tmp_path, whole(whole_message()), prefix=prefix) as here:
            await here.ask("/v1/messages?beta=true")
            assert (await here.row("model_request"))["status"] == Status.OK
            assert here.requests[0].target == f"{prefix.rstrip('/')}/v1/messages?beta=true"

    run(test())


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v1/messages", "chat"),
        ("/anthropic/v1/messages", "chat"),
        ("/v1/messages/count_tokens", "count_tokens"),
        ("/v1/messages/batches", None),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "count_tokens"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-x:rawPredict", "chat"),
        ("/model/claude-x/invoke", "chat"),
        ("/model/claude-x/count-tokens", "count_tokens"),
        ("/v1/models", None),
        ("/api/event_logging/batch", None),
    ],
)
def test_the_path_tells_what_is_asked(path: str, operation: str | None) -> None:
    form = form_of("POST", path)
    assert (form.operation if form else None) == operation
    assert form_of("GET", path) is None
