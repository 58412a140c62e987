"""What a call asks of the model, in numbers and names: never what it says."""

from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from tracekit.instrument.usage import field
from tracekit.model import semconv

if TYPE_CHECKING:
    import httpx2
    from anthropic._base_client import BaseClient
    from anthropic._models import FinalRequestOptions

    from tracekit.instrument.handle import Told

_MESSAGES: Final = "/v1/messages"
_POST: Final = "post"
_ANTHROPIC: Final = "anthropic"


def is_model_request(options: "FinalRequestOptions") -> bool:
    """Whether a call asks for a message, rather than for a list of models, a count of tokens or a batch."""
    return options.method.lower() == _POST and (options.url == _MESSAGES or urlsplit(options.url).path.rstrip("/") == _MESSAGES)


def provider_of(client: "BaseClient[Any, Any]") -> str:
    """Whose model it is, in the words of the GenAI conventions: Bedrock's and Vertex's clients say so."""
    return str(getattr(client, "_gen_ai_provider_name", _ANTHROPIC))


def model_of(options: "FinalRequestOptions") -> str:
    """The model that is asked for."""
    return str(field(options.json_data, "model") or "")


def numbers_of(options: "FinalRequestOptions") -> "dict[str, Told]":
    """How much is asked."""
    found: dict[str, Told] = {}
    for name, attribute in (("messages", semconv.MESSAGE_COUNT), ("tools", semconv.TOOL_COUNT)):
        listed = field(options.json_data, name)
        found[attribute] = len(cast("list[object]", listed)) if isinstance(listed, list) else 0
    if isinstance(limit := field(options.json_data, "max_tokens"), int):
        found[semconv.MAX_TOKENS] = limit
    return found


def size_of(request: "httpx2.Request") -> int | None:
    """Bytes of the body, as sent; None of one that is read as it is sent."""
    try:
        return len(request.content)
    except RuntimeError:
        return None
