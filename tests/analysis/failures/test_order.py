"""The order of the rules is the judgement: each trap is avoided because of where its rule stands, and in another order it is not."""

from collections.abc import Callable, Sequence

import pytest

from tests.analysis.failures.cases import DATA, Case, evidence, read
from tracekit.analysis.failures import RULES, Rule, classify

TRAPS = read(DATA / "traps.tsv")


def _label(one: Rule) -> str:
    return f"{one.family}/{one.kind}"


def _verdict(case: Case, rules: Sequence[Rule] = RULES) -> str:
    verdict = classify(evidence(case), rules)
    return f"{verdict.family}/{verdict.kind}"


def _fitting(case: Case) -> list[Rule]:
    """The rules that would take it, in their order: the first one does."""
    return [rule for rule in RULES if rule.match(evidence(case)) is not None]


def _misled(case: Case) -> Rule | None:
    """The rule of the trap, where nothing but its place keeps it from deciding."""
    return next((rule for rule in _fitting(case) if _label(rule) == case["wrong"]), None)


def _exchanged(first: Rule, second: Rule) -> list[Rule]:
    places = {id(first): second, id(second): first}
    return [places.get(id(rule), rule) for rule in RULES]


@pytest.mark.parametrize("case", TRAPS, ids=lambda case: case["trap"])
def test_a_trap_is_avoided(case: Case) -> None:
    assert _verdict(case) == case["right"] != case["wrong"]


@pytest.mark.parametrize("case", [case for case in TRAPS if _misled(case)], ids=lambda case: case["trap"])
def test_a_trap_shuts_when_the_two_rules_change_places(case: Case) -> None:
    misled = _misled(case)
    assert misled is not None
    before = [rule for rule in _fitting(case) if RULES.index(rule) < RULES.index(misled)]
    exchanged = _exchanged(before[0], misled)
    assert _verdict(case, exchanged) != case["right"]
    assert _verdict(case, [misled, *RULES]) == case["wrong"]


@pytest.mark.parametrize("case", TRAPS, ids=lambda case: case["trap"])
def test_a_trap_shuts_when_its_rule_comes_last(case: Case) -> None:
    own = [rule for rule in _fitting(case) if _label(rule) == case["right"]]
    assert _verdict(case, [*(rule for rule in RULES if rule not in own), *own]) != case["right"]


def test_what_keeps_each_trap_open(golden: Callable[[str, str], None]) -> None:
    rows = [f"{'order' if _misled(case) else 'rule':6}{case['right']}, not {case['wrong']}: {case['trap']}" for case in TRAPS]
    golden("failures/traps.txt", "\n".join(sorted(rows)) + "\n")
