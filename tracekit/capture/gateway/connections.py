"""The connections to upstreams: a client session that changes nothing, and tells each exchange of the connection made for it."""

from types import SimpleNamespace
from typing import Any, Final

import aiohttp

from tracekit.capture.gateway.recording import Recording, now_ns

_HEAD: Final = 128 * 1024
"""Bytes that one line of an answer's head may have."""
_BUFFER: Final = 256 * 1024


def open_session() -> aiohttp.ClientSession:
    """A session without cookies, limits, timeouts or decompression: all of these are the client's own business."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        trace_configs=[_traces()],
        read_bufsize=_BUFFER,
        max_line_size=_HEAD,
        max_field_size=_HEAD,
    )


def _traces() -> aiohttp.TraceConfig:
    """The library's own stations of a connection, by the names under which they go on record."""
    traces = aiohttp.TraceConfig()
    traces.on_dns_resolvehost_start.append(_station("dns.start"))
    traces.on_dns_resolvehost_end.append(_station("dns.end"))
    traces.on_connection_create_start.append(_station("connect.start"))
    traces.on_connection_create_end.append(_station("connect.end"))
    traces.on_connection_reuseconn.append(_station("connect.reused"))
    return traces


def _station(name: str) -> Any:
    async def tell(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        recording: Recording = context.trace_request_ctx
        recording.moment(name, now_ns())

    return tell
