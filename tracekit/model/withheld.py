"""What stands in a recorded line where content was: how much it was, and a digest that is equal for equal content."""

from typing import Any, Final, NamedTuple

from tracekit.model.digest import compact_json, digest

_MARK: Final = "tracekit.withheld"
_WORDS: Final = "words"


class Withheld(NamedTuple):
    """What is known of content that is not kept.

    Attributes:
        size: Its bytes: of a text as it is, of anything else as JSON.
        digest: As by `digest`.
        words: The part that may be kept all the same, as an error's own text.
    """

    size: int
    digest: str
    words: str = ""


def withhold(content: object, *, words: str = "") -> dict[str, Any]:
    """The JSON object that takes the place of content.

    Examples:
        >>> withhold("hello")
        {'tracekit.withheld': [5, '2cf24dba5fb0a30e']}
    """
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else compact_json(content)
    mark: dict[str, Any] = {_MARK: [len(data), digest(data)]}
    return mark | {_WORDS: words} if words else mark


def withheld(value: Any) -> Withheld | None:
    """Read what `withhold` has left; None where a value is content itself.

    Examples:
        >>> withheld(withhold({"a": 1}))
        Withheld(size=7, digest='015abd7f5cc57a2d', words='')
        >>> withheld("hello") is None
        True
    """
    match value:
        case {"tracekit.withheld": [int(size), str(found)], **rest}:
            words = rest.get(_WORDS)
            return Withheld(size, found, words if isinstance(words, str) else "")
        case _:
            return None
