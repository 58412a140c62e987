"""The README's program for those who build agents runs as printed, and so do the commands under it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION: Final = re.compile(r"^<!-- program: agent -->\n```python\n(.+?)^```$\n+```sh\n(.+?)^```$", re.MULTILINE | re.DOTALL)
COMMAND: Final = "from tracekit.cli.main import main; main()"


def test_the_program_and_the_commands_that_the_readme_shows(tmp_path: Path) -> None:
    shown = SECTION.search(README)
    assert shown is not None
    program, commands = shown.groups()
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    environment |= {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    for name in ("TRACEKIT_SPOOL", "TRACEKIT_STORE", "CLAUDE_CONFIG_DIR"):
        environment.pop(name, None)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120
        )
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
        return done.stdout

    assert run("-c", program) == ""
    _, overlap = [run("-c", COMMAND, *line.split("#")[0].split()[1:]) for line in commands.splitlines()]
    row = re.search(r"^my-agent.* (\d+) ms +(\d+) m?s +(\d+) ms", overlap, re.MULTILINE)
    # All of the tool, which sleeps for 300 ms, hid: nothing was exposed, and no more could have been hidden.
    assert row is not None, overlap
    hidden, exposed, could_hide = map(int, row.groups())
    assert hidden == could_hide >= 300
    assert exposed == 0
