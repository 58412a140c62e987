"""Where the code stands: through threads, tasks, generators of either kind, and ends in any order."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace

from tracekit.instrument import carried, current, model_request, session, tool_schedule, turn
from tracekit.model import Boundary

if TYPE_CHECKING:
    from tests.instrument.conftest import World


def test_outside_of_all_nothing_is_stood_in_and_inside_the_innermost(world: "World") -> None:
    assert current() is None
    with session("s") as outer, turn("p") as asked:
        assert current() is asked
        assert current(Boundary.SESSION) is outer
        assert current(Boundary.MODEL_REQUEST) is None
    assert current() is None
    assert len(world.closed("turn")) == 1


def test_a_boundary_that_is_only_started_is_stood_in_by_nobody(world: "World") -> None:
    with turn("p"):
        request = model_request("m").start()
        with tool_schedule("add", "toolu_1"):
            pass
        with request.inside(), tool_schedule("add", "toolu_2"):
            pass
        request.end()
        request.end(ValueError("too late"))
    first, second = world.closed("tool_schedule")
    assert (first["parent_key"], second["parent_key"]) == ("p", world.one("model_request")["key"])
    assert world.one("model_request")["status"] == "ok"


def test_a_parent_that_is_given_goes_before_the_one_around(world: "World") -> None:
    with session("s"):
        other = turn("other").start()
        with turn("p"), model_request("m", parent=other):
            pass
        other.end()
    span = world.span("model_request")
    assert world.one("model_request")["parent_key"] == "other"
    assert span.parent == other.span.get_span_context()


def test_a_span_of_the_users_own_in_between_is_the_parent_of_ours_and_the_keys_meet_all_the_same(world: "World") -> None:
    tracer = world.provider.get_tracer("mine")
    with turn("p"), tracer.start_as_current_span("retrieve") as mine, model_request("m"):
        assert trace.get_current_span().get_span_context() != mine.get_span_context()
    assert world.span("model_request").parent == mine.get_span_context()
    assert world.one("model_request")["parent_key"] == "p"
    assert len(world.rows()) == 4  # the user's own span is no boundary


def test_tasks_stand_where_they_were_made(world: "World") -> None:
    async def work(number: int) -> None:
        async with tool_schedule("add", f"toolu_{number}"):
            await asyncio.sleep(0)

    async def main() -> None:
        async with turn("p"), model_request("m"):
            await asyncio.gather(*(work(number) for number in range(3)))

    asyncio.run(main())
    assert {row["parent_key"] for row in world.closed("tool_schedule")} == {world.one("model_request")["key"]}


def test_threads_begin_outside_of_all_unless_the_place_is_carried(world: "World") -> None:
    def work(number: int) -> None:
        with tool_schedule("add", f"toolu_{number}"):
            pass

    with session("s"), turn("p"), ThreadPoolExecutor(1) as pool:
        pool.submit(work, 1).result()
        pool.submit(carried(work), 2).result()
        pool.submit(work, 3).result()
    found = {row["key"]: (row["session_id"], row["parent_key"]) for row in world.closed("tool_schedule")}
    assert found["toolu_2"] == ("s", "p")
    assert found["toolu_1"] == found["toolu_3"] != ("s", "p")


def test_what_is_carried_returns_and_raises_as_it_did(world: "World") -> None:
    @carried
    def divide(one: int, *, by: int) -> float:
        return one / by

    assert divide(4, by=2) == 2
    with pytest.raises(ZeroDivisionError):
        divide(4, by=0)
    assert world.rows() == []


# Decorated -------------------------------------------------------------------------------------------------------------


def test_each_call_of_a_decorated_function_is_a_boundary_of_its_own(world: "World") -> None:
    @turn(agent="helper")
    def answer(question: str) -> str:
        """Answer."""
        world.clock.advance(5)
        return question.upper()

    assert [answer("a"), answer("b")] == ["A", "B"]
    assert (answer.__name__, answer.__doc__) == ("answer", "Answer.")
    one, two = world.closed("turn")
    assert (one["name"], one["end_ns"] - one["start_ns"], two["start_ns"]) == ("helper", 5, 1_005)
    assert one["key"] != two["key"]


def test_a_decorated_coroutine(world: "World") -> None:
    @turn("p")
    async def answer() -> str:
        await asyncio.sleep(0)
        assert current(Boundary.TURN) is not None
        return "yes"

    assert asyncio.run(answer()) == "yes"
    assert world.one("turn")["status"] == "ok"


def test_a_decorated_generator_is_stood_in_only_while_it_runs(world: "World") -> None:
    @model_request("m")
    def chunks() -> Iterator[int]:
        for number in range(2):
            with tool_schedule("inner", f"inner-{number}"):
                pass
            yield number

    with turn("p"):
        for number in chunks():
            with tool_schedule("outer", f"outer-{number}"):
                pass
    request = world.one("model_request")
    parents = {row["key"]: row["parent_key"] for row in world.closed("tool_schedule")}
    assert parents == {"inner-0": request["key"], "outer-0": "p", "inner-1": request["key"], "outer-1": "p"}
    assert request["status"] == "ok"


def test_a_decorated_generator_takes_and_gives_what_it_did(world: "World") -> None:
    @model_request("m")
    def echo() -> Generator[str, str, str]:
        got = yield "first"
        try:
            got = yield f"got {got}"
        except KeyError as error:
            got = yield f"caught {error}"
        return got

    def collect() -> Generator[str, str, str]:
        return (yield from echo())

    made = collect()
    assert next(made) == "first"
    assert made.send("a") == "got a"
    assert made.throw(KeyError("k")) == "caught 'k'"
    with pytest.raises(StopIteration) as done:
        made.send("end")
    assert done.value.value == "end"
    assert world.one("model_request")["status"] == "ok"


def test_a_decorated_generator_that_is_closed_early_was_cancelled(world: "World") -> None:
    cleaned: list[str] = []

    @model_request("m")
    def chunks() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            assert isinstance(current(), type(model_request("m")))
            cleaned.append("yes")

    for number in chunks():
        assert number == 1
        break
    assert cleaned == ["yes"]
    assert (world.one("model_request")["status"], world.one("model_request")["attributes"]["error.type"]) == ("cancelled", "GeneratorExit")


def test_a_decorated_generator_that_raises_raises_and_says_so(world: "World") -> None:
    @model_request("m")
    def chunks() -> Iterator[int]:
        yield 1
        message = "no more"
        raise OSError(message)

    with pytest.raises(OSError, match="no more"):
        list(chunks())
    assert (world.one("model_request")["status"], world.one("model_request")["attributes"]["error.type"]) == ("error", "OSError")


def test_a_generator_that_is_never_begun_is_no_boundary(world: "World") -> None:
    @model_request("m")
    def chunks() -> Iterator[int]:
        yield 1

    chunks()
    assert world.rows() == []


def test_a_decorated_generator_that_is_awaited_and_closed_early(world: "World") -> None:
    @model_request("m")
    async def chunks() -> AsyncGenerator[int]:
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def whole() -> list[int]:
        return [number async for number in chunks()]

    async def first() -> int:
        made = chunks()
        async for number in made:
            assert current() is None
            await made.aclose()
            return number
        return -1

    assert asyncio.run(whole()) == [0, 1, 2]
    assert asyncio.run(first()) == 0
    assert [row["status"] for row in world.closed("model_request")] == ["ok", "cancelled"]


def test_a_block_inside_a_generator_that_another_task_closes_says_nothing_on_the_log(
    world: "World", caplog: pytest.LogCaptureFixture
) -> None:
    async def chunks() -> AsyncGenerator[int]:
        async with model_request("m"):
            yield 1
            yield 2

    async def main() -> None:
        made = chunks()
        assert await anext(made) == 1
        # By a task whose context is a copy: a token of the first one would be good for nothing here.
        await asyncio.create_task(made.aclose())

    asyncio.run(main())
    assert world.one("model_request")["status"] == "cancelled"
    assert caplog.records == []


def test_blocks_that_end_out_of_order_leave_nothing_behind(world: "World") -> None:
    first, second = turn("a"), turn("b")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert current() is second
    second.__exit__(None, None, None)
    assert current() is None
    assert {row["key"] for row in world.closed("turn")} == {"a", "b"}


def test_a_task_that_is_cancelled_cancels_its_boundary(world: "World") -> None:
    async def main() -> None:
        async def work() -> None:
            async with tool_schedule("sleep", "toolu_1") as call:
                with call.execution():
                    await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [row["status"] for row in (world.one("tool_execution"), world.one("tool_schedule"))] == ["cancelled", "cancelled"]
    assert world.one("tool_execution")["attributes"]["error.type"] == "CancelledError"


def test_many_threads_write_whole_lines(world: "World") -> None:
    def work(number: int) -> None:
        for call in range(20):
            with tool_schedule("add", f"{number}-{call}"):
                pass

    threads = [threading.Thread(target=carried(work), args=(number,)) for number in range(8)]
    with turn("p"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({row["key"] for row in world.closed("tool_schedule")}) == 160
