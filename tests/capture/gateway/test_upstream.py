"""The way to the upstream: TLS with authorities and certificates of one's own, proxies, and what is said when it leads nowhere."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from tests.capture.gateway.world import ASKING, Server, asking, attribute, gateway_before, names, run, until, whole, whole_message
from tracekit.capture.gateway import Upstream
from tracekit.capture.gateway.failure import failure_of
from tracekit.errors import TracekitError
from tracekit.model import Status, semconv

CERTIFICATES: Final = Path(__file__).parent / "certificates"
CA: Final = CERTIFICATES / "ca.pem"
LEAF: Final = CERTIFICATES / "leaf.pem"


def serving(certificate: Path = LEAF, *, asks_for_one: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if asks_for_one:
        context.load_verify_locations(CA)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@contextlib.asynccontextmanager
async def proxy(seen: list[str], status: int = 200) -> AsyncGenerator[int]:
    """A proxy that makes tunnels, or refuses to."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        seen.append(request)
        writer.write(f"HTTP/1.1 {status} Said\r\n\r\n".encode())
        if status == 200:
            host, _, port = request.split(" ")[1].partition(":")
            there = await asyncio.open_connection(host, int(port))
            await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])
def test_an_authority_of_ones_own_is_trusted_and_the_handshake_is_timed(tmp_path: Path, variable: str) -> None:
    async def test() -> None:
        async with (
            Server(whole(whole_message())).listening(serving()) as port,
            gateway_before(Upstream(f"https://localhost:{port}", environment={variable: str(CA)}), tmp_path) as here,
        ):
            assert await here.ask() == whole_message()
            told = names(await here.row("request_attempt"))
            assert sorted(told[:5]) == sorted(["dns.start", "dns.end", "connect.start", "tls.start", "connect.end"])
            assert told.index("connect.start") < told.index("tls.start") < told.index("connect.end")
            assert await here.ask() == whole_message()
            await until(lambda: len(here.closed("request_attempt")) == 2)
            assert "connect.reused" in names(here.closed("request_attempt")[-1])
            assert here.gateway.gaps == 0

    run(test())


