"""Telemetry bodies of a run: read their spans, and scrub them before they are kept."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

HOST_DETAILS: Final = ("os.", "host.", "user.", "wsl.", "terminal.", "anthropic.custom_base_url")
CHATTER: Final = frozenset({"plugin_loaded", "hook_registered", "managed_settings_resolved", "retention_sweep"})
"""Log events about the client's own setup."""


class ClientSpan(NamedTuple):
    """A span as the client exported it; times are Unix nanoseconds."""

    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]


def spans(run: Path) -> Iterator[ClientSpan]:
    """Read every span of a run's trace bodies."""
    for path in sorted((run / "otlp").glob("*.traces.pb")):
        body = ExportTraceServiceRequest.FromString(path.read_bytes())
        for scope in (scope for resource in body.resource_spans for scope in resource.scope_spans):
            for span in scope.spans:
                attributes = {attribute.key: _plain(attribute.value) for attribute in span.attributes}
                yield ClientSpan(span.name, span.start_time_unix_nano, span.end_time_unix_nano, attributes)


def scrub(path: Path, clean: Callable[[str], str]) -> None:
    """Cut host details and setup chatter out of a body, and pass its strings through `clean`; an empty body goes."""
    if path.name.endswith(".traces.pb"):
        kept = _scrub_traces(path.read_bytes(), clean)
    elif path.name.endswith(".logs.pb"):
        kept = _scrub_logs(path.read_bytes(), clean)
    else:
        kept = b""
    if kept:
        path.write_bytes(kept)
    else:
        path.unlink()


def _scrub_traces(raw: bytes, clean: Callable[[str], str]) -> bytes:
    body = ExportTraceServiceRequest.FromString(raw)
    for resource in body.resource_spans:
        _scrub_attributes(resource.resource.attributes, clean)
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            _scrub_attributes(span.attributes, clean)
            span.status.message = clean(span.status.message)
            for event in span.events:
                _scrub_attributes(event.attributes, clean)
    return bytes(body.SerializeToString(deterministic=True))


def _scrub_logs(raw: bytes, clean: Callable[[str], str]) -> bytes:
    body = ExportLogsServiceRequest.FromString(raw)
    left = 0
    for resource in body.resource_logs:
        _scrub_attributes(resource.resource.attributes, clean)
        for scope in resource.scope_logs:
            kept = [record for record in scope.log_records if record.body.string_value.removeprefix("claude_code.") not in CHATTER]
            del scope.log_records[:]
            scope.log_records.extend(kept)
            left += len(kept)
            for record in scope.log_records:
                _scrub_attributes(record.attributes, clean)
    return bytes(body.SerializeToString(deterministic=True)) if left else b""


def _scrub_attributes(found: Any, clean: Callable[[str], str]) -> None:  # a protobuf container has no public type
    kept: list[KeyValue] = [attribute for attribute in found if not attribute.key.startswith(HOST_DETAILS)]
    for attribute in kept:
        if attribute.value.HasField("string_value"):
            attribute.value.string_value = clean(attribute.value.string_value)
    del found[:]
    found.extend(kept)


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)
