"""tracekit: every boundary of an agent session on one timeline.

The names of the model load when they are first used, so that `import tracekit` costs next to nothing in an agent's process.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracekit.errors import TracekitError
    from tracekit.instrument import instrument, uninstrument
    from tracekit.model import CONTRACTS, Boundary, Column, Contract, Event, Finding, Problem, Source, Span, Status, Value
    from tracekit.traces import Traces, figures, open  # noqa: A004  (the name is read with its package: tracekit.open)

__version__ = "0.1.0"

__all__ = [
    "CONTRACTS",
    "Boundary",
    "Column",
    "Contract",
    "Event",
    "Finding",
    "Problem",
    "Source",
    "Span",
    "Status",
    "TracekitError",
    "Traces",
    "Value",
    "__version__",
    "figures",
    "instrument",
    "open",
    "uninstrument",
]

_ROOMS = {
    "TracekitError": "tracekit.errors",
    "Traces": "tracekit.traces",
    "figures": "tracekit.traces",
    "open": "tracekit.traces",
    "uninstrument": "tracekit.instrument",
}


if not TYPE_CHECKING:  # a type checker that saw this would take every misspelt name for a public one

    def __getattr__(name: str) -> object:
        """Find a public name in the room that it comes from."""
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        if name == "instrument":  # the room itself, which can be called
            return import_module("tracekit.instrument")
        room = import_module(_ROOMS.get(name, "tracekit.model"))
        return globals().setdefault(name, getattr(room, name))


def __dir__() -> list[str]:
    """Show the public names before they are loaded."""
    return sorted({*globals(), *__all__})
