"""The handle of a boundary: it begins, it may be stood in, it ends with the truth, and nothing of it disturbs the agent."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, ClassVar, Final, Self, TypeVar, cast

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode

from tracekit.instrument.decorate import decorated
from tracekit.instrument.endings import Ending, is_cancellation, said_by
from tracekit.instrument.guard import blame
from tracekit.instrument.place import NOWHERE, Place, foreign_key, fresh
from tracekit.instrument.runtime import RUNTIME, Moment
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, Value, semconv

_HERE = otel.create_key("tracekit-boundary")
# By themselves, since Python 3.11 looks a member of an enum up for longer than all the rest of a comparison takes.
_OK: Final = Status.OK
_ERROR: Final = Status.ERROR
Told = Value | tuple[str, ...]
"""An attribute's value on an OpenTelemetry span."""
F = TypeVar("F", bound=Callable[..., Any])


class Handle:
    """One boundary: `with`, `async with`, a decorator, or `start` and `end` for what begins and ends in different calls.

    Only in a `with`, in a decorated function and in `inside()` is it what new boundaries become part of.

    Args:
        name: Of the OpenTelemetry span.
        key: The identity that the world gave it; None while nobody knows.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.

    Attributes:
        ended_ns: When it ended, once it has.
    """

    boundary: ClassVar[Boundary]
    kind: ClassVar[SpanKind] = SpanKind.INTERNAL

    _kind_name: ClassVar[str]
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __init_subclass__(cls) -> None:
        """Look the boundary's name up once."""
        super().__init_subclass__()
        if hasattr(cls, "boundary"):
            cls._kind_name = cls.boundary.value

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep what it was made with: a decorated function needs a fresh one for each call."""
        made = super().__new__(cls)
        made._made_with = (args, kwargs)
        return made

    def __init__(
        self, name: str, *, key: str | None = None, parent: "Handle | None" = None, attributes: Mapping[str, Told] = NO_ATTRIBUTES
    ) -> None:
        self._name = name
        self._key = key
        self._parent = parent
        self._to_say: dict[str, Told] = dict(attributes)
        self._opened_as = ""
        self._outer = NOWHERE
        self._place: Place | None = None
        self._span: trace.Span = trace.INVALID_SPAN
        self._live = False
        self._owned = True
        self._entered = False
        self._ended = False
        self._inside: _Inside | None = None
        self._status: Status | None = None
        self._start_ns = 0
        self.ended_ns = 0

    # What it is -------------------------------------------------------------------------------------------------------

    @property
    def key(self) -> str:
        """Its identity: the world's, once it is known, else the one under which it was opened."""
        return self._key or self._opened_as

    @property
    def is_named(self) -> bool:
        """Whether the world's own identity of it is known."""
        return self._key is not None

    @property
    def span(self) -> trace.Span:
        """The OpenTelemetry span; one that records nothing before the start, and where nobody records."""
        return self._span

    @property
    def place(self) -> Place:
        """Where the code inside it is."""
        return self._place or RUNTIME.place()

    @property
    def is_open(self) -> bool:
        """Whether it began and did not end."""
        return self._place is not None and not self._ended

    @property
    def above(self) -> "Handle | None":
        """What it is part of."""
        return self._parent

    # How it begins ----------------------------------------------------------------------------------------------------

    def start(self, *, at_ns: int | None = None) -> Self:
        """Begin.

        Args:
            at_ns: When it began, if not now: Unix nanoseconds.
        """
        try:
            if self._place is None:
                self._begin(None, at_ns)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
        return self

    def adopt(self, span: trace.Span, *, finish: Callable[[], object] | None = None, is_told: bool = True) -> Self:
        """Begin with a span that somebody else started and will end: it is enriched, and not doubled.

        Args:
            span: The span; one that records nothing is left alone.
            finish: Called when its owner is about to end it, which may be before anybody else knows that it is over. It is the last
                chance to `end` this, which it does itself without one; the span then ends when this did.
            is_told: Whether the recorder has told of it, if it says by itself what it is. One that was claimed is not.
        """
        try:
            if self._place is None:
                self._begin(span, None)
                if self._live:
                    # One that says by itself what it is stands in the spool since its start.
                    if not (is_told and semconv.OPERATION in (getattr(span, "attributes", None) or {})):
                        self._tell()
                    self._end_first(span, finish)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
        return self

    def _end_first(self, span: trace.Span, finish: Callable[[], object] | None) -> None:
        """Have our end come before that of a span, whose owner has a method of its own to end it from here on."""
        held: Any = span
        theirs = span.end

        def end(end_time: int | None = None) -> None:
            with suppress(AttributeError):
                del held.end
            try:
                if finish is not None:
                    finish()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
                blame(error)
            finally:
                self.end(at_ns=end_time)
                theirs(max(self.ended_ns, self._start_ns) if self.ended_ns else end_time)

        # By assignment and not in its `__dict__`, which Python makes only for whoever asks: each look at an attribute is slower then.
        held.end = end

    def _begin(self, span: trace.Span | None, at_ns: int | None) -> None:
        here = current()
        if self._parent is None:
            self._parent = here
        self._outer = self._parent.place if self._parent is not None else RUNTIME.place()
        self._key = self._known_as()
        # What somebody else started was opened under the name that it had then.
        self._opened_as = foreign_key(span) if span is not None else self._key or fresh(self._kind_name)
        self._start_ns = RUNTIME.clock() if at_ns is None else at_ns
        self._place = self._standing()
        said = self._identity()
        if span is None:
            said.update(self._to_say)
            self._span = RUNTIME.tracer().start_span(self._name, self._around(here), self.kind, said, start_time=self._start_ns)
            self._live = self._span.is_recording()
        elif span.is_recording():
            self._span, self._owned, self._live = span, False, True
            self._start_ns = getattr(span, "start_time", None) or self._start_ns
            self._to_say = said | self._to_say
            return
        self._to_say.clear()

    def _around(self, here: "Handle | None") -> Context | None:
        """The context of the new span: a parent that was given goes before the one that the code stands in."""
        parent = self._parent
        if parent is None or parent is here or not parent.span.get_span_context().is_valid:
            return None
        return trace.set_span_in_context(parent.span)

    def _identity(self) -> dict[str, Told]:
        said: dict[str, Told] = {semconv.BOUNDARY: self._kind_name, semconv.KEY: self._opened_as}
        place = self.place
        said[semconv.SESSION_ID] = place.session_id
        parent_key = self._part_of()
        if parent_key is not None:
            said[semconv.PARENT_KEY] = parent_key
        if place.agent_id is not None:
            said[semconv.AGENT_ID] = place.agent_id
        return said

    def _known_as(self) -> str | None:
        """The identity that it has from the start."""
        return self._key

    def _part_of(self) -> str | None:
        """Key of what it is part of."""
        return self._outer.around

    def _standing(self) -> Place:
        """Where the code inside it is."""
        return self._outer

    # What is said of it -----------------------------------------------------------------------------------------------

    def say(self, attributes: Mapping[str, Told]) -> None:
        """Add attributes, by the names of `semconv`."""
        if not self._ended:
            self._to_say.update(attributes)

    def named(self, key: str) -> None:
        """The world gave it this identity."""
        self._key = key

    def _tell(self) -> None:
        """Have what is known so far kept, in case that the process dies."""
        if self._live and RUNTIME.recorder is not None:
            RUNTIME.recorder.opened(self._span, self._to_say)

    # How it ends ------------------------------------------------------------------------------------------------------

    def end(self, error: BaseException | None = None, *, status: Status | None = None, at_ns: int | None = None) -> None:
        """End. Later ends change nothing.

        Args:
            error: What broke it off: a cancellation cancels it, anything else is its error.
            status: How it ended, where that is known better; without either it went well.
            at_ns: When, if not now: Unix nanoseconds.
        """
        try:
            if self._place is not None and not self._ended:
                self._finish(error, status, RUNTIME.clock() if at_ns is None else at_ns)
        except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
            blame(mine)
        finally:
            self._ended = True

    def _finish(self, error: BaseException | None, status: Status | None, at_ns: int) -> None:
        if not self._live:
            return
        ending = Ending(error, said_by(error), at_ns)
        self._close(ending)
        self.ended_ns = ending.at_ns
        said, ended = ending.said, status or self._status or self._outcome(error)
        if ended is not _OK:
            said[semconv.STATUS] = ended.value
        # What was said outright is known better than what the exception says.
        said |= self._to_say
        if self._key is not None and self._key != self._opened_as:
            said[semconv.KEY], said[semconv.OPENED_AS] = self._key, self._opened_as
        if not self._span.is_recording():
            return
        self._span.set_attributes(said)
        if ended is _ERROR:
            self._span.set_status(StatusCode.ERROR, str(said.get(semconv.ERROR_TEXT, "")) or None)
        self._keep_moments()
        if self._owned:
            self._span.end(max(ending.at_ns, self._start_ns))

    def _close(self, ending: Ending) -> None:
        """Add what is known only at the end, and say when that was if it was not now."""

    def _outcome(self, error: BaseException | None) -> Status:
        if error is None:
            return _OK
        return Status.CANCELLED if is_cancellation(error) else _ERROR

    def _moments(self) -> list[Moment] | str:
        """The moments inside it; as JSON where there are thousands of them."""
        return []

    def _keep_moments(self) -> None:
        """Leave the moments for the recorder, who sees the span's end."""
        if RUNTIME.recorder is not None and (moments := self._moments()):
            RUNTIME.moments[self._span.get_span_context().span_id] = moments

    # How it is stood in -----------------------------------------------------------------------------------------------

    def inside(self) -> "_Inside":
        """Be what new boundaries become part of, for the length of a `with`, without beginning or ending."""
        return _Inside(self)

    def __enter__(self) -> Self:
        self.start()
        self._inside = _Inside(self)
        self._entered = True
        self._inside.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        inside, self._inside = self._inside, None
        if inside is not None:
            inside.__exit__(kind, error, trace)
        self.end(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function, a coroutine function or a generator of either kind: each call is a boundary of its own."""
        args, kwargs = self._made_with
        return decorated(function, lambda: type(self)(*args, **kwargs))


class _Inside:
    """The time in which a handle is what the code stands in. Left in any order, and in any context: generators are."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._outer: Context | None = None
        self._here: Context | None = None

    def __enter__(self) -> Handle:
        try:
            self._outer = otel.get_current()
            here, span = otel.set_value(_HERE, self, self._outer), self._handle.span
            if span is not trace.INVALID_SPAN:
                here = trace.set_span_in_context(span, here)
            self._here = here
            otel.attach(here)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
            blame(error)
        return self._handle

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            # By its value and not by its token, which is good for one task only: a generator may be closed by another.
            if self._outer is not None and otel.get_current() is self._here:
                otel.attach(self._still_inside(self._outer))
        except Exception as mine:  # noqa: BLE001  (whatever it is, it is ours)
            blame(mine)
        self._here = None

    @property
    def handle(self) -> Handle:
        """Who is stood in."""
        return self._handle

    def _still_inside(self, outer: Context) -> Context:
        """The context around, past those that were left meanwhile."""
        around = cast("_Inside | None", otel.get_value(_HERE, outer))
        while around is not None and around._here is None and around._outer is not None:  # noqa: SLF001  (its own kind)
            outer = around._outer  # noqa: SLF001
            around = cast("_Inside | None", otel.get_value(_HERE, outer))
        return outer


def current(boundary: Boundary | None = None, *, context: Context | None = None) -> Handle | None:
    """What the code stands in: the innermost boundary, or the innermost of one kind. None outside of all.

    Args:
        boundary: The kind; None: any.
        context: Where to look; None: where the code is.
    """
    inside = cast("_Inside | None", otel.get_value(_HERE, context))
    handle = inside.handle if inside is not None else None
    while handle is not None and boundary is not None and handle.boundary is not boundary:
        handle = handle.above
    return handle


def carried(function: F) -> F:
    """Make a function stand, wherever it is called, where it is now: for threads, which begin outside of everything."""
    here = otel.get_current()

    @wraps(function)
    def moved(*args: Any, **kwargs: Any) -> Any:
        outer = otel.get_current()
        otel.attach(here)
        try:
            return function(*args, **kwargs)
        finally:
            otel.attach(outer)

    return cast("F", moved)
