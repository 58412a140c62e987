"""Model requests that tests send, each with a key of its own, so that what was kept can be counted."""

from collections.abc import Iterable

from tests.sources.otlp.bodies import SentSpan, line, traces, traces_json

SESSION = "5e551011-0000-4000-8000-00000000000a"


def chat(number: int) -> SentSpan:
    return SentSpan(
        "chat m-1",
        number + 1,
        number * 10,
        number * 10 + 5,
        {"gen_ai.operation.name": "chat", "gen_ai.response.id": key(number), "gen_ai.request.model": "m-1", "session.id": SESSION},
        trace=f"{number + 1:032x}",
        scope="tests",
    )


def key(number: int) -> str:
    return f"msg_{number:06d}"


def keys(numbers: Iterable[int]) -> set[str]:
    return {key(number) for number in numbers}


def in_protobuf(*numbers: int) -> bytes:
    return traces(*(chat(number) for number in numbers))


def in_json(*numbers: int) -> bytes:
    return line(traces_json(*(chat(number) for number in numbers)))
