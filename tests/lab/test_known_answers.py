"""The real sessions in tests/data are whole: counted straight from their lines they give the numbers that are known of them."""

import json
from pathlib import Path

import pytest

from tests.lab.count import count, entries, together

DATA = Path(__file__).parents[1] / "data"
KNOWN = json.loads((DATA / "known_answers.json").read_text(encoding="utf-8"))
PRECISION_S = 0.5
"""Known times are rounded to six digits."""


def transcript(name: str) -> Path:
    return DATA / "transcripts" / f"{name}.xz"


def check(counted: dict[str, int | float], known: dict[str, int | float]) -> None:
    assert counted.pop("use_to_result_s") == pytest.approx(known["use_to_result_s"], abs=PRECISION_S)
    assert counted == {name: known[name] for name in counted}


@pytest.mark.parametrize("name", KNOWN["files"])
def test_a_file_counts_as_known(name: str) -> None:
    check(count(entries(transcript(name))), KNOWN["files"][name])


@pytest.mark.parametrize("name", KNOWN["together"])
def test_files_that_share_entries_count_them_once(name: str) -> None:
    known = KNOWN["together"][name]
    check(count(together(transcript(file) for file in known["files"])), known)


def test_nothing_but_known_files_is_there() -> None:
    found = {path.relative_to(DATA / "transcripts").as_posix().removesuffix(".xz") for path in (DATA / "transcripts").rglob("*.xz")}
    assert found == KNOWN["files"].keys()
