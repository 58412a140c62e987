"""tracekit's parts in OpenTelemetry's SDK: a processor that writes what begins and what ends, an exporter for what ended."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracekit.instrument.claims import CLAIMANT
from tracekit.instrument.guard import blame
from tracekit.instrument.handle import current
from tracekit.instrument.place import Place
from tracekit.instrument.record import is_ours, marks, rows, said_by_span
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.spool import Spool, spool_folder

SPOOL_NAME: Final = "agent"


def new_spool() -> Spool:
    """The file that this process writes."""
    return Spool(spool_folder(), SPOOL_NAME)


def _write(spool: Spool, span: ReadableSpan, said: Mapping[str, Any], place: Place | None, moments: list[Moment] | str | None) -> None:
    """Keep what a span tells, whose attributes these are, with what happened inside it."""
    for row in rows(span, said, place):
        if row["end_ns"] is not None and is_ours(said):
            inside = _with_marks(span, moments) if span.events else moments
            if inside:
                row["events"] = inside if isinstance(inside, str) else orjson.dumps(inside).decode()
        spool.append_line(_line(row))


def _with_marks(span: ReadableSpan, moments: list[Moment] | str | None) -> list[Moment]:
    told: list[Moment] = orjson.loads(moments) if isinstance(moments, str) and moments else list[Moment](moments or ())
    return sorted([*marks(span), *told], key=_time_of)


def _time_of(moment: Moment) -> int:
    return moment[0]


def _line(row: Mapping[str, Any]) -> bytes:
    """A record as a line of JSON: ten times as fast as the standard library, which knows what to do with half of a surrogate pair."""
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return json.dumps(row).encode() + b"\n"


class SpoolProcessor(SpanProcessor):
    """Writes a span that is a boundary to the spool when it begins, and whole when it ends.

    Those are the boundaries of `tracekit.instrument`, what its adapters made ones, and GenAI and MCP spans of other libraries. All else
    passes. An error of its own is never felt by the spans.

    Args:
        spool: Where to; None: a new file in the spool's folder.
    """

    def __init__(self, spool: Spool | None = None) -> None:
        self._spool = spool or new_spool()
        self._places: dict[int, Place] = {}
        """Where spans of others stand that have not ended."""
        self._is_off = False

    @property
    def folder(self) -> Path:
        """Where it writes: what else is recorded of this process goes beside it."""
        return self._spool.folder

    def on_start(self, span: SdkSpan, parent_context: Context | None = None) -> None:
        """A span begins. `parent_context` is where; without one it is where the code is."""
        if self._is_off:
            return
        try:
            self._started(span, parent_context)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    def _started(self, span: SdkSpan, parent_context: Context | None) -> None:
        said = said_by_span(span)
        place = None
        if not is_ours(said):
            claimant = CLAIMANT.get()
            if claimant is not None and claimant.claims(span):
                return
            here = current(context=parent_context)
            if here is not None:
                self._places[span.get_span_context().span_id] = place = here.place
        _write(self._spool, span, said, place, None)

    def keep(self, row: Mapping[str, Any]) -> None:
        """Write an observation that has no span of its own."""
        if not self._is_off:
            self._spool.append_line(_line(row))

    def opened(self, span: trace.Span, more: Mapping[str, Any]) -> None:
        """Write what an open span says by now, and more that it is to say."""
        if not self._is_off and isinstance(span, ReadableSpan):
            _write(self._spool, span, {**said_by_span(span), **more}, None, None)

    def on_end(self, span: ReadableSpan) -> None:
        """A span ended."""
        if self._is_off:
            return
        try:
            span_id = span.context.span_id if span.context is not None else 0
            place = self._places.pop(span_id) if span_id in self._places else None
            _write(self._spool, span, said_by_span(span), place, RUNTIME.moments.pop(span_id, None))
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)

    def shutdown(self) -> None:
        """Write no more."""
        self._is_off = True
        self._spool.close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002  (of the interface)
        """Nothing waits to be written."""
        return True


class SpoolExporter(SpanExporter):
    """Writes ended spans to the spool: what `OTEL_TRACES_EXPORTER=tracekit` names.

    What never ends it never sees; with `tracekit.instrument()` the processor writes that too.

    Args:
        spool: Where to; None: a new file in the spool's folder.
    """

    def __init__(self, spool: Spool | None = None) -> None:
        self._spool = spool or new_spool()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write spans; those that are no boundaries are left out."""
        try:
            for span in spans:
                _write(self._spool, span, said_by_span(span), None, None)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file."""
        self._spool.close()
