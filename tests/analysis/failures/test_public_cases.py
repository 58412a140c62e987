"""How many failures the rules know: those that people reported in public, and many more as they are met, through `tracekit classify`."""

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.failures.cases import DATA, Case, lines, read, unescaped
from tracekit.analysis.failures import Family
from tracekit.cli.main import run

NO_FAILURE = "none"
FAMILY_AT_LEAST = 0.95
KIND_AT_LEAST = 0.90

Judged = list[tuple[Case, dict[str, Any]]]
Judge = Callable[[Sequence[Case]], Judged]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Judge:
    """Put cases through the command, and give them with its rows."""

    def through_the_command(cases: Sequence[Case]) -> Judged:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(cases))))
        assert run(["classify"]) == 0
        return list(zip(cases, map(json.loads, capsys.readouterr().out.splitlines()), strict=True))

    return through_the_command


def _family_right(case: Case, verdict: dict[str, Any]) -> bool:
    return verdict["family"] in case["family"].split("|")


def _kind_right(case: Case, verdict: dict[str, Any]) -> bool:
    return _family_right(case, verdict) and (not case["kind"] or verdict["kind"] in case["kind"].split("|"))


def test_the_rules_know_public_failures(corpus: Path, judge: Judge, golden: Callable[[str, str], None]) -> None:
    printed = [case for case in read(corpus / "failures" / "cases.tsv") if case["text_kind"].startswith("verbatim")]
    failed = [case for case in printed if case["family"] not in {NO_FAILURE, "stuck"}]
    judged = judge(failed)
    golden("failures/confusion.txt", _table(judged, name="id"))
    assert sum(_family_right(*one) for one in judged) >= FAMILY_AT_LEAST * len(judged)
    assert sum(_kind_right(*one) for one in judged) >= KIND_AT_LEAST * len(judged)
    assert [row for _, row in judge(unescaped(failed))] == [row for _, row in judged]


def test_the_rules_know_failures_as_they_are_met(judge: Judge, golden: Callable[[str, str], None]) -> None:
    judged = judge(unescaped(read(DATA / "variants.tsv")))
    golden("failures/variants.txt", _table(judged, name="error_text"))
    assert [case for case, verdict in judged if not _kind_right(case, verdict)] == []


def test_no_failure_is_taken_for_mere_talk(judge: Judge) -> None:
    bare = [
        case | {"layer": "", "http_status": "", "error_type": ""} for case in unescaped(read(DATA / "variants.tsv")) if case["error_text"]
    ]
    judged = judge([case for case in bare if case["family"] != NO_FAILURE])
    assert [case["error_text"] for case, verdict in judged if verdict["family"] == NO_FAILURE] == []


def test_every_kind_is_met() -> None:
    met = {case["family"] for case in read(DATA / "variants.tsv")}
    assert met == {*Family, NO_FAILURE} - {Family.UNKNOWN}


def _table(judged: Judged, name: str) -> str:
    """Labelled families down, verdicts across; then the cases whose kind was missed."""
    counts = Counter((case["family"].split("|")[0], str(verdict["family"])) for case, verdict in judged)
    names = [*map(str, Family), NO_FAILURE]
    families, kinds = (sum(right(*one) for one in judged) for right in (_family_right, _kind_right))
    heads = [
        f"{len(judged)} cases, family right {families}, kind right {kinds}",
        "",
        " " * 16 + "".join(f"{family[:8]:>9}" for family in names),
    ]
    rows = [f"{row:16}" + "".join(f"{counts[row, column] or '.':>9}" for column in names) for row in names]
    missed = [
        f"{case[name]}  {case['family']}/{case['kind']} -> {verdict['family']}/{verdict['kind']}"
        for case, verdict in judged
        if not _kind_right(case, verdict)
    ]
    return "\n".join([*heads, *rows, "", "missed", *missed, ""])
