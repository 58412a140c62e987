"""Foreign text made harmless: names come from models, servers and repositories, and end in viewers, spreadsheets and terminals."""

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters: an escape steers a terminal, most of them are illegal in XML
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of the text around them
    "\u2028\u2029\ufeff"  # line separators that only some readers take for one, and a mark that none shows
    "\ud800-\udfff\ufffe\uffff"  # no characters at all
    "]"
)
_CUT: Final = "…"


def plain(text: str, limit: int = 200) -> str:
    r"""Write what is not to be seen as an escape that is, and cut the text to `limit` characters, its end marked.

    >>> plain("Read\x1b[2J\u202egpj.exe")
    'Read\\x1b[2J\\u202egpj.exe'
    """
    # Cut first: a name can be megabytes long.
    text = text if len(text) <= limit else text[: limit - 1] + _CUT
    text = _UNSEEN.sub(_escape, text)
    return text if len(text) <= limit else text[: limit - 1] + _CUT


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  (what two hex digits can say)
