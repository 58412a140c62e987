"""JSON with comments, as a tree that knows where everything stands: a file is changed by its text, and all the rest of it stays."""

import json
import re
from typing import Final, NamedTuple

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')

_NOTE: Final = re.compile(r"[ \t]*//[^\r\n]*")


class MalformedError(ValueError):
    """A text is no JSON, even with comments.

    Attributes:
        line: Where it stops making sense.
    """

    def __init__(self, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}")


class Value(NamedTuple):
    """One value of a text.

    Attributes:
        start: Its first character.
        end: The character after its last one.
        members: Of an object: the names with where each begins, and the values.
        items: Of an array.
        plain: Of everything else, what it says.
    """

    start: int
    end: int
    members: "tuple[Member, ...] | None" = None
    items: "tuple[Value, ...] | None" = None
    plain: object = None

    def member(self, name: str) -> "Value | None":
        """The value of a name in an object; the last one where it is there twice, as for every reader of JSON."""
        return next((member.value for member in reversed(self.members or ()) if member.name == name), None)

    def read(self) -> object:
        """The value without its places."""
        if self.members is not None:
            return {member.name: member.value.read() for member in self.members}
        return self.plain if self.items is None else [item.read() for item in self.items]


class Member(NamedTuple):
    """A name and its value in an object."""

    start: int
    name: str
    value: Value


def parse(text: str) -> Value:
    """Read a text.

    Raises:
        MalformedError: Where it is no JSON. Commas before a closing bracket are allowed, as editors write them.

    Examples:
        >>> parse('{"a": [1, true], /* why */ "b": {},}').read()
        {'a': [1, True], 'b': {}}
    """
    value = _value(text, after_blank(text, 0))
    if after_blank(text, value.end) != len(text):
        raise MalformedError(text, value.end)
    return value


def after_blank(text: str, at: int) -> int:
    """The first character from here on that is no white space and no comment."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Value:
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at)
    if opening == "[":
        return _array(text, at)
    found = _WORD.match(text, at) or _STRING.match(text, at)
    if found is None:
        raise MalformedError(text, at)
    try:
        return Value(at, found.end(), plain=json.loads(found[0]))
    except ValueError as error:
        raise MalformedError(text, at) from error


def _object(text: str, start: int) -> Value:
    members: list[Member] = []
    at = after_blank(text, start + 1)
    while text[at : at + 1] != "}":
        name = _STRING.match(text, at)
        if name is None:
            raise MalformedError(text, at)
        colon = after_blank(text, name.end())
        if text[colon : colon + 1] != ":":
            raise MalformedError(text, colon)
        value = _value(text, after_blank(text, colon + 1))
        members.append(Member(at, str(json.loads(name[0])), value))
        at = _next(text, value.end, "}")
    return Value(start, at + 1, members=tuple(members))


def _array(text: str, start: int) -> Value:
    items: list[Value] = []
    at = after_blank(text, start + 1)
    while text[at : at + 1] != "]":
        items.append(_value(text, at))
        at = _next(text, items[-1].end, "]")
    return Value(start, at + 1, items=tuple(items))


def _next(text: str, end: int, closing: str) -> int:
    """Where the next element begins, or the container's closing bracket is."""
    at = after_blank(text, end)
    if text[at : at + 1] == ",":
        return after_blank(text, at + 1)
    if text[at : at + 1] != closing:
        raise MalformedError(text, at)
    return at


# Changing a text


def insert(text: str, container: Value, value: object, *, name: str | None = None) -> str:
    """Put an element behind the last one of an object or array: on lines of its own where the others have them.

    Args:
        text: The text that the container was read from.
        container: An object or an array.
        value: What to put there.
        name: Under which name, in an object.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    elements = _places(container)
    if not elements and "\n" not in text and container.end - container.start < len(text.strip()):
        element = _written(value, name, "", None)
        return text[: container.end - 1] + element + text[container.end - 1 :]
    if not elements:
        margin = newline + _margin(text, container.start)
        inner = margin + indentation(text)
        # Comments stay.
        inside = text[: container.end - 1].rstrip()
        return inside + inner + _written(value, name, inner, indentation(text)) + margin + text[container.end - 1 :]
    start, end = elements[-1]
    on_lines = "\n" in text[container.start : start]
    separator = newline + _margin(text, start) if on_lines else " "
    comma = after_blank(text, end)
    has_comma = text[comma : comma + 1] == ","
    end = comma + 1 if has_comma else end
    # A comment behind the last element stays with it.
    note = _NOTE.match(text, end) if on_lines else None
    until = note.end() if note else end
    element = _written(value, name, separator, indentation(text) if on_lines else None)
    return text[:end] + ("" if has_comma else ",") + text[end:until] + separator + element + text[until:]


def remove(text: str, container: Value, index: int) -> str:
    """Take an element out of an object or array, with its comma and the line that it leaves empty."""
    elements = _places(container)
    start, end = elements[index]
    before = after_blank(text, elements[index - 1][1]) if index else container.start
    blank = _blank_before(text, start, before + 1)
    comma = after_blank(text, end)
    if text[comma : comma + 1] == ",":
        note = text[end:comma] if text[end:comma].strip() else ""
        return text[:blank] + note + text[comma + 1 :]
    if index:
        # The comma before it has nothing to separate any more.
        return text[:before] + text[before + 1 : blank] + text[end:]
    is_empty = blank == container.start + 1 and not text[end : container.end - 1].strip()
    return text[:blank] + text[container.end - 1 if is_empty else end :]


def _blank_before(text: str, at: int, low: int) -> int:
    """Where the white space begins that stands before a place; a comment up to the end of its line keeps that end."""
    kept = text[low:at].rstrip(" \t\r\n")
    first = low + len(kept)
    return text.index("\n", first) + 1 if "//" in kept.rpartition("\n")[2] and "\n" in text[first:at] else first


def _written(value: object, name: str | None, separator: str, indent: str | None) -> str:
    label = "" if name is None else f"{json.dumps(name, ensure_ascii=False)}: "
    return label + json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", separator)


def indentation(text: str) -> str:
    """How much deeper the first element of a text stands; two spaces where it has none on a line of its own."""
    found = re.compile(r"[\[{][ \t]*\r?\n([ \t]+)\S").search(text)
    return found[1] if found else "  "


def _places(container: Value) -> list[tuple[int, int]]:
    if container.members is not None:
        return [(member.start, member.value.end) for member in container.members]
    return [(item.start, item.end) for item in container.items or ()]


def _margin(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
