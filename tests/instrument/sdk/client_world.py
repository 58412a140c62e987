"""A client of the Agent SDK that says its lines at given times, and a host that answers in between: no SDK is needed."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.instrument.conftest import World
from tracekit.instrument.sdk.claude_agent.wire import Wire

Line = dict[str, Any]
S1 = "session-1"
CALL = "toolu_1"


def system(subtype: str, **fields: Any) -> Line:
    return {"type": "system", "subtype": subtype, "session_id": S1, **fields}


def result(**fields: Any) -> Line:
    told = {"subtype": "success", "is_error": False, "terminal_reason": "completed", "total_cost_usd": 0.25, "result": "done"}
    return {"type": "result", "session_id": S1, **told, **fields}


def hook(request_id: str, *, callback: str = "hook_0", event: str = "PreToolUse", **given: Any) -> Line:
    told = {"session_id": S1, "hook_event_name": event, "prompt_id": "prompt-1", "tool_name": "Bash", **given}
    request = {"subtype": "hook_callback", "callback_id": callback, "input": told, "tool_use_id": CALL}
    return {"type": "control_request", "request_id": request_id, "request": request}


def may_use(request_id: str, **fields: Any) -> Line:
    request = {"subtype": "can_use_tool", "tool_name": "Write", "input": {"content": "secret plans"}, "tool_use_id": CALL, **fields}
    return {"type": "control_request", "request_id": request_id, "request": request}


def mcp(request_id: str, method: str, number: int | None = 1, **params: Any) -> Line:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    request = {"subtype": "mcp_message", "server_name": "calc", "message": message}
    return {"type": "control_request", "request_id": request_id, "request": request}


def tool_call(request_id: str, name: str = "add") -> Line:
    return mcp(request_id, "tools/call", name=name, arguments={"a": 1}, _meta={"claudecode/toolUseId": CALL})


class Client:
    """A client that says its lines at given times, and a host that answers in between."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps: list[tuple[int, Line | Exception | Callable[[], None]]] = []
        self.wire = Wire(world.clock())

    def says(self, line: Line, *, after: int = 10) -> "Client":
        self._steps.append((after, line))
        return self

    def breaks(self, error: Exception) -> "Client":
        self._steps.append((10, error))
        return self

    def does(self, step: Callable[[], None], *, after: int = 10) -> "Client":
        self._steps.append((after, step))
        return self

    def host(self, line: Line, *, after: int = 10) -> "Client":
        return self.does(lambda: self.wire.writing(json.dumps(line) + "\n"), after=after)

    def prompt(self, words: str = "do it", *, after: int = 10) -> "Client":
        return self.host({"type": "user", "message": {"role": "user", "content": words}, "session_id": "default"}, after=after)

    def answer(self, request_id: str, reply: Line | None = None, *, error: str | None = None, after: int = 10) -> "Client":
        told = {"subtype": "success", "response": reply} if error is None else {"subtype": "error", "error": error}
        return self.host({"type": "control_response", "response": {"request_id": request_id, **told}}, after=after)

    async def _lines(self) -> AsyncIterator[Line]:
        for after, step in self._steps:
            self._world.clock.advance(after)
            if isinstance(step, Exception):
                raise step
            if callable(step):
                step()
            else:
                yield step

    def run(self, *, close: bool = True, each: Callable[[Line], None] = lambda _: None) -> list[Line]:
        got: list[Line] = []

        async def reading() -> None:
            async for line in self.wire.reading(self._lines()):
                got.append(line)
                each(line)

        asyncio.run(reading())
        if close:
            self.wire.closed()
        return got
