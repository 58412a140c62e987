"""The notebooks: each runs on the bundled data from its first cell to its last, and none is committed with its outputs."""

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit import Traces

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
FOREIGN = {"json", "lzma", "pathlib", "polars", "tempfile"}
"""What a notebook may import beside the public names."""

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def code(path: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(path, "code"))


def text(path: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))


def test_the_three_questions_have_their_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"failure_census", "overlap_study", "stuck_triage"}


@each
def test_outputs_are_stripped(path: Path) -> None:
    kept = [cell["id"] for cell in cells(path, "code") if cell["outputs"] or cell["execution_count"] or cell["metadata"]]
    assert kept == [], "run `jupyter nbconvert --clear-output --inplace notebooks/*.ipynb`"


@each
def test_only_public_names_are_used(path: Path) -> None:
    tree = ast.parse(code(path))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= FOREIGN | {"tracekit"}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "tracekit"}
    assert used <= set(tracekit.__all__)


@each
def test_no_result_is_written_into_the_text(path: Path) -> None:
    """Numbers belong to outputs: what the text says must hold for whatever data is opened."""
    assert re.findall(r"\b\d+(?:\.\d+)? ?(?:%|s\b|ms\b|seconds|percent|times)", text(path)) == []


@each
def test_the_text_asks_first_and_the_data_conclude(path: Path) -> None:
    first, *_ = cells(path, "markdown")
    assert re.match(r"# .+\?$", first["source"][0].strip())
    conclusions = [cell for cell in cells(path, "code") if cell["id"] == "conclusion"]
    assert "print(" in "".join(conclusions[0]["source"])


def test_every_question_that_is_asked_is_a_public_method() -> None:
    asked = {name for path in NOTEBOOKS for name in re.findall(r"\b(?:field|lab|traces|opened\[[^]]*\])\.(\w+)\(", code(path))}
    assert {"overlap", "stuck", "failures", "what_if", "sessions"} <= asked
    assert asked <= set(dir(Traces))


@pytest.mark.notebooks
@each
def test_a_notebook_runs_to_its_conclusion(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="comes with the extra `dev`")
    nbclient = pytest.importorskip("nbclient", reason="comes with the extra `dev`")
    pytest.importorskip("ipykernel", reason="comes with the extra `dev`")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "exporters"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    (conclusion,) = [cell for cell in notebook.cells if cell.id == "conclusion"]
    said = "".join(output.text for output in conclusion.outputs if output.output_type == "stream")
    assert len(said.splitlines()) >= 3
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    figures = [output for output in outputs if "application/vnd.plotly.v1+json" in output.get("data", {})]
    assert len(figures) == code(path).count("tracekit.figures.")
