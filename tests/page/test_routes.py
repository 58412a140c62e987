"""The page over HTTP: its paths, its headers, who gets in, and that everything else goes where it went."""

import http.client
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import pytest
from aiohttp import web

from tests.page.worlds import HOSTILE, hostile, ordinary, pages
from tracekit.capture.listener import DOOR, Listener
from tracekit.page.answers import Answer, Pages
from tracekit.page.parts import PARTS
from tracekit.page.routes import COOKIE, HEADERS, Door, add_routes

SESSION = ordinary()[0].session_id
TOKEN = "quince-jam"
LIMIT = 20.0


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Server:
    def __init__(self, url: str) -> None:
        self.netloc = urlsplit(url).netloc

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Got:
        connection = http.client.HTTPConnection(self.netloc, timeout=LIMIT)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return Got(answer.status, {name.title(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Got:
        return self.ask("GET", path, None, **headers)


def application(shown: Pages, door: Door | None) -> web.Application:
    async def respond(name: str, *arguments: Any) -> Answer:
        if name == "part" and arguments[1] == "tokens":
            message = "a part that nobody expected to fail"
            raise RuntimeError(message)
        answer: Answer = getattr(shown, name)(*arguments)
        return answer

    async def elsewhere(request: web.Request) -> web.Response:
        return web.Response(text=f"upstream {request.method} {request.path}")

    app = web.Application()
    if door is not None:
        app[DOOR] = door.__call__
    add_routes(app, respond, door=door)
    app.router.add_route("*", "/{path:.*}", elsewhere)
    return app


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pages(ordinary(), hostile()) as shown, Listener(lambda: application(shown, None)) as listener:
        yield Server(listener.url)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    with pages(ordinary()) as shown, Listener(lambda: application(shown, Door(TOKEN)), token=TOKEN) as listener:
        yield Server(listener.url)


@pytest.mark.parametrize(
    "path",
    ["/", "/?q=x", f"/sessions/{SESSION}", f"/sessions/{SESSION}/timeline.json", f"/sessions/{SESSION}/parts/account", "/static/page.js"],
)
def test_every_answer_allows_nothing_from_elsewhere(server: Server, path: str) -> None:
    got = server.get(path)
    assert got.status == 200
    for name in set(HEADERS) - {"Cache-Control"}:
        assert got.headers[name] == HEADERS[name]
    assert "unsafe" not in got.headers["Content-Security-Policy"]


def test_what_is_known_of_sessions_is_not_kept_by_the_browser(server: Server) -> None:
    assert server.get("/").headers["Cache-Control"] == "no-store"


def test_static_files_are_sent_once(server: Server) -> None:
    first = server.get("/static/style.css")
    again = server.get("/static/style.css", If_None_Match=first.headers["Etag"])
    assert (first.headers["Content-Type"], again.status, again.body) == ("text/css; charset=utf-8", 304, b"")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/"),
        ("POST", "/v1/messages"),
        ("GET", "/v1/models"),
        ("POST", "/"),
        ("GET", "/api/hello"),
        ("POST", f"/sessions/{SESSION}"),
    ],
)
def test_everything_else_goes_where_it_went(server: Server, method: str, path: str) -> None:
    got = server.ask(method, path)
    assert got.status == 200
    assert got.body == (b"" if method == "HEAD" else f"upstream {method} {path}".encode())


@pytest.mark.parametrize(
    "path", ["/static/../routes.py", "/static/%2e%2e%2froutes.py", "/static/nothing.js", f"/sessions/{SESSION}/parts/nothing"]
)
def test_no_other_file_or_part_is_given(server: Server, path: str) -> None:
    got = server.get(path)
    assert got.status == 404 or got.body.startswith(b"upstream")
    assert b"import" not in got.body


def test_one_part_that_fails_leaves_the_others(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    got = server.get(f"/sessions/{SESSION}")
    assert b"This could not be answered" in got.body
    assert got.body.rstrip().endswith(b"</html>")
    assert all(f'data-part="{name}"'.encode() in got.body for name in PARTS if name != "tokens")
    assert "nobody expected" in caplog.text


def test_a_session_with_any_id_has_an_address(server: Server) -> None:
    got = server.get(f"/sessions/{quote(HOSTILE, safe='')}")
    assert got.status == 200
    assert b"<script>window" not in got.body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1", ""])
def test_a_site_that_calls_this_machine_its_own_reads_nothing(server: Server, host: str) -> None:
    got = server.get("/", Host=host)
    assert (got.status, SESSION.encode() in got.body) == (421, False)
    assert server.get(f"/sessions/{SESSION}/timeline.json", Host=host).status == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:4318", "127.0.0.1:4318", "[::1]:4318", "127.1.2.3"])
def test_this_machine_is_known_by_its_own_names(server: Server, host: str) -> None:
    assert server.get("/", Host=host).status == 200


# Where a token is demanded


def test_a_browser_without_token_is_asked_for_it_and_told_nothing(guarded: Server) -> None:
    for path in ("/", f"/sessions/{SESSION}", f"/sessions/{SESSION}/timeline.json", f"/sessions/{SESSION}/parts/facts"):
        got = guarded.get(path)
        assert got.status == 401
        assert b'action="/login"' in got.body
        assert SESSION.encode() not in got.body


def test_the_token_opens_the_page_for_that_browser(guarded: Server) -> None:
    got = login(guarded, TOKEN)
    assert (got.status, got.headers["Location"]) == (303, "/")
    assert "HttpOnly" in got.headers["Set-Cookie"]
    assert "SameSite=Strict" in got.headers["Set-Cookie"]
    assert TOKEN not in got.headers["Set-Cookie"]
    assert SESSION[:8].encode() in guarded.get("/", Cookie=cookie(got)).body


@pytest.mark.parametrize("token", ["", "quince", TOKEN + "x", "\ud800"])
def test_another_token_does_not(guarded: Server, token: str) -> None:
    got = login(guarded, token)
    assert (got.status, "Set-Cookie" in got.headers) == (401, False)
    assert b"That was not it." in got.body
    assert guarded.get("/", Cookie=f"{COOKIE}={TOKEN}").status == 401


def test_the_cookie_opens_nothing_but_the_page(guarded: Server) -> None:
    passed = cookie(login(guarded, TOKEN))
    for method, path in (("POST", "/v1/messages"), ("GET", "/v1/models"), ("HEAD", "/"), ("POST", "/"), ("GET", "/metrics")):
        assert guarded.ask(method, path, Cookie=passed).status == 401


def test_a_program_with_the_token_needs_no_cookie(guarded: Server) -> None:
    assert guarded.get(f"/sessions/{SESSION}/timeline.json", Authorization=f"Bearer {TOKEN}").status == 200
    assert guarded.get("/v1/models", X_Tracekit_Token=TOKEN).body == b"upstream GET /v1/models"


def test_its_looks_are_no_secret(guarded: Server) -> None:
    assert guarded.get("/static/style.css").status == 200


def login(server: Server, token: str) -> Got:
    body = urlencode({"token": token}, errors="replace").encode()
    return server.ask("POST", "/login", body, Content_Type="application/x-www-form-urlencoded")


def cookie(got: Got) -> str:
    return got.headers["Set-Cookie"].partition(";")[0]
