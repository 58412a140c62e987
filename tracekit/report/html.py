"""Findings for a browser: templates in which every value is escaped, and any list of findings as a table."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

from jinja2 import BaseLoader, DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from tracekit.model import Finding
from tracekit.report import units
from tracekit.report.paint import clean
from tracekit.report.terminal import cells_of

LONGEST: Final = 300
"""Characters of a foreign text that are shown."""
_LONGEST_LINK: Final = 1_000
_MARGIN: Final = 4


def plain(text: str, limit: int = LONGEST) -> str:
    """Make a foreign text fit to be shown: one line without control characters, escapes or direction marks, cut where it is long."""
    cut = clean(text[: _MARGIN * limit].encode("utf-8", "replace").decode("utf-8"))
    return cut if len(cut) <= limit and len(text) <= _MARGIN * limit else f"{cut[: limit - 1]}…"


def environment(loader: BaseLoader) -> Environment:
    """Give the templates of a loader, with the words in which values are written.

    Everything that is put into a template is escaped. Filters: `duration`, `count`, `dollars`, `percentage`, `moment`, `iso`, `plain`
    (foreign text), `foreign` (the same, kept from turning the direction of what stands beside it), `short` (an id's beginning),
    `path_part` (for a URL), `words` (a name of ours without underscores). Functions: `duration_range`, `share_range`, `table`.
    """
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters.update(
        duration=units.duration,
        count=units.count,
        dollars=units.dollars,
        percentage=units.percentage,
        moment=units.moment,
        iso=units.iso,
        plain=plain,
        foreign=foreign,
        short=short,
        path_part=path_part,
        words=words,
    )
    functions: dict[str, Any] = {"duration_range": units.duration_range, "share_range": share_range, "table": table, "UTC": UTC}
    found.globals.update(functions)
    return found


def foreign(text: str | None, limit: int = LONGEST) -> Markup:
    """Show a text of others, isolated from the direction of what stands around it; an unknown as such."""
    return Markup("<bdi>{}</bdi>").format(units.UNKNOWN if text is None else plain(text, limit))


def short(text: str) -> str:
    """Give the beginning of an id by which people tell it from others: eight characters of one without blanks, as commands take it."""
    shown = plain(text)
    return shown[:8] if len(shown) >= 32 else plain(shown, 24)  # noqa: PLR2004  (a UUID, with or without hyphens)


def words(name: str) -> str:
    """Write a name of ours as words."""
    return name.replace("_", " ")


def path_part(text: str) -> str:
    """Spell a text as one part of a URL's path; empty for one that no path can hold."""
    spelt = quote(text.encode("utf-8", "replace").decode("utf-8"), safe="")
    return spelt if len(spelt) <= _LONGEST_LINK and text not in {"", ".", ".."} else ""


def share_range(lower: float | None, best: float | None, upper: float | None) -> str:
    """Write what a share is known to lie between."""
    if lower is not None and lower == upper:
        return units.percentage(lower)
    if best is not None:
        return f"{units.percentage(best)} ({units.percentage(lower)} – {units.percentage(upper)})"
    return units.quantity_range(lower, None, upper, "ratio")


def table(findings: Sequence[Finding], *, caption: str, leave_out: Sequence[str] = (), empty: str = "Nothing found.") -> Markup:
    """Show findings of one type as a table: the columns that a terminal shows, without those whose titles are left out."""
    columns = [column for column in cells_of(findings, UTC) if column.title not in leave_out]
    rows = zip(*(column.cells for column in columns), strict=True)
    numbers = [column.number for column in columns]
    return Markup(_TABLE.render(caption=caption, columns=columns, rows=[list(zip(row, numbers, strict=True)) for row in rows], empty=empty))  # noqa: S704


_TABLE: Final = environment(
    DictLoader(
        {
            "table.html": """
{% if not columns %}<p class="nothing">{{ empty }}</p>{% else %}
<div class="wide" tabindex="0" role="region" aria-label="{{ caption }}"><table><caption>{{ caption }}</caption>
<thead><tr>
{% for column in columns %}<th scope="col"{% if column.number %} class="number"{% endif %}>{{ column.title }}</th>{% endfor %}
</tr></thead>
<tbody>{% for row in rows %}
<tr>{% for text, number in row %}<td{% if number %} class="number"{% endif %}>{{ text | foreign }}</td>{% endfor %}</tr>{% endfor %}
</tbody></table></div>{% endif %}
""".lstrip()
        }
    )
).get_template("table.html")
