"""What an error's text says of itself beside its prose: status, names and codes, a delay, and its words without wrapping and hints."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, cast

_ESCAPE: Final = re.compile(r"(?P<path>\b[A-Za-z]:\\[\w\\.\-]*)|\\+[nrt]|\\")
"""A Windows path is no row of escapes."""
_SPACE: Final = re.compile(r"\s+")
_TAG: Final = re.compile(r"<[^<>]{1,200}>")
_PAGE: Final = re.compile(r"<(?:!doctype )?html|<head>|<title>|<center>", re.IGNORECASE)
_WRAPPER: Final = re.compile(r"(?:error: )?(?P<tag><tool_use_error>)? ?(?:error: )?(?:exit code (?P<code>\d+) ?)?", re.IGNORECASE)

# Said under every error, whatever went wrong: no evidence.
_HINT: Final = re.compile(
    r"""
      https?://[^\s"'<>)]+
    | [·.]?\ *\(?(?:will\ )?retry(?:ing)?\ in\ [^·(]{1,40}(?:[·(]\ *attempt\ [\d/]+\)?)?
    | api_timeout_ms\ ?=\ ?\w+,?\ try\ increasing\ it
    | check\ your\ (?:internet|network|proxy|inference)[^.·]*
    | please\ run\ /login\ ·\ (?=api\ error)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DELAY: Final = re.compile(r"""(?:retry(?:ing)? in|retry[_-]after["':]*) ?([\d.]+) ?(ms|m|h)?""", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_STATUS: Final = re.compile(
    r"""
      \bapi\ error:?\ \(?(\d{3})\b
    | \bstatus\ code:?\ \(?(\d{3})\b
    | \berror\ code:?\ (\d{3})\b
    | \bhttp(?:/[\d.]+)?\ ?(?:error|status)?:?\ ?(\d{3})\b
    | ^(?:error:?\ )?\[?(\d{3})\]?(?=[\s:]|$)
    | \((\d{3})\)
    | \bfailed:?\ (\d{3})\b
    | ["'](?:status|status_?code|http_?status_?code|(?:api_?)?error_?status|code)["']:\ ?["']?(\d{3})\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CLASS: Final = re.compile(r"\b([A-Z][A-Za-z]*(?:Error|Exception|Timeout|Exhausted|Interrupt))\b")
_CODE: Final = re.compile(r"\b((?:E[A-Z]{3,}|EAI|UND_ERR|[A-Z]{3,}_[A-Z]+)(?:_[A-Z0-9_]+)?)\b")
_BUN_CODE: Final = re.compile(r"\(([A-Z][a-z]+(?:[A-Z][a-z]+)+)\)")
_HEAD_NAME: Final = re.compile(r"^(?:(?i:error): )?([a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)(?=:|$)")
"""A code that stands before what is said, as clouds write it."""
_TAIL_NAME: Final = re.compile(r": ([a-z]+(?:_[a-z]+)+)\.?$")
"""A code that stands behind what is said, as OAuth libraries write it."""
_STOP: Final = re.compile(r"""\b(?:finish|stop)_reason["']?[:= ]+["']?([A-Za-z_]+)""")
_CUT_NAME: Final = re.compile(r"""["'](?:type|code|status|name|error|subtype)["']: ?["']([\w.\-]{2,60})["']""")
_NAME: Final = re.compile(r"[\w.\- ]{2,60}")
_NAME_KEYS: Final = frozenset({"type", "code", "status", "name", "error", "subtype", "error_type", "error_code", "__type"})
_STATUS_KEYS: Final = frozenset(
    {"status", "status_code", "statusCode", "httpStatusCode", "apiErrorStatus", "api_error_status", "error_status", "code"}
)
_MESSAGE_KEYS: Final = frozenset({"message", "msg", "detail", "text", "error_description"})
_PREFIX: Final = re.compile(r"^(?:error: )?(?:api error:? (?:\(?\d{3} )?)?", re.IGNORECASE)
_NO_NAME: Final = frozenset({"", "error", "true", "false", "null", "none"})

_OK, _FIRST, _LAST = 200, 400, 599
_MOST_BODIES = 8
_DECODER: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in one text.

    Attributes:
        words: The prose: single spaces, without hints, tags and wrappers.
        message: The error in one sentence, as its innermost body has it; without a body the words behind the client's `API Error: 500`.
        status: HTTP status that the text names.
        relayed_status: Status of the error that a gateway quotes inside its own. It is the cause; the outer one is the relay's.
        names: Error types, codes and classes as `name_word` spells them, each with its original.
        retry_delay_s: Seconds until the client tries again.
        stop_reason: Why the model stopped, where the text names it.
        page: Whether the body is HTML, so no answer of the API.
        exit_code: What a command ended with.
        tagged: Whether the client wrapped the text as a wrong use of a tool.
    """

    words: str
    message: str = ""
    status: int | None = None
    relayed_status: int | None = None
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    retry_delay_s: float | None = None
    stop_reason: str | None = None
    page: bool = False
    exit_code: int | None = None
    tagged: bool = False


def name_word(name: str) -> str:
    """One spelling for the many of one name: `rate_limit_error`, `RateLimitError` and `rate_limit` are the same word.

    >>> name_word("overloaded_error"), name_word("ThrottlingException"), name_word("-32601")
    ('overloaded', 'throttling', '-32601')
    """
    plain = re.sub(r"[^a-z0-9\-]|(?<=\w)-", "", name.lower())
    return re.sub(r"(?:errors?|exception)$", "", plain)


@lru_cache(maxsize=4096)
def read_error(text: str) -> Reading:
    """Read the text of an API, a client or a protocol: all of it is the error's own."""
    flat = _flat(text)
    names, statuses, quoted = _body_facts(text)
    relayed = [value for value in quoted if "{" in value]
    inner = next(map(read_error, relayed), None)
    if inner is not None and inner.names:
        names = dict(inner.names)
    words = _SPACE.sub(" ", _HINT.sub(" ", _TAG.sub(" ", flat))).strip()
    sentence = inner.message if inner is not None else next((value for value in reversed(quoted) if value not in relayed), "")
    return Reading(
        words=words,
        message=_flat(sentence) or ("" if quoted else _PREFIX.sub("", words)),
        status=_status_in(flat) or next(iter(statuses), None),
        relayed_status=(inner.relayed_status or inner.status) if inner is not None else None,
        names=_prose_names(flat, cut=not names) | names,
        retry_delay_s=_delay_in(flat),
        stop_reason=found[1] if (found := _STOP.search(flat)) else None,
        page=_PAGE.search(flat) is not None,
    )


@lru_cache(maxsize=4096)
def read_result(text: str) -> Reading:
    """Read what a tool gave back: only its head can be the client's, so no status, name or delay is looked for."""
    flat = _flat(text)
    wrapper = _WRAPPER.match(flat)
    if wrapper is None:
        return Reading(words=flat)
    words = flat[wrapper.end() :].removesuffix("</tool_use_error>").strip()
    code = wrapper["code"]
    return Reading(words=words, exit_code=int(code) if code else None, tagged=wrapper["tag"] is not None)


def _flat(text: str) -> str:
    """Whitespace as one space: terminals wrap, and logs escape the ends of lines."""
    return _SPACE.sub(" ", _ESCAPE.sub(_unescaped, text)).strip()


def _unescaped(found: re.Match[str]) -> str:
    if found["path"]:
        return found[0]
    return "" if found[0] == "\\" else " "


def _status_in(flat: str) -> int | None:
    numbers = (int(next(filter(None, found.groups()))) for found in _STATUS.finditer(flat))
    return next((number for number in numbers if number == _OK or _FIRST <= number <= _LAST), None)


def _delay_in(flat: str) -> float | None:
    found = _DELAY.search(flat)
    return float(found[1].strip(".") or 0) * _SECONDS[(found[2] or "s").lower()] if found else None


def _prose_names(flat: str, *, cut: bool) -> dict[str, str]:
    """Names outside a body; and inside one that was cut, so that it could not be parsed."""
    patterns = (_HEAD_NAME, _TAIL_NAME, _CLASS, _CODE, _BUN_CODE, *((_CUT_NAME,) if cut else ()))
    return _named(found[1] for pattern in patterns for found in pattern.finditer(flat))


def _named(originals: Iterator[str]) -> dict[str, str]:
    words = {name_word(original): original for original in originals}
    return {word: original for word, original in words.items() if word not in _NO_NAME}


def _body_facts(text: str) -> tuple[dict[str, str], list[int], list[str]]:
    """Names, statuses and messages of the JSON bodies in a text; a message can be an error that a relay quotes."""
    facts = [fact for body in _bodies(text) for fact in _facts(body)]
    names = _named(value for key, value in facts if key in _NAME_KEYS and _NAME.fullmatch(value))
    numbers = [int(value) for key, value in facts if key in _STATUS_KEYS and value.isdecimal()]
    statuses = [number for number in numbers if number == _OK or _FIRST <= number <= _LAST]
    return names, statuses, [value for key, value in facts if value and (key in _MESSAGE_KEYS or "{" in value)]


def _bodies(text: str) -> Iterator[Any]:
    at = text.find("{")
    for _ in range(_MOST_BODIES):
        if at < 0:
            return
        body, end = _body_at(text, at)
        if body is not None:
            yield body
        at = text.find("{", end)


def _body_at(text: str, at: int) -> tuple[Any, int]:
    """The body that begins here and where it ends; nothing, where it was cut."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        pass
    end = text.rfind("}") + 1
    if text.startswith("{'", at) and end > at:  # Python clients print a dict
        try:
            return ast.literal_eval(text[at:end]), end
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    return None, at + 1


def _facts(value: object) -> Iterator[tuple[str, str]]:
    """All texts and numbers of a body with their keys, from the outside in."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _facts(item)
    if not isinstance(value, dict):
        return
    for key, item in cast("dict[object, object]", value).items():
        if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)):
            yield str(key), str(item)
        else:
            yield from _facts(item)
