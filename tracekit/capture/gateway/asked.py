"""What a request to a model says of itself: which API it speaks, for whom it is, and how much it asks."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import unquote

import orjson

from tracekit.capture.gateway.body import value_of
from tracekit.capture.gateway.fields import Object, as_list, as_object, inner, parsed, text
from tracekit.model import Value, semconv
from tracekit.model.redact import mask_secrets

CHAT: Final = "chat"
COUNT_TOKENS: Final = "count_tokens"

SESSION_HEADER: Final = "X-Claude-Code-Session-Id"
AGENT_HEADER: Final = "X-Claude-Code-Agent-Id"

_PARSED: Final = 1_000_000
"""Bytes of a body up to which it is parsed: the largest take as long as a dozen other answers' first bytes may be late."""
_MODEL: Final = re.compile(rb'\s*\{\s*"model"\s*:\s*"([^"\\]+)"')
_USER: Final = re.compile(rb'"metadata"\s*:\s*(\{\s*"user_id"\s*:\s*"(?:[^"\\]|\\.)*"\s*\})')
_TAIL: Final = 4_096

_NANOSECONDS: Final = 1_000_000_000
_SESSION_IN_USER: Final = re.compile(r"_session_([0-9a-f-]{36})$")


class Form(NamedTuple):
    """The API that a path belongs to."""

    operation: str
    """`chat` or `count_tokens`."""
    provider: str
    """In OpenTelemetry's words."""
    model: str = ""
    """Where the path names it."""


_FORMS: Final = (
    (re.compile(r"/v1/messages/?$"), CHAT, "anthropic"),
    (re.compile(r"/v1/messages/count_tokens/?$"), COUNT_TOKENS, "anthropic"),
    (re.compile(r"/models/count-tokens:rawPredict$"), COUNT_TOKENS, "gcp.vertex_ai"),
    (re.compile(r"/models/([^/:]+):(?:streamRawPredict|rawPredict)$"), CHAT, "gcp.vertex_ai"),
    (re.compile(r"/model/([^/]+)/(?:invoke|invoke-with-response-stream)$"), CHAT, "aws.bedrock"),
    (re.compile(r"/model/([^/]+)/count-tokens$"), COUNT_TOKENS, "aws.bedrock"),
)


def form_of(method: str, path: str) -> Form | None:
    """Tell from a path as it stands on the wire which API is asked; None where it is no model's."""
    if method != "POST":
        return None
    for pattern, operation, provider in _FORMS:
        if found := pattern.search(path):
            return Form(operation, provider, unquote(found[1]) if pattern.groups else "")
    return None


class Asked(NamedTuple):
    """What stands in a request's body."""

    attributes: Mapping[str, Value]
    user_id: str = ""
    newest: str = ""
    """The newest message, where content is wanted."""


def read(body: bytes, headers: Mapping[str, str], form: Form, *, content: bool) -> Asked:
    """Read a request's body. Of what it says to the model only numbers are kept; a very large one is only looked at on its edges.

    Args:
        body: As sent.
        headers: Of the request: they tell how the body is encoded.
        form: The API that it is for.
        content: Keep the newest message too, without its secrets.
    """
    is_glimpsed = len(body) > _PARSED and not content
    said = _glimpse(body) if is_glimpsed else as_object(value_of(body, headers))
    messages = as_list(said.get("messages"))
    found: dict[str, Value] = {semconv.REQUEST_SIZE: len(body)}
    if not is_glimpsed:
        found |= {semconv.MESSAGE_COUNT: len(messages), semconv.TOOL_COUNT: len(as_list(said.get("tools")))}
    if model := text(said, "model") or form.model:
        found[semconv.REQUEST_MODEL] = model
    if isinstance(limit := said.get("max_tokens"), int):
        found[semconv.MAX_TOKENS] = limit
    if isinstance(streams := said.get("stream"), bool):
        found[semconv.STREAM] = streams
    newest = mask_secrets(orjson.dumps(messages[-1]).decode()) if content and messages else ""
    return Asked(found, text(inner(said, "metadata"), "user_id"), newest)


def session_of(headers: Mapping[str, str], user_id: str, at_ns: int) -> str:
    """The session that a request belongs to: by its header, by the user id that clients send along, or else by its day."""
    return headers.get(SESSION_HEADER) or session_of_user(user_id) or no_session(at_ns)


def no_session(at_ns: int) -> str:
    """The session of what nobody claims: one for each day."""
    return f"gateway:{datetime.fromtimestamp(at_ns / _NANOSECONDS, UTC):%Y-%m-%d}"


def session_of_user(user_id: str) -> str:
    """The session in a `metadata.user_id`: a JSON object, or in older clients `user_…_account_…_session_…`."""
    if found := _SESSION_IN_USER.search(user_id):
        return found[1]
    return text(as_object(parsed(user_id.encode())), "session_id")


def _glimpse(body: bytes) -> Object:
    """What stands where clients write it: the model first, who asks near the end."""
    found: dict[str, object] = {}
    if model := _MODEL.match(body):
        found["model"] = model[1].decode("utf-8", "replace")
    if user := _USER.search(body, max(0, len(body) - _TAIL)):
        found["metadata"] = as_object(parsed(user[1]))
    return found
