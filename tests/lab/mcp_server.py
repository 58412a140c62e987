"""An MCP server over stdio with four tools: one answers, one fails, one is slow, one ends the server. Standard library only."""

import json
import os
import sys
import time
from typing import Any, Final

NUMBER: Final = {"type": "number"}
TOOLS: Final = {
    "add": {"a": NUMBER, "b": NUMBER},
    "fail": {},
    "slow": {"seconds": NUMBER},
    "crash": {},
}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool and give its result."""
    match name:
        case "add":
            said = str(arguments["a"] + arguments["b"])
        case "slow":
            time.sleep(arguments["seconds"])
            said = "slept"
        case "crash":
            os._exit(3)
        case _:
            return {"content": [{"type": "text", "text": "boom in tool"}], "isError": True}
    return {"content": [{"type": "text", "text": said}]}


def reply(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the result of one JSON-RPC request."""
    match method:
        case "initialize":
            version = parameters["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "demo", "version": "1"}}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object", "properties": TOOLS[name]}} for name in TOOLS]}
        case "tools/call":
            return call(parameters["name"], parameters.get("arguments", {}))
        case _:
            return {}


def main() -> None:
    """Answer requests until stdin ends; notifications need no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = reply(message["method"], message.get("params", {}))
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
