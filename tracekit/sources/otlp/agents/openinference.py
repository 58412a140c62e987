"""OpenInference: spans that name their kind, with the conversation flattened into attributes."""

import re
from typing import Final

from tracekit.model import Event, Value, semconv
from tracekit.sources.otlp.agents import genai
from tracekit.sources.otlp.agents.sighting import AGENT, Sighting
from tracekit.sources.otlp.records import SpanRecord
from tracekit.sources.otlp.values import Attributes, integer, number, present, text

_CALL_ID: Final = re.compile(r"llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call\.id")
_FIRST_TOKEN: Final = "First Token Stream Event"


def sight(record: SpanRecord) -> Sighting | None:
    """Read a span; None where it names no kind, or one that is no boundary (CHAIN, RETRIEVER, EMBEDDING, …)."""
    match record.attributes.get("openinference.span.kind"):
        case "LLM":
            return _request(record)
        case "TOOL":
            return _tool(record)
        case "AGENT":
            name = text(record.attributes, "agent.name", "gen_ai.agent.name", "graph.node.name") or record.name
            return Sighting(AGENT, name, attributes={semconv.AGENT_TYPE: name} | genai.failure(record))
        case _:
            return None


def _request(record: SpanRecord) -> Sighting:
    own = record.attributes
    found = genai.request(record)
    model = text(own, "llm.request.model_name", "llm.model_name", "llm.response.model_name") or found.name
    attributes = present(
        (
            (semconv.PROVIDER, text(own, "llm.provider", "llm.system")),
            (semconv.REQUEST_MODEL, model),
            (semconv.RESPONSE_MODEL, text(own, "llm.response.model_name")),
            (semconv.STOP_REASON, text(own, "llm.finish_reason")),
            (semconv.COST_USD, number(own, "llm.cost.total")),
        ),
    )
    calls = tuple(value for name, value in own.items() if isinstance(value, str) and _CALL_ID.fullmatch(name))
    merged = {**found.attributes, **attributes, **_usage(own), **_first_token(record.events)}
    return found._replace(name=model, attributes=merged, calls=calls)


def _usage(own: Attributes) -> dict[str, Value]:
    total = integer(own, "llm.token_count.prompt")
    read = integer(own, "llm.token_count.prompt_details.cache_read")
    write = integer(own, "llm.token_count.prompt_details.cache_write")
    return present(
        (
            (semconv.INPUT_TOKENS, None if total is None else genai.uncached(total, read, write)),
            (semconv.OUTPUT_TOKENS, integer(own, "llm.token_count.completion")),
            (semconv.CACHE_READ_TOKENS, read),
            (semconv.CACHE_WRITE_TOKENS, write),
        ),
    )


def _first_token(events: tuple[Event, ...]) -> dict[str, Value]:
    return present((semconv.FIRST_CONTENT_NS, event.time_ns) for event in reversed(events) if event.name == _FIRST_TOKEN)


def _tool(record: SpanRecord) -> Sighting:
    own = record.attributes
    found = genai.tool(record)
    name = text(own, "tool.name") or found.name or record.name
    call = found.key or text(own, "tool.id", "tool_call.id")
    attributes = present([(semconv.TOOL_NAME, name), (semconv.TOOL_CALL_ID, call)])
    sizes = genai.measures(text(own, "input.value"), text(own, "output.value"))
    return found._replace(name=name, key=call, attributes={**sizes, **found.attributes, **attributes})
