"""The documents keep their word: every command is described, every error has its page, both README commands are there."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from tracekit.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted(path for pattern in ("*.md", "[a-z]*/*.md", "tracekit/**/*.md") for path in ROOT.glob(pattern))
EXPLANATIONS = ROOT / "tracekit" / "cli" / "explanations"


def _commands(command: object, name: str) -> Iterator[str]:
    """Full names of all commands below one, groups opened."""
    children: dict[str, object] = getattr(command, "commands", {})
    if not children:
        yield name
    for child_name, child in children.items():
        if not getattr(child, "hidden", False):
            yield from _commands(child, f"{name} {child_name}")


def _slugs() -> set[str]:
    """Every `slug="…"` that the source passes to an error."""
    found: set[str] = set()
    for path in (ROOT / "tracekit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "slug":
                found |= {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return found


def test_the_readme_describes_every_command() -> None:
    commands = list(_commands(get_command(main.app), "tracekit"))
    assert len(commands) > 1
    assert [command for command in commands if f"`{command}`" not in README] == []


def test_the_readme_describes_no_command_that_is_not_there() -> None:
    described = set(re.findall(r"^\| `(tracekit [^`]+)` \|", README, flags=re.MULTILINE))
    assert described - set(_commands(get_command(main.app), "tracekit")) == set()


def test_the_readme_opens_with_the_questions_and_two_commands() -> None:
    questions = [README.index(f"\n{number}. **") for number in range(1, 5)]
    assert questions == sorted(questions)
    assert questions[-1] < README.index("<!-- command: ")
    commands = re.findall(r"^<!-- command: (\w+) -->\n```sh\n(.+)\n```$", README, flags=re.MULTILINE)
    assert [name for name, _ in commands] == ["demo", "tests"]
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install -q ") for _, command in commands)


def test_the_readme_shows_what_the_demo_prints() -> None:
    (shown,) = re.findall(r"^<!-- printed by: tracekit demo -->\n```\n(.+?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", "from tracekit.cli.main import main; main()", "demo"]
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=True).stdout
    assert shown in "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_sends_people_to_another_project(document: Path) -> None:
    # PyPI's `tracekit` is not ours.
    assert not re.search(r"pip3? install (\S+ )*tracekit\b", document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_error_has_its_page() -> None:
    slugs = _slugs()
    assert slugs
    assert sorted(slug for slug in slugs if not (EXPLANATIONS / f"{slug}.md").is_file()) == []
