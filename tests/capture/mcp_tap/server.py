"""A stdio server that does what it is told: JSON-RPC for clients, and every way to misbehave. Standard library only."""

import json
import os
import signal
import sys
import time
from typing import Any


def say(message: object) -> None:
    """Write one line to the client."""
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Run a tool, or end in the middle of it."""
    match name:
        case "echo":
            return {"content": [{"type": "text", "text": arguments["text"]}]}
        case "fail":
            return {"content": [{"type": "text", "text": "boom, token=abcdefgh12345678"}], "isError": True}
        case "exit":
            sys.exit(arguments["code"])
        case "kill":
            os.kill(os.getpid(), arguments["signal"])
        case "child":
            # Somebody who keeps our stdout open after we are gone.
            if os.fork() == 0:
                time.sleep(arguments["seconds"])
                os._exit(0)
            os._exit(0)
        case "hang":
            time.sleep(60)
        case _:
            pass
    return None


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Give the result of a request."""
    match message["method"]:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "told", "version": "1"}}
        case "tools/list":
            return {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return call(message["params"]["name"], message["params"].get("arguments", {}))
        case _:
            return None


def serve() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if "id" in message and "method" in message:
            result = answer(message)
            if result is not None:
                say({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif message["params"].get("name") != "nothing":
                say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no such tool"}})


def main() -> None:
    """Behave as the first argument says."""
    how = sys.argv[1] if len(sys.argv) > 1 else "serve"
    if how == "tell-signals":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, lambda number, _: say({"signal": number}))
        say({"pid": os.getpid()})
        while True:
            time.sleep(60)
    if how == "stderr":
        sys.stderr.write("to whom it may concern\n")
        sys.stderr.flush()
    if how == "noise":
        print("Server is starting!", flush=True)  # noqa: T201
        sys.exit(3)
    serve()


if __name__ == "__main__":
    main()
