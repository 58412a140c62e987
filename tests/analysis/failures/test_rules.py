"""The rules as a whole: complete, explained, apart from one another."""

import re

import pytest

from tracekit.analysis.failures import RULES, Family, Kind, Rule, explanation

FAMILIES = {
    "network": "dns connect tls proxy timeout reset stream_cut stream_error stream_stall overloaded rate_limited server_error",
    "prompt_too_long": "prompt_too_long context_window_exceeded compaction_too_long",
    "tool": "input permission execution timeout sandbox sibling_cancelled side_effect_uncertain",
    "mcp": "spawn connect auth initialize discovery call session_lost",
    "request": "invalid too_large image document unsupported_field",
    "account": "authentication billing usage_limit organization",
    "hook": "blocked error timeout invalid_output unknown_callback",
    "model": "refusal content_filter max_output_tokens malformed_tool_input",
    "user": "interrupt rejection",
    "client": "crash max_turns incomplete_run control_timeout",
    "unknown": "unknown",
}
HEADINGS = ["What it means", "Evidence", "What to do"]


def _headings(page: str) -> list[str]:
    return re.findall(r"^(\S[^/:\n]*)$", page, flags=re.MULTILINE)


def test_every_kind_has_a_rule_and_no_rule_has_another() -> None:
    kinds = {(rule.family.value, rule.kind.value) for rule in RULES}
    assert kinds == {(family, kind) for family, kinds in FAMILIES.items() for kind in kinds.split()}


def test_no_word_is_left_without_a_rule() -> None:
    assert set(Family) == {rule.family for rule in RULES}
    assert set(Kind) == {rule.kind for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.family}/{rule.kind}")
def test_every_rule_explains_itself_in_three_parts(rule: Rule) -> None:
    page = explanation(f"{rule.family}/{rule.kind}")
    assert page is not None
    assert page.startswith(f"{rule.family} / {rule.kind}: ")
    assert _headings(page) == HEADINGS


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"unknown"}))
def test_a_family_explains_itself_and_lists_its_kinds(family: str) -> None:
    page = explanation(family)
    assert page is not None
    assert _headings(page)[:4] == [*HEADINGS, "Kinds"]
    assert [kind for kind in FAMILIES[family].split() if f"    {family} / {kind}: " not in page] == []


def test_a_word_of_several_families_explains_all_of_them() -> None:
    page = explanation("timeout") or ""
    assert [page.count(f"{family} / timeout: ") for family in ("network", "tool", "hook", "mcp")] == [1, 1, 1, 0]


def test_a_word_may_be_written_as_the_pages_write_it() -> None:
    assert explanation("Network / DNS") == explanation("network/dns") == explanation("dns")


@pytest.mark.parametrize("word", ["", "nonsense", "network/nonsense", "nonsense/dns", "/"])
def test_other_words_explain_nothing(word: str) -> None:
    assert explanation(word) is None


def test_the_last_rule_takes_everything() -> None:
    assert [rule for rule in RULES if rule.family == "unknown"] == [RULES[-1]]
