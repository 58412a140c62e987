"""network: the request or its answer was lost, delayed or turned away on the way to the model's API, or there.

What it means
    Nothing is wrong with what was asked. The name was not resolved, the connection failed, something in between answered,
    the stream broke, or the server was unable to answer.

Evidence
    Codes of the connection (ECONNRESET, ENOTFOUND, certificate codes), HTTP status 408, 429 and 500 to 599, error types of the
    API (`overloaded_error`, `api_error`), a response without message_stop. Texts of tools are never read for this: a command
    that prints ECONNREFUSED is a failed command.

What to do
    Mostly wait: the client tries again by itself. Certificates, proxies and refused connections need a change first.
"""

from tracekit.analysis.failures.network import (
    connect,
    dns,
    overloaded,
    proxy,
    rate_limited,
    reset,
    server_error,
    stream_cut,
    stream_error,
    stream_stall,
    timeout,
    tls,
)

__all__ = [
    "connect",
    "dns",
    "overloaded",
    "proxy",
    "rate_limited",
    "reset",
    "server_error",
    "stream_cut",
    "stream_error",
    "stream_stall",
    "timeout",
    "tls",
]
