"""`tracekit.instrument()` and `tracekit.uninstrument()`: exact inverses, and each only once."""

import importlib
import importlib.util
import logging
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace

from tracekit.errors import TracekitError
from tracekit.instrument.guard import blame
from tracekit.instrument.runtime import RUNTIME

if TYPE_CHECKING:
    from tracekit.instrument.otel import SpoolProcessor

LIBRARIES: Final = {
    "anthropic": ("tracekit.instrument.sdk.anthropic", "AnthropicInstrumentor"),
    "mcp": ("tracekit.instrument.sdk.mcp", "McpInstrumentor"),
    "claude_agent_sdk": ("tracekit.instrument.sdk.claude_agent", "ClaudeAgentInstrumentor"),
}
"""Each library's instrumentor."""
_LOG: Final = logging.getLogger("tracekit.instrument")


class _Installed:
    """What was put in and is to be taken out again."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Nothing was put in."""
        self.processor: SpoolProcessor | None = None
        self.providers: list[Any] = []
        self.fallback: Any = None
        self.libraries: frozenset[str] = frozenset()
        self.instrumentors: list[Any] = []


_NOW = _Installed()
_HOOKED: set[str] = set()
"""Libraries whose loading is noticed: that cannot be taken back, and is looked through where nothing is instrumented."""


def instrument(
    *,
    spool: Path | None = None,
    tracer_provider: trace.TracerProvider | None = None,
    libraries: Collection[str] | None = None,
    content: bool = False,
    clock: Callable[[], int] = time.time_ns,
) -> None:
    """Record every boundary of the agent in this process, from now on. Called again, it changes nothing.

    Spans go to the tracer provider that the program set up, before or after this, with its resource, its sampling and its other
    exporters; where there is none, to one of tracekit's own. All that is a boundary is written to the spool too, when it begins and
    when it ends.

    Args:
        spool: Folder to write to; None: `TRACEKIT_SPOOL`, else the user's state folder, where `tracekit import` looks.
        tracer_provider: Where spans go instead.
        libraries: Which of `anthropic`, `mcp`, `claude_agent_sdk` are instrumented, each when it is loaded; None: all of them.
        content: Keep arguments and results, without what looks like a secret.
        clock: Gives Unix nanoseconds.

    Raises:
        TracekitError: There is no such library to instrument. Nothing else is raised, whatever happens.
    """
    chosen = frozenset(LIBRARIES if libraries is None else libraries)
    if unknown := sorted(chosen - LIBRARIES.keys()):
        message = f"tracekit instruments {', '.join(sorted(LIBRARIES))} and not {', '.join(unknown)}; leave it out of libraries="
        raise TracekitError(message, slug="library-unknown")
    if _NOW.processor is not None:
        return
    try:
        _install(spool, tracer_provider, chosen, content=content, clock=clock)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        uninstrument()
        blame(error)


def uninstrument() -> None:
    """Take back all that `instrument` did. Without it, this does nothing."""
    if _NOW.processor is None:
        return
    for instrumentor in reversed(_NOW.instrumentors):
        try:
            instrumentor.uninstrument()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
    try:
        for provider in _NOW.providers:
            _take_out(provider, _NOW.processor)
        _NOW.processor.shutdown()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
    finally:
        _NOW.clear()
        RUNTIME.reset()


def _install(
    spool: Path | None, provider: trace.TracerProvider | None, libraries: frozenset[str], *, content: bool, clock: Callable[[], int]
) -> None:
    from tracekit.instrument.otel import SPOOL_NAME, SpoolProcessor, new_spool  # noqa: PLC0415  (loads the SDK)
    from tracekit.spool import Spool  # noqa: PLC0415

    _NOW.processor = SpoolProcessor(new_spool() if spool is None else Spool(spool, SPOOL_NAME))
    RUNTIME.clock, RUNTIME.content, RUNTIME.provider = clock, content, provider
    RUNTIME.recorder = _NOW.processor
    RUNTIME.on_provider = _with_processor
    RUNTIME.tracer()
    _NOW.libraries = libraries
    for library in sorted(libraries):
        _hook(library)


def _with_processor(provider: trace.TracerProvider) -> trace.TracerProvider:
    """The provider with our processor in it: the one that is given, or where that records nothing, one of our own."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    add = getattr(provider, "add_span_processor", None)
    if add is None:
        if _NOW.fallback is None:
            _NOW.fallback = TracerProvider(shutdown_on_exit=False)
            _put_in(_NOW.fallback)
        fallback: trace.TracerProvider = _NOW.fallback
        return fallback
    if provider not in _NOW.providers:
        _put_in(provider)
    return provider


def _put_in(provider: Any) -> None:
    provider.add_span_processor(_NOW.processor)
    _NOW.providers.append(provider)


def _take_out(provider: Any, processor: object) -> None:
    """Remove a processor, for which the SDK has no call; where that fails, it stays and does nothing."""
    several = getattr(provider, "_active_span_processor", None)
    if several is not None and isinstance(getattr(several, "_span_processors", None), tuple):
        with several._lock:  # noqa: SLF001  (as said)
            kept: tuple[object, ...] = several._span_processors  # noqa: SLF001
            several._span_processors = tuple(one for one in kept if one is not processor)  # noqa: SLF001


def _hook(library: str) -> None:
    """Instrument a library that is loaded, and one that is not when it is."""
    import wrapt  # noqa: PLC0415  (not before it is needed)

    if library not in _HOOKED:
        _HOOKED.add(library)
        wrapt.register_post_import_hook(lambda _: _instrument_library(library), library)
    elif library in sys.modules:
        _instrument_library(library)


def _instrument_library(library: str) -> None:
    from opentelemetry.instrumentation.dependencies import DependencyConflictError  # noqa: PLC0415  (not before it is needed)

    if library not in _NOW.libraries:
        return
    try:
        module, name = LIBRARIES[library]
        if importlib.util.find_spec(module) is None:
            return
        instrumentor = getattr(importlib.import_module(module), name)()
        if not instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.instrument(raise_exception_on_conflict=True)
            _NOW.instrumentors.append(instrumentor)
    except DependencyConflictError as conflict:
        _LOG.warning("tracekit does not instrument %s: %s", library, conflict)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
