"""An agent that starts each tool while the model still talks, or waits for the whole message: the same work, and what the one saves.

    python examples/eager_agent.py           # starts a tool as soon as its block is complete
    python examples/eager_agent.py --wait    # starts tools when the message is whole, as most loops do
    tracekit import
    tracekit overlap

Both runs ask a scripted model on loopback that says the same to both (`scripted_model.py`), and run tools one at a time.
"""

import argparse
import asyncio
import time
from typing import Any

from anthropic import AsyncAnthropic
from anthropic.types import ToolUseBlock
from scripted_model import scripted_model

import tracekit
from tracekit.instrument import ToolSchedule, session, tool_schedule, turn

MODEL = "claude-sonnet-5"
TOOLS: list[Any] = [
    {"name": name, "description": about, "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}}}
    for name, about in (("read", "Read a file."), ("test", "Run tests."))
]
TOOL_SECONDS = 0.6


async def run(block: ToolUseBlock, call: ToolSchedule, alone: asyncio.Lock) -> dict[str, Any]:
    """Run one tool call, which may have to wait for another, and give its result."""
    call.input(block.input)
    async with alone, call.execution() as execution:
        await asyncio.sleep(TOOL_SECONDS)
        result = f"{block.name} is done"
        execution.result(result)
    call.yielded()
    return {"type": "tool_result", "tool_use_id": block.id, "content": result}


async def agent(client: AsyncAnthropic, prompt: str, *, eager: bool) -> str:
    """Ask, run what the model wants run, and ask again, until it wants nothing more. Gives what it said last."""
    messages: list[Any] = [{"role": "user", "content": prompt}]
    alone = asyncio.Lock()
    while True:
        calls: list[Any] = []
        async with client.messages.stream(model=MODEL, max_tokens=1024, messages=messages, tools=TOOLS) as stream:
            async for event in stream:
                if event.type == "content_block_stop" and event.content_block.type == "tool_use":
                    block = event.content_block
                    call = tool_schedule(block.name, block.id, concurrency="exclusive").start()
                    running = run(block, call, alone)
                    # The whole difference: a coroutine waits until somebody awaits it, and a task begins by itself.
                    calls.append(asyncio.create_task(running) if eager else running)
            message = await stream.get_final_message()
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": await asyncio.gather(*calls)})


async def main(*, eager: bool) -> None:
    """Run the agent once and say how long it took."""
    mode = "eager" if eager else "waiting"
    with scripted_model() as url:
        client = AsyncAnthropic(api_key="none", base_url=url)
        began = time.perf_counter()
        with session(f"{mode}-{time.strftime('%H%M%S')}"), turn(agent=mode):
            answer = await agent(client, "Tidy up, then run the tests.", eager=eager)
        print(f"{mode}: {answer!r} after {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", action="store_true", help="start tools only when the message is whole")
    waits: bool = parser.parse_args().wait
    tracekit.instrument()
    asyncio.run(main(eager=not waits))
