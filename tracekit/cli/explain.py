"""`tracekit explain`: what an error, a failure, a boundary or a word of the answers means."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Final, TypedDict

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store
from tracekit.errors import TracekitError
from tracekit.model import CONTRACTS, Boundary, Column, Contract, Finding

if TYPE_CHECKING:
    from tracekit.analysis.failed import Failure

_COUNTED: Final = ("failure", "failures")
_PAGES: Final = files("tracekit.cli") / "explanations"
_WORDS: Final = ("account", "hidden", "outcome", "ranges", "slack", "thresholds", "verified")


class Occurrence(TypedDict):
    """How often failures of one kind, or of one family, occurred in a store."""

    failures: int
    not_recovered: int
    sessions: int
    last_ns: int
    """When the last one ended, Unix nanoseconds."""


@dataclass(frozen=True, slots=True)
class Topic(Finding):
    """One thing that can be explained."""

    topic: Annotated[str, Column("Topic")]
    about: Annotated[str, Column("What it is")]
    summary: Annotated[str, Column("In short")]
    text: Annotated[str, Column("Page, in Markdown", show=False)]


def command(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="A slug, a kind of failure, a boundary; none lists all.")] = None,
    *,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Explain an error, a kind of failure, a boundary or a word that the answers use.

    Error messages name their topic in their last line. A kind of failure comes with how often it occurred in the store. Without a topic,
    all of them are listed.
    """
    known = list(topics())
    found = known if topic is None else find(topic, known)
    here = None
    if topic is not None and any(one.about in _COUNTED for one in found):
        here = occurrences(store)
    if as_json:
        output.emit(found, as_json=True, here={one.topic: (here or {}).get(one.topic) for one in found if one.about in _COUNTED})
    elif topic is None:
        _print_list(found)
    else:
        _print_pages(found)
        if here is not None:
            _print_occurrences([one.topic for one in found if one.about in _COUNTED], here)


def occurrences(store: str | None) -> dict[str, Occurrence] | None:
    """Count each kind and each family of failures in a store; None where there is no store yet, or it cannot be read.

    A page is worth printing without it, so no error is raised.
    """
    from tracekit.analysis.failed import failures
    from tracekit.store import default_store, open_store, store_path

    url = store or default_store()
    try:
        if not store_path(url).exists():
            return None
        with open_store(url) as opened:
            found = failures(opened)
    except TracekitError:
        return None
    groups: dict[str, list[Failure]] = {}
    for failure in found:
        for name in (str(failure.family), f"{failure.family}/{failure.kind}"):
            groups.setdefault(name, []).append(failure)
    return {name: _occurrence(group) for name, group in groups.items()}


def _occurrence(found: "list[Failure]") -> Occurrence:
    return {
        "failures": len(found),
        "not_recovered": sum(not failure.recovered for failure in found),
        "sessions": len({failure.session_id for failure in found}),
        "last_ns": max(failure.end_ns for failure in found),
    }


def _print_occurrences(kinds: list[str], here: dict[str, Occurrence]) -> None:
    from tracekit.report.units import moment

    for kind in kinds:
        if (one := here.get(kind)) is None:
            output.write(f"\nHere: {kind} did not occur in your store.")
            continue
        times = "once" if one["failures"] == 1 else f"{one['failures']} times"
        where = "1 session" if one["sessions"] == 1 else f"{one['sessions']} sessions"
        output.write(f"\nHere: {kind} occurred {times} in {where}, {one['not_recovered']} not recovered, last at {moment(one['last_ns'])}.")


def _print_list(found: list[Topic]) -> None:
    from tracekit.report.terminal import table

    place = output.screen()
    output.write(table(found, width=place.width, colour=place.colour, lines=1))


def _print_pages(found: list[Topic]) -> None:
    from tracekit.report.prose import page

    place = output.screen()
    output.write("\n\n".join(page(one.text, width=place.width, colour=place.colour) for one in found))


