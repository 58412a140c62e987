"""The home that the client lives in during a run: a project, hooks, MCP servers. Nothing of it is the user's."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

from tests.lab.script import Scenario

HOME: Final = "/home/demo"
"""Where the recordings say that it all happened; each run has a temporary folder in its place."""
PROJECT: Final = f"{HOME}/project"
STAMP: Final = """\
stamp() { echo "{\\"tag\\":\\"$1\\",\\"edge\\":\\"$2\\",\\"at_ns\\":$(date +%s%N)}" >> stamps.jsonl; }
stamp "$1" start
sleep "$2"
stamp "$1" end
[ "$3" = 0 ] || { echo "$1 failed" >&2; exit "$3"; }
"""
"""What `bash` of a scenario runs."""
GATE: Final = "sleep 0.4; grep -q blocked && { echo not allowed >&2; exit 2; } || exit 0"


class DemoHome:
    """A home under `root`, furnished for one scenario."""

    def __init__(self, root: Path) -> None:
        self.path = root / HOME.lstrip("/")
        self.project = root / PROJECT.lstrip("/")
        self.options: list[str] = []
        """What the client must be told of this home on its command line."""

    def furnish(self, scenario: Scenario, port: int) -> None:
        """Write the files, hooks and servers that the scenario wants the client to find."""
        self.project.mkdir(parents=True)
        (self.path / "tmp").mkdir()
        for name, content in {"stamp.sh": STAMP, **scenario.files}.items():
            (self.project / name).write_text(content)
        if scenario.hooks:
            self._configure("--settings", {"hooks": hooks(port)})
        if scenario.mcp != "none":
            self._configure("--mcp-config", {"mcpServers": self._servers(works=scenario.mcp == "works")})

    def here(self, recorded: str) -> str:
        """Turn a path of the recording into one of this run."""
        return recorded.replace(HOME, str(self.path))

    def as_recorded(self, here: str) -> str:
        """Turn the paths of this run into the recording's, also where the client made a file name of one."""
        return here.replace(str(self.path), HOME).replace(_dashed(str(self.path)), _dashed(HOME))

    def _configure(self, option: str, content: dict[str, Any]) -> None:
        path = self.path / f"{option.strip('-')}.json"
        path.write_text(json.dumps(content))
        self.options += [option, str(path)]

    def _servers(self, *, works: bool) -> dict[str, Any]:
        if not works:
            return {
                "missing": {"command": "/nonexistent/server", "args": []},
                "refused": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
            }
        shutil.copy(Path(__file__).with_name("mcp_server.py"), self.path / "server.py")
        return {"demo": {"command": "python", "args": [str(self.path / "server.py")]}}


def _dashed(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def hooks(port: int) -> dict[str, Any]:
    """Settings for a slow gate before Bash, an HTTP listener after every tool, and a Stop hook that fails."""
    return {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": GATE}]}],
        "PostToolUse": [{"matcher": "*", "hooks": [{"type": "http", "url": f"http://127.0.0.1:{port}/hook"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "exit 1"}]}],
    }
