"""OTLP/JSON: a body a document, or a body a line as file exporters write them.

Read by hand: protobuf's own JSON parser takes the hex ids for base64 and gives wrong ones without a word.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from tracekit.model import Event, Problem, Value
from tracekit.sources.otlp.records import STATUS_ERROR, STATUS_OK, LogRecord, Place, Record, SpanRecord
from tracekit.sources.otlp.values import Attributes, flag, integer, joined, nested, number, spelled

Json = dict[str, Any]

_TRACES: Final = ("resourceSpans", "scopeSpans", "spans")
_LOGS: Final = ("resourceLogs", "scopeLogs", "logRecords")
_BODIES: Final = frozenset({"resourceSpans", "resourceLogs", "resourceMetrics"})
_STATUS_NAMES: Final = {"STATUS_CODE_OK": STATUS_OK, "STATUS_CODE_ERROR": STATUS_ERROR}
_KIND_NAMES: Final = {
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}


def looks_like_otlp_json(first_object: Mapping[str, object]) -> bool:
    """Tell whether a file whose first JSON object this is holds OTLP."""
    return any(isinstance(first_object.get(name), list) for name in _BODIES)


def decode_json(found: object, place: Place) -> Iterator[Record | Problem]:
    """Give the records of one body; all of them stand at `place`. Metrics have none."""
    value = _object(found)
    if not looks_like_otlp_json(value):
        yield Problem(place.line, place.position, "not OTLP", "no resourceSpans, resourceLogs or resourceMetrics")
        return
    for scope, resource, span in _walk(value, *_TRACES):
        yield _span(span, scope, resource, place) if span else _malformed(place, "span")
    for scope, resource, log in _walk(value, *_LOGS):
        yield _log(log, scope, resource, place) if log else _malformed(place, "log record")


def _malformed(place: Place, what: str) -> Problem:
    return Problem(place.line, place.position, "malformed record", f"the {what} is no object, or an empty one")


def _walk(body: Json, groups: str, scopes: str, records: str) -> Iterator[tuple[str, Attributes, Json]]:
    """Give each record with the name of its scope and the attributes of its resource; an empty one where it is no object."""
    for group in _objects(body.get(groups)):
        resource = _attributes(_object(group.get("resource")).get("attributes"))
        for scoped in _objects(group.get(scopes)):
            scope = _text(_object(scoped.get("scope")).get("name"))
            yield from ((scope, resource, record) for record in _objects(scoped.get(records)))


def _span(span: Json, scope: str, resource: Attributes, place: Place) -> SpanRecord:
    status = _object(span.get("status"))
    return SpanRecord(
        scope,
        _text(span.get("name")),
        _enum(span.get("kind"), _KIND_NAMES),
        _identifier(span.get("traceId")),
        _identifier(span.get("spanId")),
        _identifier(span.get("parentSpanId")),
        integer(span, "startTimeUnixNano") or 0,
        integer(span, "endTimeUnixNano") or 0,
        _enum(status.get("code"), _STATUS_NAMES),
        _text(status.get("message")),
        _attributes(span.get("attributes")),
        resource,
        tuple(
            Event(integer(event, "timeUnixNano") or 0, _text(event.get("name")), _attributes(event.get("attributes")))
            for event in _objects(span.get("events"))
        ),
        place,
    )


def _log(log: Json, scope: str, resource: Attributes, place: Place) -> LogRecord:
    body = _value(log.get("body"))
    return LogRecord(
        scope,
        _text(log.get("eventName")) or ("" if body is None else spelled(body)),
        _identifier(log.get("traceId")),
        _identifier(log.get("spanId")),
        integer(log, "timeUnixNano") or integer(log, "observedTimeUnixNano") or 0,
        _attributes(log.get("attributes")),
        resource,
        place,
    )


def _attributes(pairs: object) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for pair in _objects(pairs):
        value = _value(pair.get("value"))
        if value is not None:
            found[_text(pair.get("key"))] = value
    return found


def _value(value: object) -> Value | None:
    """An AnyValue; None where it is empty or of a kind that is not known."""
    held = _object(value)
    for kind, content in held.items():
        match kind:
            case "stringValue":
                return _text(content)
            case "intValue":
                return integer(held, kind)
            case "boolValue":
                return flag(held, kind)
            case "doubleValue":
                return number(held, kind)
            case "arrayValue":
                return joined(_value(item) for item in _objects(_object(content).get("values")))
            case "kvlistValue":
                return nested({_text(pair.get("key")): _value(pair.get("value")) for pair in _objects(_object(content).get("values"))})
            case "bytesValue":
                return _text(content)
            case _:
                continue
    return None


def _object(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[Json]:
    return [_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """Text that the store can hold: half of a surrogate pair, which JSON allows, is not."""
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _identifier(value: object) -> str:
    return value.lower() if isinstance(value, str) else ""


def _enum(value: object, names: Mapping[str, int]) -> int:
    """Enums are numbers by the standard; protobuf's own writer gives names."""
    if isinstance(value, str):
        return names.get(value, 0)
    return value if isinstance(value, int) else 0
