"""The questions as a library: `tracekit.open(...)`, one method a question, Polars frames."""

from tracekit.traces import figures
from tracekit.traces.opening import Place, open_store_of
from tracekit.traces.questions import Traces

__all__ = ["Traces", "figures", "open"]


def open(*places: Place, content: bool = False) -> Traces:  # noqa: A001  (the name is read with its package: tracekit.open)
    """Open a store, or whatever sessions left behind.

    Args:
        places: The path or URL of a store; or transcripts, stream-json, OTLP bodies, recorders' files, and folders of them: they are
            imported into a temporary store, which is gone when the object is closed. None opens the default store: what
            `TRACEKIT_STORE` names, else a file in the user's state folder.
        content: Keep prompts, outputs and arguments of tools in the temporary store.

    Returns:
        An object with one method a question. It holds no lock: each question leases the store for as long as it takes. Use it as a
        context manager, or close it, to remove a temporary store before the program ends.

    Raises:
        TracekitError: `no-store`, `path-missing`, `nothing-to-import` and their kin. `error.slug` names the page that
            `tracekit explain` prints.
    """
    return Traces(open_store_of(places, content=content))
