"""What happened when: order, the turn that was running, and what is left out."""

from tracekit.analysis.scope import Scope
from tracekit.analysis.timeline import Moment, timeline
from tracekit.model import Boundary, Source, Span, semconv
from tracekit.testing import SESSION, memory_store, request, span, tool, turn

SPANS = [
    span(Boundary.SESSION, SESSION, 0, 300),
    turn(0, 100),
    request(10, 50, attributes={semconv.FIRST_BYTE_NS: 20, semconv.LAST_BLOCK_NS: 45, semconv.TOOLS_WAIT: True}),
    *tool(40, 50, 90),
    turn(200, None, key="turn_2", attributes={semconv.LAST_SEEN_NS: 260}),
    request(200, None, key="req_2", parent_key="turn_2"),
    turn(60, 80, key="task", agent_id="a1"),
    request(60, 80, key="req_agent", parent_key="task", agent_id="a1"),
]


def ask(scope: Scope, *spans: Span) -> list[Moment]:
    with memory_store(spans or SPANS) as store:
        return list(timeline(store, scope))


def test_moments_come_in_order_of_start_the_longer_first() -> None:
    found = ask(Scope(SESSION))
    assert [(moment.boundary, moment.key) for moment in found] == [
        ("turn", "turn"),
        ("model_request", "req_1"),
        ("tool_schedule", "toolu_1"),
        ("tool_execution", "toolu_1"),
        ("model_request", "req_agent"),
        ("turn", "task"),
        ("model_request", "req_2"),
        ("turn", "turn_2"),
    ]


def test_each_moment_knows_the_turn_of_its_agent() -> None:
    found = {(moment.boundary, moment.key): moment.turn_key for moment in ask(Scope(SESSION))}
    assert found["tool_execution", "toolu_1"] == "turn"
    assert found["model_request", "req_2"] == "turn_2"
    assert found["model_request", "req_agent"] == "task"


def test_what_came_before_any_turn_belongs_to_none() -> None:
    (hook, _) = ask(Scope(SESSION), turn(10, 20), span(Boundary.HOOK_REPLY, "run", 0, 5))
    assert (hook.boundary, hook.turn_key) == ("hook_reply", None)


def test_what_may_have_begun_before_the_turn_and_certainly_in_it_belongs_to_it() -> None:
    found = {moment.key: moment.turn_key for moment in ask(Scope(SESSION), turn(10, 20), request(5, 15, start_slack_ns=7))}
    assert found["req_1"] == "turn"


def test_what_is_known_of_a_request_is_told() -> None:
    found = next(moment for moment in ask(Scope(SESSION)) if moment.key == "req_1")
    assert (found.first_byte_ns, found.last_block_ns, found.tools_wait, found.parent_key) == (20, 45, True, "turn")
    assert (found.start_source, found.end_source, found.witnesses, found.status) == ("otel", "otel", "otel", "unset")


def test_what_is_open_has_no_end_and_its_turn_when_it_was_last_seen() -> None:
    found = {moment.key: moment for moment in ask(Scope(SESSION))}
    assert (found["req_2"].end_ns, found["req_2"].end_source) == (None, None)
    assert (found["turn_2"].end_ns, found["turn_2"].last_seen_ns) == (None, 260)


def test_slack_is_told() -> None:
    (found,) = ask(Scope(SESSION), turn(0, 50, start_slack_ns=10, end_slack_ns=20, source=Source.TRANSCRIPT))
    assert (found.start_ns, found.start_slack_ns, found.end_ns, found.end_slack_ns) == (0, 10, 50, 20)


def test_a_boundary_counts_where_it_overlaps_the_bounds() -> None:
    bounds: list[tuple[Scope, set[str]]] = [
        (Scope("another"), set()),
        (Scope(SESSION, since_ns=91), {"turn", "req_2", "turn_2"}),
        (Scope(SESSION, since_ns=90, until_ns=200), {"turn", "toolu_1"}),
        (Scope(SESSION, until_ns=10), {"turn"}),
    ]
    with memory_store(SPANS) as store:
        found = [{moment.key for moment in timeline(store, scope)} for scope, _ in bounds]
    assert found == [keys for _, keys in bounds]
