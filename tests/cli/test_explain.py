"""`tracekit explain`: everything that the answers name can be looked up."""

import json
import re
from pathlib import Path

import pytest

from tracekit.analysis import failures
from tracekit.cli.explain import Topic, failure_page, find, topics
from tracekit.cli.main import run
from tracekit.errors import TracekitError
from tracekit.model import CONTRACTS

ROOT = Path(__file__).parents[2]
TOPICS = list(topics())
SLUGS = {
    "account",
    "bad-sql",
    "bad-time",
    "form-unknown",
    "hidden",
    "line-too-long",
    "no-store",
    "nothing-to-import",
    "path-missing",
    "path-unreadable",
    "ranges",
    "session-ambiguous",
    "session-unknown",
    "slack",
    "store-busy",
    "store-damaged",
    "store-full",
    "store-newer",
    "store-unknown",
    "topic-unknown",
    "turn-unknown",
    "witnesses-disagree",
}


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


def test_every_boundary_every_kind_of_failure_and_every_page_is_a_topic() -> None:
    names = {topic.topic for topic in TOPICS}
    assert names >= SLUGS | set(CONTRACTS) | {f"{rule.family}/{rule.kind}" for rule in failures.RULES}
    assert names >= set(failures.Family) - {failures.Family.UNKNOWN}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.topic)
def test_a_topic_is_summed_up_and_its_page_has_a_heading_and_says_more(topic: Topic) -> None:
    assert re.search(r"\w", topic.summary)
    heading, _, rest = topic.text.partition("\n")
    assert heading.startswith("# ")
    assert len(rest) > len(topic.summary)


@pytest.mark.parametrize("slug", sorted(SLUGS))
def test_a_page_of_an_error_says_what_to_do(slug: str) -> None:
    (page,) = (topic for topic in TOPICS if topic.topic == slug and topic.about in ("error", "word"))
    assert page.text.startswith(f"# {slug}\n")
    if page.about == "error":
        assert re.search(r"^## (What to do|What can be written)$", page.text, flags=re.MULTILINE)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.topic)
def test_a_page_sends_nobody_to_a_topic_that_is_not_there(topic: Topic) -> None:
    for name in re.findall(r"`tracekit explain ([\w/-]+)`", topic.text):
        assert find(name, TOPICS)


def test_a_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "store-busy"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("store-busy\n\nAnother process holds the store")
    assert "\nWhat to do\n" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_boundary_is_explained_by_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "permission_wait"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "A tool call waits for a person or a rule to allow it." in printed
    assert "Cancelled: interrupt counts as a rejection" in printed
    assert "Carries: tracekit.permission.decision" in printed


def test_a_kind_of_failure_is_explained_by_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "network/dns"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("network / dns\n")
    assert re.findall(r"^(What it means|Evidence|What to do)$", printed, flags=re.MULTILINE) == ["What it means", "Evidence", "What to do"]


def test_a_family_lists_its_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "network"]) == 0
    printed = capsys.readouterr().out
    assert all(f"network/{kind}: " in printed for kind in ("dns", "tls", "stream_cut"))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Stream-Cut", ["network/stream_cut"]),
        ("timeout", ["hook/timeout", "network/timeout", "tool/timeout"]),
        ("tool/timeout", ["tool/timeout"]),
        ("store_busy", ["store-busy"]),
        ("mcp_call", ["mcp-call", "mcp_call"]),
    ],
)
def test_a_topic_is_found_however_it_is_spelt_and_in_every_family(name: str, found: list[str]) -> None:
    assert sorted(topic.topic for topic in find(name, TOPICS)) == found


def test_an_unknown_topic_names_those_that_come_close(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "stor-bussy"]) == 2
    assert "did you mean store-busy" in capsys.readouterr().err
    with pytest.raises(TracekitError) as caught:
        find("qqqqqq", TOPICS)
    assert caught.value.slug == "topic-unknown"
    assert "`tracekit explain` lists" in str(caught.value)


def test_without_a_topic_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain"]) == 0
    printed = capsys.readouterr().out
    assert all(topic.topic in printed for topic in TOPICS)


def test_programs_get_the_page_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "slack", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["topic"], row["about"]) == ("slack", "word")
    assert row["text"].startswith("# slack\n")


def test_a_docstring_becomes_a_page() -> None:
    docstring = "a / b: it broke.\n\nWhat it means\n    One.\n\n    Two:\n    - three\n\nWhat to do\n    Four.\n"
    assert failure_page(docstring) == ("# a / b\n\nIt broke.\n\n## What it means\n\nOne.\n\nTwo:\n- three\n\n## What to do\n\nFour.")


def _slugs_raised() -> set[str]:
    sources = (ROOT / "tracekit").rglob("*.py")
    return {slug for path in sources for slug in re.findall(r"""\bslug=f?["']([a-z][a-z-]+)["']""", path.read_text(encoding="utf-8"))}


def test_every_error_has_a_page_that_is_worth_reading() -> None:
    pages = {topic.topic: topic.text for topic in TOPICS}
    assert _slugs_raised() - set(pages) == set()
    assert [slug for slug in _slugs_raised() if len(pages[slug].split()) < 30] == []


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic.about in ("failure", "failures")], ids=lambda topic: topic.topic)
def test_a_page_of_a_failure_says_what_it_means_what_shows_it_and_what_to_do(topic: Topic) -> None:
    parts = dict(re.findall(r"^## ([\w ]+)\n\n(.*?)(?=\n## |\Z)", topic.text, flags=re.MULTILINE | re.DOTALL))
    assert {"What it means", "Evidence", "What to do"} <= set(parts)
    assert all(len(parts[part].split()) >= 8 for part in ("What it means", "Evidence", "What to do")), parts


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A store with two failed commands in two sessions, one of them the last thing of its session."""
    url = str(tmp_path / "store.duckdb")
    assert run(["import", str(ROOT / "tests/data/captures/tool_failures"), "--store", url]) == 0
    return url


def test_a_kind_of_failure_says_how_often_it_occurred_here(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["explain", "tool/execution", "--store", stored]) == 0
    assert re.search(
        r"^Here: tool/execution occurred \w+(?: times)? in 1 session, 0 not recovered, last at ", capsys.readouterr().out, re.MULTILINE
    )
    assert run(["explain", "network/dns", "--store", stored]) == 0
    assert "Here: network/dns did not occur in your store." in capsys.readouterr().out
    assert run(["explain", "tool", "--store", stored, "--json"]) == 0
    here = json.loads(capsys.readouterr().out)["here"]["tool"]
    assert here["failures"] >= 1
    assert here["sessions"] == 1


def test_without_a_store_a_page_is_printed_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "network/dns", "--store", str(tmp_path / "none.duckdb")]) == 0
    assert "Here:" not in capsys.readouterr().out
    (tmp_path / "broken.duckdb").write_bytes(b"no store")
    assert run(["explain", "network/dns", "--store", str(tmp_path / "broken.duckdb")]) == 0
    assert "Here:" not in capsys.readouterr().out
