"""Failures that people reported in public: how many of them the rules know."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tracekit.analysis.failures import Evidence, Family, Verdict, classify

NO_FAILURE = {"none", "stuck"}
FAMILY_AT_LEAST = 0.95
KIND_AT_LEAST = 0.90

Case = dict[str, str]


def _cases(corpus: Path) -> Iterator[Case]:
    """The failures whose text stands as software printed it."""
    with (corpus / "failures" / "cases.tsv").open(encoding="utf-8", newline="") as file:
        for case in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if case["text_kind"].startswith("verbatim") and case["family"] not in NO_FAILURE:
                yield case


def _judge(case: Case) -> Verdict:
    status = int(case["http_status"]) if case["http_status"] else None
    return classify(Evidence(case["error_text"], layer=case["layer"], http_status=status, error_type=case["error_type"] or None))


def _family_right(case: Case, verdict: Verdict) -> bool:
    return verdict.family in case["family"].split("|")


def _kind_right(case: Case, verdict: Verdict) -> bool:
    return _family_right(case, verdict) and verdict.kind in case["kind"].split("|")


def test_the_rules_know_public_failures(corpus: Path, golden: Callable[[str, str], None]) -> None:
    judged = [(case, _judge(case)) for case in _cases(corpus)]
    families = sum(_family_right(case, verdict) for case, verdict in judged)
    kinds = sum(_kind_right(case, verdict) for case, verdict in judged)
    golden("failures/confusion.txt", _table(judged, families, kinds))
    assert families >= FAMILY_AT_LEAST * len(judged)
    assert kinds >= KIND_AT_LEAST * len(judged)


def _table(judged: list[tuple[Case, Verdict]], families: int, kinds: int) -> str:
    """Labelled families down, verdicts across; then the cases whose kind was missed."""
    counts = Counter((case["family"].split("|")[0], str(verdict.family)) for case, verdict in judged)
    names = [str(family) for family in Family]
    lines = [
        f"{len(judged)} cases, family right {families}, kind right {kinds}",
        "",
        " " * 16 + "".join(f"{name[:8]:>9}" for name in names),
    ]
    lines += [f"{row:16}" + "".join(f"{counts[row, column] or '.':>9}" for column in names) for row in names]
    missed = [
        f"{case['id']}  {case['family']}/{case['kind']} -> {verdict.family}/{verdict.kind}"
        for case, verdict in judged
        if not _kind_right(case, verdict)
    ]
    return "\n".join([*lines, "", "missed", *missed, ""])
