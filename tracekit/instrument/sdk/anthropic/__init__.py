"""Instruments anthropic (2 and later): attempts by its middleware, events by its raw streams, on the span that it makes itself.

AnthropicInstrumentor().instrument()      # what `tracekit.instrument()` does, once anthropic is imported
"""

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # its module is typed, and says that it is not

if TYPE_CHECKING:
    from tracekit.instrument.sdk.anthropic.seams import Seams

__all__ = ["AnthropicInstrumentor"]


class AnthropicInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Records each call of `messages` of every client, synchronous or not, made before or after, streamed or whole.

    Of a call the SDK itself makes a span, which is enriched; where its tracing is off, there is one of tracekit's.
    """

    _seams: "Seams | None" = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions that have the seams."""
        return ("anthropic >= 2.0.0",)

    def _instrument(self, **_: Any) -> None:
        # `tracekit.instrument()` waits for this library to be loaded, and then comes before whoever loads it here.
        import_module("anthropic")
        if self._seams is None:
            from tracekit.instrument.sdk.anthropic.seams import Seams  # noqa: PLC0415  (needs anthropic)

            self._seams = Seams()
            self._seams.put_in()

    def _uninstrument(self, **_: Any) -> None:
        if self._seams is not None:
            self._seams.take_out()
            self._seams = None
