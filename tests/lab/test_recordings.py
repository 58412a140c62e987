"""What is recorded in this repository is whole, true to its judge, and says nothing of the machine or of the client's prose."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import judge, scrub
from tests.lab.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "data" / "captures"
DEMO = ROOT / "tracekit" / "cli" / "recording"
RUNS = sorted(path.name for path in CAPTURES.iterdir())
FOREIGN = re.compile(rb"/(?:tmp|root|work|opt|Users|home/(?!demo/))\b|-tmp-|\bsk-[a-z]+|x-api-key|host\.arch|os\.version|user\.id")
OWN_TMP = b"/home/demo/tmp"
PROSE = re.compile(rb"<system-reminder>(?!\[)|systemPrompt|input_schema|IMPORTANT:")
LARGEST_DATA = 1_300_000
LARGEST_FILE = 500_000
LARGEST_RUN = 64_000
LARGEST_DEMO = 150_000


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def transcripts(folder: Path) -> Iterator[dict[str, Any]]:
    for path in (folder / "transcript").rglob("*.jsonl"):
        yield from judge.lines(path)


def test_recorded_and_made_data_stay_small() -> None:
    sizes = [path.stat().st_size for folder in ("captures", "faults", "transcripts") for path in files(CAPTURES.parent / folder)]
    assert sum(sizes) <= LARGEST_DATA
    assert max(sizes) <= LARGEST_FILE


def test_every_recorded_run_is_a_scenario_of_the_lab() -> None:
    assert set(RUNS) <= SCENARIOS.keys()


@pytest.mark.parametrize("name", RUNS)
def test_the_judge_says_of_a_run_what_was_recorded(name: str) -> None:
    judged = judge.truth(CAPTURES / name)
    assert judged == json.loads((CAPTURES / name / "truth.json").read_text(encoding="utf-8"))
    assert judge.stray_stamps(judged) == []


@pytest.mark.parametrize("folder", [*(CAPTURES / name for name in RUNS), DEMO], ids=lambda folder: folder.name)
def test_a_recording_is_small_and_clean(folder: Path) -> None:
    assert sum(path.stat().st_size for path in files(folder)) <= (LARGEST_DEMO if folder == DEMO else LARGEST_RUN)
    for path in files(folder):
        said = path.read_bytes().replace(OWN_TMP, b"")
        assert not (found := FOREIGN.search(said)), f"{path}: {found}"
        assert not (found := PROSE.search(said)), f"{path}: {found}"
    assert not [entry["type"] for entry in transcripts(folder) if scrub.is_echo(entry)]


@pytest.mark.parametrize("folder", [*(CAPTURES / name for name in RUNS), DEMO], ids=lambda folder: folder.name)
def test_what_was_left_out_leaves_no_entry_without_its_parent(folder: Path) -> None:
    entries = list(transcripts(folder))
    known = {entry["uuid"] for entry in entries if "uuid" in entry}
    assert {entry["parentUuid"] for entry in entries if entry.get("parentUuid")} <= known