@pytest.mark.parametrize(
    ("certificate", "ca", "code"),
    [(LEAF, None, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"), (CERTIFICATES / "other.pem", CA, "ERR_TLS_CERT_ALTNAME_INVALID")],
)
def test_a_server_that_is_not_trusted_is_told_and_not_asked_again(tmp_path: Path, certificate: Path, ca: Path | None, code: str) -> None:
    async def test() -> None:
        async with Server(whole(b"")).listening(serving(certificate)) as port:
            upstream = Upstream(f"https://localhost:{port}", ca=ca, environment={})
            async with (
                gateway_before(upstream, tmp_path) as here,
                here.client.post(f"{here.url}/v1/messages", json=asking(), headers=ASKING) as answer,
            ):
                assert (answer.status, answer.headers["x-should-retry"]) == (502, "false")
                assert f"({code})" in (await answer.json())["error"]["message"]
                row = await here.row("request_attempt")
                assert (row["status"], attribute(row, semconv.ERROR_CODE)) == (Status.ERROR, code)
                assert attribute(row, semconv.ERROR_TYPE) == "SSLCertVerificationError"

    run(test())


def test_a_server_that_speaks_no_tls_is_told(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def test() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with gateway_before(Upstream(f"https://127.0.0.1:{port}", environment={}), tmp_path) as here:
                assert b"TLS failed: WRONG_VERSION_NUMBER (EPROTO)" in await here.ask()
                assert attribute(await here.row("request_attempt"), semconv.ERROR_CODE) == "EPROTO"

    run(test())


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_client_certificate_is_shown(tmp_path: Path, by: str) -> None:
    async def test() -> None:
        async with Server(whole(whole_message())).listening(serving(asks_for_one=True)) as port:
            upstream = (
                Upstream(f"https://localhost:{port}", ca=CA, certificate=LEAF, environment={})
                if by == "option"
                else Upstream(f"https://localhost:{port}", ca=CA, environment={"CLAUDE_CODE_CLIENT_CERT": str(LEAF)})
            )
            async with gateway_before(upstream, tmp_path) as here:
                assert await here.ask() == whole_message()

    run(test())


def test_a_tunnel_is_made_through_the_proxy_that_the_environment_names(tmp_path: Path) -> None:
    seen: list[str] = []

    async def test() -> None:
        async with Server(whole(whole_message())).listening(serving()) as port, proxy(seen) as proxy_port:
            told = {"HTTPS_PROXY": f"http://me:pass@127.0.0.1:{proxy_port}", "NO_PROXY": "elsewhere.example"}
            async with gateway_before(Upstream(f"https://localhost:{port}", ca=CA, environment=told), tmp_path) as here:
                assert await here.ask() == whole_message()
                assert seen[0].startswith(f"CONNECT localhost:{port} HTTP/1.1\r\n")
                assert "Proxy-Authorization: Basic bWU6cGFzcw==" in seen[0]
                assert "tls.start" in names(await here.row("request_attempt"))
                assert ASKING["x-api-key"] not in seen[0]

    run(test())


@pytest.mark.parametrize(("status", "code"), [(407, "ERR_TUNNEL_CONNECTION_FAILED"), (None, "ERR_PROXY_CONNECTION_FAILED")])
def test_a_proxy_that_makes_no_tunnel_is_told(tmp_path: Path, status: int | None, code: str) -> None:
    async def test() -> None:
        async with proxy([], status or 200) as port:
            told = {"https_proxy": f"http://me:secretword@127.0.0.1:{port if status else 9}"}
            async with gateway_before(Upstream("https://localhost:1", environment=told), tmp_path) as here:
                answer = await here.ask()
                row = await here.row("request_attempt")
                assert attribute(row, semconv.ERROR_CODE) == code
                assert b"secretword" not in answer
                assert "secretword" not in str(here.rows())

    run(test())


@pytest.mark.parametrize(
    ("no_proxy", "is_used"),
    [
        ("", True),
        ("example.com", True),
        ("localhost", True),
        ("api.anthropic.com", False),
        (".anthropic.com", False),
        ("anthropic.com", False),
        ("*.anthropic.com, other", False),
        ("other, API.anthropic.com:443", False),
        ("api.anthropic.com:8443", True),
        ("*", False),
        ("thropic.com", True),
    ],
)
def test_no_proxy_names_hosts_that_are_asked_directly(no_proxy: str, *, is_used: bool) -> None:
    upstream = Upstream("https://api.anthropic.com", environment={"HTTPS_PROXY": "proxy.example:3128", "no_proxy": no_proxy})
    assert (str(upstream.proxy) if upstream.proxy else None) == ("http://proxy.example:3128" if is_used else None)


def test_each_scheme_has_a_proxy_of_its_own() -> None:
    assert Upstream("http://llm.example", environment={"HTTPS_PROXY": "http://p:1"}).proxy is None
    assert str(Upstream("http://llm.example", environment={"HTTP_PROXY": "http://p:1"}).proxy) == "http://p:1"


@pytest.mark.parametrize(
    ("base", "target", "url"),
    [
        ("https://api.anthropic.com", "/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        ("https://llm.example/team/", "/v1/x%2Fy", "https://llm.example/team/v1/x%2Fy"),
        ("https://mcp.example/mcp/", "", "https://mcp.example/mcp/"),
        ("https://mcp.example/mcp?key=1", "?more=2", "https://mcp.example/mcp?key=1&more=2"),
    ],
)
def test_an_address_is_put_together_without_touching_the_path(base: str, target: str, url: str) -> None:
    assert str(Upstream(base).url(target)) == url


@pytest.mark.parametrize("base", ["", "api.anthropic.com", "ftp://host/", "http://", "http://[broken/"])
def test_an_upstream_that_is_no_address_is_refused(base: str) -> None:
    with pytest.raises(TracekitError, match="is no address") as caught:
        Upstream(base)
    assert caught.value.slug == "upstream-unusable"


@pytest.mark.parametrize("place", ["missing.pem", "README.md"])
def test_a_certificate_file_that_cannot_be_used_is_refused_before_the_first_request(tmp_path: Path, place: str) -> None:
    async def test() -> None:
        async with gateway_before(Upstream("https://localhost", ca=CERTIFICATES / place, environment={}), tmp_path):
            pytest.fail("it listens")

    with pytest.raises(TracekitError, match=f"{place} cannot be used") as caught:
        run(test())
    assert caught.value.slug == "certificate-unusable"


def test_a_name_that_is_not_resolved_is_told_by_the_resolvers_code() -> None:
    key = ConnectionKey("api.nowhere.example", 443, is_ssl=True, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)
    for number, code in ((socket.EAI_NONAME, "ENOTFOUND"), (socket.EAI_AGAIN, "EAI_AGAIN")):
        failure = failure_of(aiohttp.ClientConnectorDNSError(key, socket.gaierror(number, "Name or service not known")))
        assert failure.code == code
        assert failure.text == "could not resolve api.nowhere.example: Name or service not known"


def test_an_error_without_words_is_told_by_its_kind() -> None:
    assert failure_of(TimeoutError())[:3] == ("TimeoutError", None, "TimeoutError")
