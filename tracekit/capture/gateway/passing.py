"""What of a message's head is passed on: all but what belongs to one connection only."""

from collections.abc import Iterable
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

_HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OF_THE_REQUEST: Final = frozenset({"host", "expect"})
"""The host is another one, and that the body is welcome the gateway has said itself."""
_MADE_UP: Final = ("Content-Type", "Date", "Server")
"""What the web server adds to answers that lack it."""


def request_headers(headers: Iterable[tuple[str, str]], *, decoded: bool = False) -> CIMultiDict[str]:
    """The headers for the upstream; without those of an encoding that has been undone."""
    gone = _OF_THE_REQUEST | {"content-encoding", "content-length"} if decoded else _OF_THE_REQUEST
    return CIMultiDict((name, value) for name, value in _end_to_end(headers) if name.lower() not in gone)


class Relayed(web.StreamResponse):
    """An answer as it came: nothing is added to its head."""

    def __init__(self, status: int, reason: str | None, headers: Iterable[tuple[str, str]]) -> None:
        super().__init__(status=status, reason=reason, headers=CIMultiDict(_end_to_end(headers)))
        self.made_up = [name for name in _MADE_UP if name not in self.headers]


async def leave_as_it_came(_request: web.Request, response: web.StreamResponse) -> None:
    """Take away what the web server has added to an answer that is passed on."""
    if isinstance(response, Relayed):
        for name in response.made_up:
            response.headers.popall(name, None)


def _end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    known = list(headers)
    named = {part.strip().lower() for name, value in known if name.lower() == "connection" for part in value.split(",")}
    return [(name, value) for name, value in known if name.lower() not in _HOP_BY_HOP and name.lower() not in named]
