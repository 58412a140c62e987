"""What an MCP server is called, as long as it has not said so itself."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

_RUNNERS: Final = frozenset(
    {"npx", "bunx", "uvx", "uv", "pipx", "python", "python3", "node", "bun", "deno", "docker", "podman", "ruby", "sh", "bash"}
)
"""Programs that run the one that their arguments name."""
_VERBS: Final = frozenset({"run", "exec", "tool", "x", "dlx", "start"})


def server_name(command: Sequence[str]) -> str:
    """Guess what a server is called from how it is run.

    Examples:
        >>> server_name(["npx", "-y", "@modelcontextprotocol/server-github@1.2"])
        'server-github'
        >>> server_name(["/usr/bin/python3", "/srv/weather.py", "--port", "1"])
        'weather'
    """
    for word in command:
        name = PurePath(word).name
        is_runner = name.rstrip("0123456789.") in _RUNNERS or name in _RUNNERS or name in _VERBS
        if not is_runner and not word.startswith("-"):
            return name.rpartition("@")[0] or PurePath(name).stem or name
    return PurePath(command[0]).name
