"""CI systems take the document, and find in it what failed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.world import HOSTILE, SECOND, at, session, stored
from tracekit.testing import memory_store
from tracekit_exporters import junit
from tracekit_exporters.junit import Case, Outcome

etree: Any = pytest.importorskip("lxml.etree", reason="comes with the extra `dev`")
SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit.xsd"))))


def _document(cases: Iterable[Case]) -> Any:
    root = etree.fromstring("".join(junit.write(cases)).encode())
    SCHEMA.assertValid(root)
    return root


def test_a_session_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    with memory_store(session()) as store:
        text = "".join(junit.export(stored(store)))
    golden("exporters/junit.xml", text)
    SCHEMA.assertValid(etree.fromstring(text.encode()))


def test_the_schema_refuses_what_readers_would_misread() -> None:
    for wrong in (
        "<testsuites><testcase name='a' classname='b'/></testsuites>",
        "<testsuites><testsuite name='a' tests='x' failures='0' errors='0'/></testsuites>",
        "<testsuites><testsuite name='a' tests='1' failures='0' errors='0'><testcase name='a'/></testsuite></testsuites>",
    ):
        assert not SCHEMA.validate(etree.fromstring(wrong))


def test_a_family_that_was_not_recovered_fails_with_its_evidence() -> None:
    with memory_store(session()) as store:
        root = etree.fromstring("".join(junit.export(stored(store))).encode())
    (suite,) = root
    assert (suite.get("name"), suite.get("tests")) == ("7f3a", str(len(junit.FAMILIES) + 1))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    (failed,) = suite.findall("testcase/failure")
    assert failed.getparent().get("name") == "mcp"
    assert failed.text == "call at mcp__files__read (not recovered): exit 1"


def test_a_wait_without_an_end_fails_and_one_within_its_limit_does_not() -> None:
    running = [one for one in session() if one.boundary != "session"]
    for hours, outcome in ((10, "failure"), (0.01, None)):
        with memory_store([one._replace(end_ns=None) if one.key == "turn" else one for one in running]) as store:
            root = etree.fromstring("".join(junit.export(stored(store, at(46) + round(hours * 3600 * SECOND)))).encode())
        (case,) = root.findall("testsuite/testcase[@name='stuck']")
        assert [element.tag for element in case if element.tag != "system-out"] == ([outcome] if outcome else [])
        assert "Bash" in "".join(case.itertext())


def test_outcomes_are_counted_and_told_apart() -> None:
    root = _document(
        [
            Case("s", "c", "passed", Outcome.PASSED),
            Case("s", "c", "told", Outcome.PASSED, text="12 of 13"),
            Case("s", "c", "failed", Outcome.FAILED, "by 3", "line one\nline two", 1.5),
            Case("s", "c", "skipped", Outcome.SKIPPED, "nobody can say"),
            Case("t", "c", "passed", Outcome.PASSED),
        ]
    )
    first, second = root
    assert dict(first.attrib) == {"name": "s", "tests": "4", "failures": "1", "errors": "0", "skipped": "1", "time": "1.500"}
    assert first.find("testcase[@name='failed']/failure").text == "line one\nline two"
    assert first.find("testcase[@name='told']/system-out").text == "12 of 13"
    assert first.find("testcase[@name='skipped']/skipped").get("message") == "nobody can say"
    assert second.get("tests") == "1"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(text: str) -> None:
    outcomes = (Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED)
    root = _document(Case(f"s{text}", text, text, outcome, text, text) for outcome in outcomes)
    assert [element.tag for element in root.iter()].count("testcase") == len(outcomes)
    assert {element.tag for element in root.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out"}
    written = etree.tostring(root, encoding="unicode")
    assert not set(written) & {"\x1b", "\x9b", "\u202e", "\u2066"}
    assert len(written) < 200_000
