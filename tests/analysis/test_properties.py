"""What holds for any boundaries: counted instant by instant over small integers, the answers are the same.

Each example is a handful of cases in one store, each case in a session of its own.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.cases import in_one_store
from tracekit.analysis.account import AccountLine, account
from tracekit.analysis.overlap import Overlap, overlap
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import memory_store, request, span, tool, turn

BASE = 1_000
"""Small times lie after this, so that slack leads to no negative time."""

Interval = tuple[int, int]

moments = st.integers(0, 24)
slacks = st.integers(0, 6)
few_examples = settings(max_examples=4)


T = TypeVar("T")


def many(cases: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """Draw as many cases as one store answers at hardly more cost than one."""
    return st.lists(cases, min_size=20, max_size=40)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    first, second = draw(moments), draw(moments)
    return min(first, second), max(first, second)


def instants(found: Iterable[Interval]) -> set[int]:
    return {instant for start, end in found for instant in range(start, end)}


class Edges(NamedTuple):
    """Bounds around a true interval: what a witness says of it."""

    start_ns: int
    end_ns: int
    start_slack_ns: int
    end_slack_ns: int


@st.composite
def bounds(draw: st.DrawFn, true: Interval) -> Edges:
    before, after, late, early = (draw(slacks) for _ in range(4))
    return Edges(BASE + true[0] - before, BASE + true[1] + late, before + after, late + early)


def exact(true: Interval) -> Edges:
    return Edges(BASE + true[0], BASE + true[1], 0, 0)


class Response(NamedTuple):
    """A response and its tools, as they truly were and as they were seen."""

    stream: Interval
    tools: list[Interval]
    seen: Edges
    tools_seen: list[Edges]

    @property
    def hidden(self) -> int:
        return len(instants([self.stream]) & instants(self.tools))

    @property
    def exposed(self) -> int:
        return len(instants(self.tools) - instants([self.stream]))

    def spans(self, **attributes: object) -> list[Span]:
        asked = request(0, 0, attributes=attributes)._replace(**self.seen._asdict())
        calls = (_call(number, edges) for number, edges in enumerate(self.tools_seen))
        return [asked, *(one for call in calls for one in call)]


def _call(number: int, edges: Edges) -> list[Span]:
    return tool(edges.start_ns, **edges._asdict(), key=f"toolu_{number}")


@st.composite
def responses(draw: st.DrawFn, *, measured: bool) -> Response:
    stream = draw(intervals())
    tools = draw(st.lists(intervals(), min_size=1, max_size=4))
    see: Callable[[Interval], Edges] = exact if measured else lambda true: draw(bounds(true))
    return Response(stream, tools, see(stream), [see(one) for one in tools])


def answered(cases: list[list[Span]]) -> list[Overlap]:
    """Give the one row of each case, in their order."""
    with memory_store(in_one_store({str(number): case for number, case in enumerate(cases)})) as store:
        found = {row.session_id: row for row in overlap(store)}
    return [found[str(number)] for number in range(len(cases))]


# Overlap -------------------------------------------------------------------------------------------------------------


@few_examples
@given(many(responses(measured=True)))
def test_what_is_measured_is_what_is_counted_instant_by_instant(cases: list[Response]) -> None:
    for case, row in zip(cases, answered([case.spans() for case in cases]), strict=True):
        assert row.hidden_lower_ns == row.hidden_best_ns == row.hidden_upper_ns == case.hidden
        assert row.exposed_lower_ns == row.exposed_best_ns == row.exposed_upper_ns == case.exposed
        assert row.parallel_best_ns == sum(end - start for start, end in case.tools) - len(instants(case.tools))
        # What was saved against waiting for the whole message and only then running the tools.
        stream, tools, together = (len(instants(found)) for found in ([case.stream], case.tools, [case.stream, *case.tools]))
        assert (row.stream_ns, (stream + tools) - together) == (stream, row.hidden_best_ns)


@few_examples
@given(many(st.tuples(responses(measured=False), st.booleans())))
def test_a_range_holds_the_truth_wherever_it_lies_within_the_slack_and_its_point(cases: list[tuple[Response, bool]]) -> None:
    rows = answered([case.spans(**{semconv.EAGER_TOOLS: eager}) for case, eager in cases])
    for (case, eager), row in zip(cases, rows, strict=True):
        assert 0 <= row.hidden_lower_ns <= case.hidden <= row.hidden_upper_ns
        assert 0 <= row.exposed_lower_ns <= case.exposed <= row.exposed_upper_ns
        assert not eager or (row.hidden_best_ns is not None and row.exposed_best_ns is not None)
        assert row.hidden_best_ns is None or row.hidden_lower_ns <= row.hidden_best_ns <= row.hidden_upper_ns
        assert row.exposed_best_ns is None or row.exposed_lower_ns <= row.exposed_best_ns <= row.exposed_upper_ns


@few_examples
@given(many(st.tuples(responses(measured=False), moments)))
def test_a_range_under_a_cut_holds_the_truth_though_the_last_block_came_earlier(cases: list[tuple[Response, int]]) -> None:
    spans = [case.spans(**{semconv.STREAM_CUT: "true", semconv.LAST_BLOCK_NS: BASE + min(last, case.stream[1])}) for case, last in cases]
    for (case, _), row in zip(cases, answered(spans), strict=True):
        assert row.under_cut_lower_ns <= case.hidden <= row.under_cut_upper_ns
        assert row.exposed_lower_ns <= case.exposed <= row.exposed_upper_ns
        assert row.hidden_lower_ns == row.hidden_upper_ns == 0


@few_examples
@given(many(responses(measured=False)))
def test_nothing_hides_in_clients_that_wait(cases: list[Response]) -> None:
    for case, row in zip(cases, answered([case.spans(**{semconv.TOOLS_WAIT: True}) for case in cases]), strict=True):
        assert row.hidden_lower_ns == row.hidden_best_ns == row.hidden_upper_ns == 0
        assert row.exposed_lower_ns <= len(instants(case.tools)) <= row.exposed_upper_ns


@few_examples
@given(many(st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(0, 30))))
def test_a_tool_that_starts_when_it_is_ready_hides_for_as_long_as_both_last(cases: list[tuple[int, int, int]]) -> None:
    spans = [[request(0, ready + rest), *tool(ready, ready, ready + length)] for ready, length, rest in cases]
    for (ready, length, rest), row in zip(cases, answered(spans), strict=True):
        stream = ready + rest
        assert row.hidden_best_ns == min(length, stream - ready) == row.could_hide_best_ns
        assert row.missed_ns == 0


@few_examples
@given(many(st.tuples(*[st.integers(0, 30)] * 4)))
def test_the_causes_of_missed_time_sum_to_it(cases: list[tuple[int, int, int, int]]) -> None:
    spans = [
        [request(0, 40), *tool(5, 5 + late, 5 + late + length), span(Boundary.PERMISSION_WAIT, "toolu_1", asked, asked + waited)]
        for late, length, asked, waited in cases
    ]
    for (late, length, _, _), row in zip(cases, answered(spans), strict=True):
        shares = (row.missed_permission_ns, row.missed_hook_ns, row.missed_queue_ns, row.missed_dispatch_ns)
        hidden = max(0, min(40, 5 + late + length) - (5 + late))
        assert row.missed_ns == min(length, 35) - hidden == sum(share or 0 for share in shares)
        assert all(share is not None and share >= 0 for share in shares)


# Account -------------------------------------------------------------------------------------------------------------

PIECES = (
    Boundary.MODEL_REQUEST,
    Boundary.TOOL_EXECUTION,
    Boundary.PERMISSION_WAIT,
    Boundary.HOOK_REPLY,
    Boundary.RETRY_WAIT,
    Boundary.COMPACTION,
    Boundary.MCP_CONNECTION,
    Boundary.STREAM_EVENT,
)


class Life(NamedTuple):
    """A session with turns and whatever happened in and around them."""

    turns: list[Interval]
    last_open: bool
    spans: list[Span]


@st.composite
def pieces(draw: st.DrawFn, number: int) -> Span:
    true = draw(intervals())
    seen = draw(bounds(true))
    known: dict[str, int] = {}
    boundary = draw(st.sampled_from(PIECES))
    if boundary is Boundary.MODEL_REQUEST:
        for name in draw(st.sets(st.sampled_from([semconv.FIRST_BYTE_NS, semconv.LAST_BLOCK_NS]))):
            known[name] = BASE + draw(st.integers(*true))
    found = span(boundary, f"piece_{number}", 0, 0, attributes=known, agent_id=draw(st.sampled_from([None, "a1"])))
    found = found._replace(**seen._asdict(), parent_key=f"piece_{draw(st.integers(0, 3))}")
    return found._replace(end_ns=None, end_slack_ns=0) if draw(st.integers(0, 5)) == 0 else found


@st.composite
def lives(draw: st.DrawFn) -> Life:
    turns = draw(st.lists(intervals(), min_size=1, max_size=3))
    last_open = draw(st.booleans())
    spans = [draw(pieces(number)) for number in range(draw(st.integers(0, 6)))]
    spans += [turn(BASE + start, BASE + end, key=f"turn_{number}") for number, (start, end) in enumerate(turns)]
    if last_open:
        spans[-1] = spans[-1]._replace(end_ns=None, attributes={semconv.LAST_SEEN_NS: BASE + turns[-1][1]})
        start, end = turns.pop()
        is_latest = all(earlier < start for earlier, _ in turns)
        turns.append((start, max([end, *map(_seen, spans)]) if is_latest else end))
    return Life(turns, last_open, spans)


def _seen(one: Span) -> int:
    """When the main agent was certainly at work on it: an open turn lasts at least so long."""
    last = one.start_ns + one.start_slack_ns if one.end_ns is None else one.end_ns - one.end_slack_ns
    return last - BASE if one.agent_id is None else 0


@few_examples
@given(many(lives()))
def test_the_account_of_a_turn_sums_to_its_wall_and_the_user_is_idle_only_where_no_turn_is(cases: list[Life]) -> None:
    with memory_store(in_one_store({str(number): life.spans for number, life in enumerate(cases)})) as store:
        by_turn, by_session = account(store), account(store, by="session")
    assert all(0 <= line.time_lower_ns <= line.duration_ns == line.time_upper_ns for line in by_turn)
    for number, life in enumerate(cases):
        for key, (start, end) in enumerate(life.turns):
            name = f"turn_{key} in {number}"
            assert sum(line.duration_ns for line in by_turn if line.turn_key == name) == end - start
        found = {line.category: line for line in by_session if line.session_id == str(number)}
        walked = [one for one in life.turns if one[0] < one[1]]
        whole = range(min((start for start, _ in walked), default=0), max((end for _, end in walked), default=0))
        assert _duration(found.pop("user_idle", None)) == len(set(whole) - instants(walked))
        assert sum(line.duration_ns for line in found.values()) == sum(end - start for start, end in walked)


def _duration(line: AccountLine | None) -> int:
    return 0 if line is None else line.duration_ns


# Fusion --------------------------------------------------------------------------------------------------------------

BY_SIGHT = st.sampled_from([source for source in Source if source not in {Source.PROGRESS, Source.MARKS}])


@st.composite
def sightings(draw: st.DrawFn) -> list[Span]:
    """Draw what up to four witnesses say of one boundary; they may contradict each other, or have seen no end."""
    found: list[Span] = []
    for source in draw(st.lists(BY_SIGHT, min_size=1, max_size=4, unique=True)):
        one = span(Boundary.TOOL_EXECUTION, "it", 0, 0, source=source)._replace(**draw(bounds(draw(intervals())))._asdict())
        found.append(one if draw(st.booleans()) else one._replace(end_ns=None, end_slack_ns=0))
    return found


@few_examples
@given(many(sightings()))
def test_a_fused_edge_lies_within_the_bounds_of_the_witness_it_names(cases: list[list[Span]]) -> None:
    with memory_store(in_one_store({str(number): case for number, case in enumerate(cases)})) as store:
        rows = {row["session_id"]: row for row in store.rows("SELECT * FROM boundaries")}
    for number, case in enumerate(cases):
        row = rows[str(number)]
        by_source = {one.source: one for one in case}
        starts = [(one.start_ns, one.start_ns + one.start_slack_ns) for one in case]
        ends = [(one.end_ns - one.end_slack_ns, one.end_ns) for one in case if one.end_ns is not None]
        named = by_source[row["start_source"]]
        assert _inside((row["start_ns"], row["start_ns"] + row["start_slack_ns"]), (named.start_ns, named.start_ns + named.start_slack_ns))
        assert row["start_disagreement_ns"] == _distance(starts)
        if not ends:
            assert (row["end_ns"], row["end_source"], row["end_slack_ns"]) == (None, None, 0)
            continue
        named = by_source[row["end_source"]]
        assert named.end_ns is not None
        assert _inside((row["end_ns"] - row["end_slack_ns"], row["end_ns"]), (named.end_ns - named.end_slack_ns, named.end_ns))
        assert row["end_disagreement_ns"] == _distance(ends)


def _inside(inner: Interval, outer: Interval) -> bool:
    return outer[0] <= inner[0] <= inner[1] <= outer[1]


def _distance(found: list[Interval]) -> int:
    return max(0, max(low for low, _ in found) - min(high for _, high in found))


# Loading -------------------------------------------------------------------------------------------------------------


class Filed(NamedTuple):
    """An observation, and in which of three files it stands."""

    file: int
    span: Span


@st.composite
def filed(draw: st.DrawFn) -> list[Filed]:
    """Draw what files of two sessions may say of the same few turns and requests, under several names, copied or not."""
    found: list[Filed] = []
    for number in range(draw(st.integers(1, 10))):
        boundary = draw(st.sampled_from([Boundary.TURN, Boundary.MODEL_REQUEST]))
        keys = ("prompt_1", "turn:1", "span:1") if boundary is Boundary.TURN else ("req_1", "req_2", "msg_1", "uuid")
        named = {} if boundary is Boundary.TURN else draw(st.sampled_from([{}, {semconv.RESPONSE_ID: "msg_1"}]))
        # Each begins at a time of its own, so that no two sightings are equally good.
        one = span(
            boundary, draw(st.sampled_from(keys)), BASE + 31 * number, BASE + 31 * number + draw(st.integers(0, 30)), attributes=named
        )
        found.append(
            Filed(
                draw(st.integers(0, 2)),
                one._replace(
                    session_id=draw(st.sampled_from(["one", "two"])),
                    source=draw(st.sampled_from([Source.TRANSCRIPT, Source.OTEL, Source.STREAM_JSON])),
                    parent_key=draw(st.sampled_from(["prompt_1", "turn:1", "span:1", None])),
                ),
            ),
        )
    return found


def _of_case(one: Span, case: int) -> Span:
    parent = None if one.parent_key is None else f"{one.parent_key}/{case}"
    attributes = {name: f"{value}/{case}" for name, value in one.attributes.items()}
    return one._replace(session_id=f"{one.session_id}/{case}", key=f"{one.key}/{case}", parent_key=parent, attributes=attributes)


@few_examples
@given(many(filed()))
def test_files_say_the_same_in_whichever_order_they_are_loaded(cases: list[list[Filed]]) -> None:
    files = [[_of_case(one.span, number) for number, case in enumerate(cases) for one in case if one.file == file] for file in range(3)]
    answers: list[list[dict[str, object]]] = []
    for order in (files, files[::-1], [files[1], files[2], files[0]], [[one for file in files for one in file]]):
        with memory_store(*order) as store:
            answers.append(store.rows("SELECT * FROM boundaries ORDER BY session_id, boundary, key"))
    assert all(answer == answers[0] for answer in answers)
