"""What is kept of what is said: of arguments and results size and digest, which tell a loop, and only with content the words."""

import json
from collections.abc import Mapping

from tracekit.instrument.handle import Told
from tracekit.instrument.runtime import RUNTIME
from tracekit.model import semconv
from tracekit.model.digest import compact_json, digest
from tracekit.model.redact import mask_secrets


def kept_input(arguments: object) -> dict[str, Told]:
    """Size and digest of the arguments of a call."""
    return _kept(arguments, semconv.TOOL_INPUT_SIZE, semconv.TOOL_INPUT_DIGEST)


def kept_result(value: object) -> dict[str, Told]:
    """Size and digest of what a tool gave back; nothing of nothing."""
    return {} if value is None else _kept(value, semconv.TOOL_RESULT_SIZE, semconv.TOOL_RESULT_DIGEST)


def kept_content(value: object) -> dict[str, Told]:
    """What was said, in full and without its secrets, where content is wanted: text as it is, anything else as JSON."""
    return {semconv.CONTENT: _text(_as_bytes(value))} if RUNTIME.content else {}


def without_content(said: Mapping[str, Told]) -> dict[str, Told]:
    """What both the call and its execution say: the arguments are the call's content, the result the execution's."""
    return {name: value for name, value in said.items() if name != semconv.CONTENT}


def _kept(value: object, size: str, digest_: str) -> dict[str, Told]:
    data = _as_bytes(value)
    said: dict[str, Told] = {size: len(data), digest_: digest(data)}
    if RUNTIME.content:
        said[semconv.CONTENT] = _text(data)
    return said


def _text(data: bytes) -> str:
    return mask_secrets(data.decode(errors="replace"))


def _as_bytes(value: object) -> bytes:
    return value.encode(errors="surrogatepass") if isinstance(value, str) else _as_json(value)


def _as_json(value: object) -> bytes:
    """What a tool is called with, or gives back, is anything: objects by their fields, and what cannot be said in JSON by its repr."""
    try:
        return compact_json(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return json.dumps(value, separators=(",", ":"), default=_fields).encode()
    except (TypeError, ValueError, RecursionError):
        return repr(value).encode(errors="replace")


def _fields(value: object) -> object:
    return vars(value) if hasattr(value, "__dict__") else repr(value)
