"""The page as part of an aiohttp application: its paths, who may see it, and what a browser may do with it.

The paths are `/`, `/sessions/…`, `/static/…` and `/login`, and only their GET (of `/login`, POST) is the page's: everything else, and
`HEAD /`, which clients send to see whether somebody listens, goes where it went.
"""

import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler

from tracekit.page.answers import HTML, Answer, page
from tracekit.page.parts import PARTS, TIMELINE_AFTER

_LOG: Final = logging.getLogger(__name__)

Respond = Callable[..., Awaitable[Answer]]
"""Asks `Pages` by the name of one of its methods and the method's arguments."""

COOKIE: Final = "tracekit_page"
_MONTH: Final = 30 * 86_400
_KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Static(NamedTuple):
    """A file of the page."""

    body: bytes
    content_type: str
    tag: str


def add_routes(app: web.Application, respond: Respond, *, door: "Door | None" = None) -> None:
    """Bring the page into an application. Call it before whatever takes all other paths is added.

    Args:
        app: The application.
        respond: Who answers.
        door: Where a token is demanded: the application must ask it about requests that come without. Where there is none, the page
            is for this machine alone.
    """
    views = _Views(respond)
    paths = {
        "/": views.sessions,
        "/sessions/{id:[^/]+}": views.session,
        "/sessions/{id:[^/]+}/timeline.json": views.timeline,
        "/sessions/{id:[^/]+}/parts/{name}": views.part,
        "/static/{name}": views.static,
    }
    for path, view in paths.items():
        app.router.add_get(path, view if door is not None else _for_this_machine(view), allow_head=False)
    if door is not None:
        app.router.add_post("/login", door.login)


def _for_this_machine(view: Handler) -> Handler:
    """Refuse a page of another site that has had its own name resolved to this machine."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        if _is_this_machine(request.host):
            return await view(request)
        message = b"tracekit shows its page under this machine's own names: open it as http://127.0.0.1 or http://localhost"
        return web.Response(status=web.HTTPMisdirectedRequest.status_code, body=message, content_type="text/plain", headers=HEADERS)

    return guarded


class _Views:
    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._static = _files()

    async def sessions(self, request: web.Request) -> web.StreamResponse:
        return _written(await self._ask("sessions", dict(request.query)))

    async def session(self, request: web.Request) -> web.StreamResponse:
        """Write a session's page part by part: the first can be read while the last is computed."""
        session_id = request.match_info["id"]
        opening = await self._ask("opening", session_id)
        if opening.status != web.HTTPOk.status_code:
            return _written(opening)
        response = web.StreamResponse(headers=HEADERS)
        response.content_type = HTML
        response.charset = "utf-8"
        await response.prepare(request)
        await response.write(opening.body)
        # One after the other: whoever answers has time in between for the timeline, which the browser asks for meanwhile.
        for call in _calls(session_id):
            await response.write((await self._ask(*call)).body)
        await response.write_eof()
        return response

    async def part(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in PARTS:
            return _written(Answer(web.HTTPNotFound.status_code, HTML, b"no such part"))
        return _written(await self._ask("part", request.match_info["id"], name))

    async def timeline(self, request: web.Request) -> web.StreamResponse:
        return _written(await self._ask("timeline", request.match_info["id"], dict(request.query)))

    async def _ask(self, name: str, *arguments: Any) -> Answer:
        """Answer whatever happens: one part that fails must not take the others with it."""
        try:
            return await self._respond(name, *arguments)
        except Exception:  # noqa: BLE001  (logged, and told to whoever looks)
            _LOG.exception("the page's %s could not be answered", name)
            body = b'<section class="part trouble" role="alert"><p>This could not be answered; the server has told why.</p></section>'
            return Answer(web.HTTPInternalServerError.status_code, HTML, body)

    async def static(self, request: web.Request) -> web.StreamResponse:
        found = self._static.get(request.match_info["name"])
        if found is None:
            return _written(Answer(web.HTTPNotFound.status_code, HTML, b"no such file"))
        headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": f'"{found.tag}"'}
        if request.headers.get("If-None-Match") == f'"{found.tag}"':
            return web.Response(status=web.HTTPNotModified.status_code, headers=headers)
        return web.Response(body=found.body, content_type=found.content_type, charset="utf-8", headers=headers)


def _calls(session_id: str) -> Iterator[tuple[str, ...]]:
    """What follows the opening of a session's page, in order."""
    for name in PARTS:
        yield "part", session_id, name
        if name == TIMELINE_AFTER:
            yield "frame", session_id
    yield ("closing",)


def _files() -> dict[str, Static]:
    found: dict[str, Static] = {}
    for entry in (files("tracekit.page") / "static").iterdir():
        kind = _KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            found[entry.name] = Static(body, kind, hashlib.sha256(body).hexdigest()[:16])
    return found


def _written(answer: Answer) -> web.Response:
    response = web.Response(status=answer.status, body=answer.body, content_type=answer.content_type, charset="utf-8", headers=HEADERS)
    response.enable_compression()
    return response


# Who may see it


def _is_this_machine(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name in {"localhost", "[::1]"} or (name.startswith("127.") and name.replace(".", "").isdecimal())


class Door:
    """Lets browsers in where a token is demanded: they can bring no header of their own, so they get a cookie for it.

    The cookie opens the page and nothing else: whoever wants something recorded still brings the token itself.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._pass = hmac.new(token.encode(), b"the page of tracekit", hashlib.sha256).hexdigest()

    async def __call__(self, request: web.Request, handler: Handler) -> web.StreamResponse | None:
        """Answer a request that came without the token; None where it is not for the page."""
        top = request.path.strip("/").partition("/")[0]
        if (request.method, top) in {("POST", "login"), ("GET", "static")}:
            return await handler(request)
        if request.method != "GET" or top not in {"", "sessions"}:
            return None
        if self._equal(request.cookies.get(COOKIE, ""), self._pass):
            return await handler(request)
        return _written(page("door.html", status=web.HTTPUnauthorized.status_code, wrong=False))

    async def login(self, request: web.Request) -> web.StreamResponse:
        """Give the cookie to who has the token."""
        given = (await request.post()).get("token")
        if not isinstance(given, str) or not self._equal(given.strip(), self._token):
            return _written(page("door.html", status=web.HTTPUnauthorized.status_code, wrong=True))
        response = web.Response(status=web.HTTPSeeOther.status_code, headers={**HEADERS, "Location": "/"})
        response.set_cookie(COOKIE, self._pass, httponly=True, samesite="Strict", max_age=_MONTH)
        return response

    @staticmethod
    def _equal(given: str, wanted: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())
