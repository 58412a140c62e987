"""What it means that a page is inert: nothing that others wrote has become markup."""

from typing import Any

import pytest

html: Any = pytest.importorskip("lxml.html", reason="comes with the extra `dev`")

_WORDS = """
html head meta title link style script body a header button main p h1 h2 nav ul li section svg rect path line dl div dt dd span
table caption thead tbody tr th td time bdi code strong form label input select option noscript canvas kbd details summary footer article
"""
ELEMENTS = frozenset(_WORDS.split())
"""Every element that the page has of its own."""
ATTRIBUTES_WITH_ADDRESSES = frozenset({"href", "src", "action", "formaction", "poster", "data", "srcset", "xlink:href"})


def assert_inert(page: bytes, *, local: bool = False) -> None:
    """Fail where a page holds an element, an attribute or an address that is not its own.

    Args:
        page: The document.
        local: It is a file: no address may lead out of it.
    """
    document = html.document_fromstring(page.decode("utf-8"))
    for element in document.iter():
        assert isinstance(element.tag, str), f"a comment: {html.tostring(element)!r}"
        assert element.tag in ELEMENTS, element.tag
        for name, value in element.attrib.items():
            assert not str(name).lower().startswith("on"), (element.tag, name)
            assert name != "style", element.tag
            if name in ATTRIBUTES_WITH_ADDRESSES:
                assert str(value).startswith("#" if local else ("/", "#", "?")), (element.tag, name, value)
                assert not str(value).startswith("//"), value
        if element.tag == "script":
            own = element.get("src", "").startswith("/static/") if not local else element.get("src") is None
            assert own, html.tostring(element)[:200]
    text = document.text_content()
    for mark in "\u202e\u2066\u200f\u061c\u2028\x1b\x07\x00\x9b":
        assert mark not in text, repr(mark)
