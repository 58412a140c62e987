"""`tracekit tokens`: what stands beside the numbers, and where estimates come from."""

import json
import sys
from pathlib import Path

import pytest

from tracekit.cli.main import run
from tracekit.ingest import import_paths

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tracekit" / "cli" / "recording"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A headless run, whose client tells what it cost."""
    store = str(tmp_path_factory.mktemp("tokens") / "store.duckdb")
    import_paths([RECORDING], store)
    return store


@pytest.fixture(scope="module")
def unreported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same as its transcript alone tells it: what the session cost, and of no message what that one did."""
    store = str(tmp_path_factory.mktemp("tokens") / "store.duckdb")
    import_paths([RECORDING / "transcript"], store)
    return store


def rows(store: str, by: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert run(["tokens", "--by", by, "--json", "--store", store]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["rows"]
    return found


@pytest.mark.parametrize("by", ["agent", "model", "session", "message"])
def test_the_client_s_own_cost_needs_no_estimate(by: str, reported: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(reported, by, capsys)
    assert sum(float(str(row["cost_usd"])) for row in found) == pytest.approx(0.057339)
    assert {row["estimate_usd"] for row in found} == {None}
    assert run(["tokens", "--by", by, "--store", reported]) == 0
    assert capsys.readouterr().err == ""


def test_an_estimate_is_near_what_the_client_said_and_names_its_list(unreported: str, capsys: pytest.CaptureFixture[str]) -> None:
    genai_prices = pytest.importorskip("genai_prices", reason="comes with the extra `prices`")
    (row,) = rows(unreported, "agent", capsys)
    (session,) = rows(unreported, "session", capsys)
    assert (row["cost_usd"], session["estimate_usd"]) == (None, None)
    assert row["estimate_usd"] == pytest.approx(session["cost_usd"])
    assert run(["tokens", "--store", unreported]) == 0
    assert f"Estimates by genai-prices {genai_prices.__version__}" in capsys.readouterr().err


def test_without_the_list_it_is_said_how_to_have_it(
    unreported: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    (row,) = rows(unreported, "agent", capsys)
    assert (row["cost_usd"], row["estimate_usd"], row["prices"]) == (None, None, None)
    assert run(["tokens", "--store", unreported]) == 0
    assert "pip install 'agent-tracekit[prices]'" in capsys.readouterr().err
