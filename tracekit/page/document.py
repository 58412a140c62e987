"""A report that opens from a disk: the parts of sessions' pages in one file, with the style, the script and the data inside."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final

import orjson
from markupsafe import Markup

from tracekit.analysis.sessions import Session
from tracekit.page.answers import TEMPLATES, part_context
from tracekit.page.listing import Line, Listing
from tracekit.page.parts import PARTS, TIMELINE_AFTER, Asked
from tracekit.page.questions import Questions
from tracekit.page.timeline import picture
from tracekit.report.html import short

_SCRIPTS: Final = ("format.js", "timeline.js", "page.js")


def document(ask: Questions, listing: Listing, sessions: Sequence[Session], *, as_of_ns: int) -> str:
    """Write the report of sessions.

    Its policy allows the scripts and the style that are inside, by their digests, and no request to anybody.
    """
    style, theme = _static("style.css"), _static("theme.js")
    script = "\n".join(map(_static, _SCRIPTS))
    lines: list[Line] = [listing.one(session, as_of_ns=as_of_ns) for session in sessions]
    articles = [
        _article(Asked(ask, listing, session, as_of_ns), number, several=len(sessions) > 1) for number, session in enumerate(sessions, 1)
    ]
    scripts = " ".join(_digest(text) for text in (theme, script))
    return TEMPLATES.get_template("report.html").render(
        title=f"Session {short(sessions[0].session_id)}" if len(sessions) == 1 else f"{len(sessions)} sessions",
        policy=f"default-src 'none'; script-src {scripts}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'",
        style=Markup(style),  # noqa: S704  (files of our own)
        theme=Markup(theme),  # noqa: S704
        script=Markup(script),  # noqa: S704
        body=Markup("").join(articles),
        lines=lines,
        as_of_ns=as_of_ns,
    )


def _article(asked: Asked, number: int, *, several: bool) -> Markup:
    prefix = f"session-{number}-" if several else ""
    names = list(PARTS)
    split = names.index(TIMELINE_AFTER) + 1
    drawn = picture(asked.ask.timeline(asked.scope), asked.ask.context(asked.scope), as_of_ns=asked.as_of_ns)
    written = TEMPLATES.get_template("report_session.html").render(
        session=asked.session,
        number=number,
        several=several,
        prefix=prefix,
        parts=PARTS,
        source=f"#data-{number}",
        parts_before=_parts(names[:split], asked, prefix),
        parts_after=_parts(names[split:], asked, prefix),
        data=_inline(drawn),
    )
    return Markup(written)  # noqa: S704  (a template's, so escaped)


def _parts(names: Sequence[str], asked: Asked, prefix: str) -> Markup:
    template = TEMPLATES.get_template("part.html")
    return Markup("").join(Markup(template.render(prefix=prefix, **part_context(name, asked))) for name in names)  # noqa: S704


def _inline(value: Mapping[str, object]) -> Markup:
    """Write data into a script element: without a `<`, nothing in it can end the element or begin another."""
    return Markup(orjson.dumps(value).decode("utf-8").replace("<", "\\u003c"))  # noqa: S704


def _static(name: str) -> str:
    return (files("tracekit.page") / "static" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
