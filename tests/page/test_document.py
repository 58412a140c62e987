"""The report as one file: everything inside, nothing from elsewhere, and inert whatever sessions are called."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable

import pytest

from tests.page.inert import assert_inert, html
from tests.page.worlds import HOSTILE, NOW, asked, hostile, huge, ordinary
from tracekit.analysis.scope import Scope
from tracekit.model import Span
from tracekit.page.document import document
from tracekit.page.listing import Listing
from tracekit.page.parts import PARTS

OTHER = "7c1d0000-0000-4000-8000-000000000002"


def written(*spans: Iterable[Span]) -> str:
    with asked(*spans) as ask:
        return document(ask, Listing(ask), list(ask.sessions(Scope())), as_of_ns=NOW)


def test_a_report_is_inert_and_leads_nowhere() -> None:
    assert_inert(written(ordinary()).encode(), local=True)


def test_a_hostile_report_is_inert_and_small() -> None:
    text = written(hostile(HOSTILE), huge())
    assert_inert(text.encode(), local=True)
    assert len(text) < 500_000


def test_its_policy_allows_what_is_inside_and_nothing_else() -> None:
    text = written(ordinary())
    (policy,) = html.document_fromstring(text).xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    inside = re.findall(r"<(style|script)>(.*?)</\1>", text, re.DOTALL)
    assert [tag for tag, _ in inside] == ["style", "script", "script"]
    for _, code in inside:
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_it_asks_nobody_for_anything() -> None:
    text = written(ordinary())
    assert re.findall(r"""(?:src|href)=["'](?!#)[^"']*|url\([^)]*|@import""", text) == []


def test_several_sessions_have_parts_of_their_own() -> None:
    text = written(ordinary(), ordinary(OTHER))
    parsed = html.document_fromstring(text)
    ids = parsed.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert {f"session-{number}-{name}" for number in (1, 2) for name in PARTS} <= set(ids)
    local = [link[1:] for link in parsed.xpath("//a/@href") if not link.startswith("#sel=")]
    assert set(local) <= set(ids)
    assert all(source[1:] in ids for source in parsed.xpath("//@data-source"))


@pytest.mark.parametrize("text", [HOSTILE, "</script>", "<!--<script>"])
def test_the_data_inside_are_whole(text: str) -> None:
    (data,) = html.document_fromstring(written(hostile(text))).xpath("//script[@type='application/json']/text()")
    assert json.loads(data)["count"] > 5
    assert "<" not in data
