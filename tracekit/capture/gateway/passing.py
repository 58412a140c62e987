"""What of a message's head is passed on: all but what belongs to one connection only."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

_HOP_BY_HOP: Final = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
)
_OF_THE_REQUEST: Final = ("Host", "Expect")
"""The host is another one, and that the body is welcome the gateway has said itself."""
_OF_AN_ENCODING: Final = ("Content-Encoding", "Content-Length")
_MADE_UP: Final = ("Content-Type", "Date", "Server")
"""What the web server adds to answers that lack it."""


def request_headers(headers: Mapping[str, str], *, decoded: bool = False) -> CIMultiDict[str]:
    """The headers for the upstream; without those of an encoding that has been undone."""
    return _without(headers, (*_OF_THE_REQUEST, *_OF_AN_ENCODING) if decoded else _OF_THE_REQUEST)


class Relayed(web.StreamResponse):
    """An answer as it came: nothing is added to its head."""

    def __init__(self, status: int, reason: str | None, headers: Mapping[str, str]) -> None:
        super().__init__(status=status, reason=reason, headers=_without(headers, ()))
        self.made_up = [name for name in _MADE_UP if name not in self.headers]


async def leave_as_it_came(_request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the web server has added to an answer that is passed on."""
    if isinstance(response, Relayed):
        for name in response.made_up:
            response.headers.popall(name, None)


def _without(headers: Mapping[str, str], more: tuple[str, ...]) -> CIMultiDict[str]:
    """A copy without these, without what belongs to one connection, and without what the sender says does."""
    kept = CIMultiDict(headers)
    named = [part.strip() for value in kept.getall("Connection", ()) for part in value.split(",")]
    for name in (*_HOP_BY_HOP, *more, *named):
        kept.popall(name, None)
    return kept
