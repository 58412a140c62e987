"""How far long work is, on a terminal."""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import overload

from tracekit_exporters import SessionTrace, Trace


@contextmanager
def bar(title: str) -> Generator[Callable[[int, int], None] | None]:
    """Give a function to tell how many of how many are done: a bar on a terminal. None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def watched(trace: Trace) -> Generator[Trace]:
    """Show how many sessions of an export are written."""
    with bar("sessions") as tell:
        yield trace if tell is None else replace(trace, sessions=_Told(trace.sessions, tell))


@dataclass(frozen=True, slots=True)
class _Told(Sequence[SessionTrace]):
    """Sessions that tell how many of them have been gone through."""

    sessions: Sequence[SessionTrace]
    tell: Callable[[int, int], None]

    def __len__(self) -> int:
        return len(self.sessions)

    @overload
    def __getitem__(self, index: int) -> SessionTrace: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SessionTrace]: ...
    def __getitem__(self, index: int | slice) -> SessionTrace | Sequence[SessionTrace]:
        return self.sessions[index]

    def __iter__(self) -> Iterator[SessionTrace]:
        for number, session in enumerate(self.sessions):
            self.tell(number, len(self.sessions))
            yield session