def find(name: str, known: list[Topic]) -> list[Topic]:
    """Give the topics of a name; a kind of failure can be one of several families.

    Raises:
        TracekitError: `topic-unknown`, with the names that come closest.
    """
    found = [topic for topic in known if _plain(name) in (_plain(topic.topic), _plain(topic.topic.rpartition("/")[2]))]
    if found:
        return found
    close = difflib.get_close_matches(_plain(name), {_plain(topic.topic): topic.topic for topic in known}, n=3)
    meant = [topic.topic for topic in known if _plain(topic.topic) in close]
    hint = f"did you mean {' or '.join(meant)}?" if meant else "`tracekit explain` lists what can be explained"
    raise TracekitError(f"there is no topic {name!r}; {hint}", slug="topic-unknown")


def topics() -> Iterator[Topic]:
    """Give every topic: words, boundaries, what is waited for, kinds of failures, errors."""
    pages = {entry.name.removesuffix(".md"): entry.read_text(encoding="utf-8") for entry in _PAGES.iterdir() if entry.name.endswith(".md")}
    for name in _WORDS:
        yield _topic(name, "word", pages.pop(name))
    for boundary, contract in CONTRACTS.items():
        yield Topic(boundary, "boundary", contract.meaning, contract_page(boundary, contract))
    for entry in sorted((_PAGES / "waits").iterdir(), key=lambda entry: entry.name):
        yield _topic(entry.name.removesuffix(".md"), "wait", entry.read_text(encoding="utf-8"))
    yield from _failures()
    for name in sorted(pages):
        yield _topic(name, "error", pages[name])


def contract_page(boundary: Boundary, contract: Contract) -> str:
    """Write what is promised of a boundary as a page."""
    lines = [
        f"# {boundary}",
        contract.meaning,
        f"- **Identity:** {contract.key}",
        f"- **Timeout:** {contract.timeout}",
        f"- **Cancelled:** {contract.cancel}",
        f"- **Done again:** {contract.retry}",
    ]
    if contract.carries:
        lines.append(f"- **Carries:** {', '.join(f'`{name}`' for name in contract.carries)}")
    return "\n\n".join([lines[0], lines[1], "\n".join(lines[2:])])


def failure_page(docstring: str) -> str:
    """Turn the docstring of a rule into a page: its first line names it, and what stands at the margin is a heading."""
    name, _, rest = docstring.strip().partition(": ")
    body = re.sub(r"^(\S.*)\n(?=    )", r"## \1\n\n", rest, flags=re.MULTILINE)
    return f"# {name}\n\n" + re.sub(r"^    ", "", body[:1].upper() + body[1:], flags=re.MULTILINE)


def _failures() -> Iterator[Topic]:
    from tracekit.analysis import failures

    for family in failures.Family:
        names = [f"{family}/{kind}" for kind in dict.fromkeys(rule.kind for rule in failures.RULES if rule.family == family)]
        kinds = {name: failures.explanation(name) or "" for name in names}
        page = import_module(f"{failures.__name__}.{family}").__doc__ or ""
        if family != failures.Family.UNKNOWN:
            of_it = [f"- `{name}`: {_summary(text)}" for name, text in kinds.items()]
            yield Topic(family, "failures", _summary(page), "\n".join([failure_page(page).rstrip(), "", "## Kinds", "", *of_it]))
        for name, text in kinds.items():
            yield Topic(name, "failure", _summary(text), failure_page(text))


def _summary(docstring: str) -> str:
    said = docstring.strip().partition("\n")[0].partition(": ")[2]
    return said[:1].upper() + said[1:]


def _topic(name: str, about: str, markdown: str) -> Topic:
    """Make a topic of a page: what follows its heading says it in short."""
    first = markdown.split("\n\n")[1].replace("\n", " ")
    return Topic(name, about, re.split(r"(?<=[.:]) |(?<=\.)$", first)[0], markdown)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
