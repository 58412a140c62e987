"""The report for pull requests and for programs."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.page.worlds import HOSTILE, NOW, asked, hostile, huge, ordinary
from tracekit.analysis.scope import Scope
from tracekit.model import Span
from tracekit.page.listing import Listing
from tracekit.page.summary import FORMAT, ROOM, SCHEMA_ID, Told, as_object, markdown, schema, tell
from tracekit.report.json import document


def told(*spans: Iterable[Span]) -> list[Told]:
    with asked(*spans) as ask:
        listing = Listing(ask)
        return [tell(ask, listing, session, as_of_ns=NOW) for session in ask.sessions(Scope())]


def tokens(text: str) -> list[Token]:
    """Everything that a reader of GitHub's Markdown finds in a text."""
    flat: list[Token] = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        flat += [token, *(token.children or [])]
    return flat


def test_the_summary_stays_what_it_is(golden: Callable[[str, str], None]) -> None:
    golden("page/summary.md", markdown(told(ordinary()), as_of_ns=NOW))


def test_a_summary_of_several_folds_each() -> None:
    text = markdown(told(ordinary(), ordinary("another")), as_of_ns=NOW)
    assert text.startswith("## tracekit: 2 sessions\n")
    assert text.count("<details>") == text.count("</details>") == 2
    assert "<summary>Session <code>another</code></summary>" in text


def test_a_hostile_summary_holds_no_markup_of_others() -> None:
    text = markdown(told(hostile(HOSTILE), huge()), as_of_ns=NOW)
    found = tokens(text)
    assert {token.type for token in found if "link" in token.type or "image" in token.type} == set()
    blocks = {line for token in found if token.type in {"html_block", "html_inline"} for line in token.content.split("\n") if line}
    own = {"</details>", "<sub>", "</sub>"}
    assert {line for line in blocks if line not in own and not line.startswith("<details><summary>Session <code>")} == set()
    for line in blocks - own:
        inside = line.removeprefix("<details><summary>Session <code>").removesuffix("</code></summary>")
        assert "<" not in inside
    for token in found:
        if token.type == "text":
            assert not set("@#[]`<>{}\\") & set(token.content), token.content
            assert token.content.count("$") < 2, token.content
            assert "www." not in token.content
    headings = [found[number + 1].content for number, token in enumerate(found) if token.type == "heading_open"]
    assert not any("heading" in heading for heading in headings)
    assert len(text) < ROOM


def test_tables_keep_their_columns_whatever_is_in_them() -> None:
    rows: list[int] = []
    for token in tokens(markdown(told(hostile(HOSTILE)), as_of_ns=NOW)):
        if token.type == "tr_open":
            rows.append(0)
        elif token.type in {"td_open", "th_open"}:
            rows[-1] += 1
    assert rows
    assert 1 not in rows


def test_there_is_room_for_a_comment_on_a_pull_request() -> None:
    many = told(ordinary()) * 80
    text = markdown(many, as_of_ns=NOW)
    assert len(text) < ROOM + 1_000
    assert "There is no room here for the details of" in text
    assert "30 more sessions are not shown." in text


def test_the_object_stays_what_it_is(golden: Callable[[str, str], None]) -> None:
    rows = [as_object(one) for one in told(ordinary())]
    golden("page/report.json", document(rows, as_of_ns=NOW, schema=SCHEMA_ID) + "\n")


def test_the_schema_stays_what_it_is(golden: Callable[[str, str], None]) -> None:
    golden("page/report.schema.json", json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("spans", [ordinary(), hostile(), []], ids=["ordinary", "hostile", "none"])
def test_every_report_is_as_the_schema_says(spans: list[Span]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra `dev`")
    written = json.loads(document([as_object(one) for one in told(spans)], as_of_ns=NOW, schema=SCHEMA_ID))
    checker: Any = jsonschema.Draft202012Validator(schema())
    jsonschema.Draft202012Validator.check_schema(schema())
    assert [error.message for error in checker.iter_errors(written)] == []
    assert written["format"] == FORMAT


def test_the_schema_refuses_what_is_no_report() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="comes with the extra `dev`")
    written = json.loads(document([as_object(one) for one in told(ordinary())], as_of_ns=NOW, schema=SCHEMA_ID))
    written["rows"][0]["failures"][0]["end_ns"] = "yesterday"
    del written["rows"][0]["account"]
    checker: Any = jsonschema.Draft202012Validator(schema())
    assert len(list(checker.iter_errors(written))) == 2
