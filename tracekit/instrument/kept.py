"""What is kept of arguments and results: their size and a digest, which tell a loop, and only with content what they say."""

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


def _kept(value: object, size: str, digest_: str) -> dict[str, Told]:
    data = value.encode(errors="surrogatepass") if isinstance(value, str) else compact_json(value)
    said: dict[str, Told] = {size: len(data), digest_: digest(data)}
    if RUNTIME.content:
        said[semconv.CONTENT] = mask_secrets(data.decode(errors="replace"))
    return said
