"""The house keeps its walls: who imports whom, what an import costs, what the wheel holds, how large things grow."""

import ast
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"tracekit": ROOT / "tracekit", "tracekit_exporters": ROOT / "exporters" / "tracekit_exporters"}
MODULES = sorted(path for package in PACKAGES.values() for path in package.rglob("*.py"))
FOUNDATION = {"tracekit.errors", "tracekit.model"}
IN_THE_AGENT = {"tracekit.instrument", "tracekit.sources", "tracekit.spool"}
WAREHOUSE = ("duckdb", "plotly", "polars", "rich", "typer")

LONG_MODULE = 400
LONG_FUNCTION = 60
LONG_FUNCTIONS_AT_MOST = 0.02


@pytest.fixture(scope="module")
def contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def _rooms() -> set[str]:
    return {f"tracekit.{path.stem}" for path in (ROOT / "tracekit").iterdir() if _is_room(path)}


def _is_room(path: Path) -> bool:
    return (path / "__init__.py").is_file() or (path.suffix == ".py" and path.stem != "__init__")


def _functions() -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_import_contracts_are_kept() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-logo", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_says_who_may_import_it(contracts: list[dict[str, Any]]) -> None:
    protected = {module for contract in contracts if contract["type"] == "protected" for module in contract["protected_modules"]}
    assert _rooms() - FOUNDATION - protected == set()


def test_no_room_of_the_agents_process_escapes_its_contract(contracts: list[dict[str, Any]]) -> None:
    light = {module for contract in contracts if "duckdb" in contract.get("forbidden_modules", ()) for module in contract["source_modules"]}
    assert (_rooms() & (FOUNDATION | IN_THE_AGENT)) - light == set()


def test_exporters_are_kept_from_every_room_but_the_model(contracts: list[dict[str, Any]]) -> None:
    (contract,) = [contract for contract in contracts if contract.get("source_modules") == ["tracekit_exporters"]]
    assert _rooms() - FOUNDATION == set(contract["forbidden_modules"])


@pytest.mark.parametrize("module", ["tracekit", "tracekit.instrument", "tracekit.model", "tracekit.sources", "tracekit.spool"])
def test_a_light_import_stays_light(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(set({WAREHOUSE!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_root_loads_no_model_before_it_is_used() -> None:
    script = "import sys, tracekit; print('tracekit.model' in sys.modules, tracekit.Boundary.TURN, 'tracekit.model' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "turn", "True"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    pytest.importorskip("hatchling", reason="comes with the extra `dev`")
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=ROOT, check=True, capture_output=True
    )
    (built,) = target.glob("agent_tracekit-*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_the_wheel_installs_two_names_and_no_more(wheel: list[str]) -> None:
    top = {name.split("/")[0] for name in wheel}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)


def test_the_wheel_holds_every_file_of_the_packages(wheel: list[str]) -> None:
    files = {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "tracekit/py.typed" in files
    assert files - set(wheel) == set()


def test_most_modules_are_short() -> None:
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES)
    assert lengths[int(len(lengths) * 0.9)] < LONG_MODULE


def test_long_functions_are_rare() -> None:
    functions = list(_functions())
    long = [f"{function.name} ({_lines(function)} lines)" for function in functions if _lines(function) > LONG_FUNCTION]
    assert len(long) < LONG_FUNCTIONS_AT_MOST * len(functions), long
