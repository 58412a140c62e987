"""Why no answer came: connection errors in the words that clients and the rules of `failures` use, and what the client is told."""

import errno
import json
import os
import socket
import ssl
from collections.abc import Iterator
from typing import Final, NamedTuple

import aiohttp

from tracekit.model import Value, semconv
from tracekit.model.redact import error_text

_RESOLVER: Final = {socket.EAI_AGAIN: "EAI_AGAIN", socket.EAI_FAIL: "EAI_FAIL", socket.EAI_MEMORY: "EAI_MEMORY"}
_CERTIFICATE: Final = {
    2: "UNABLE_TO_GET_ISSUER_CERT",
    10: "CERT_HAS_EXPIRED",
    18: "DEPTH_ZERO_SELF_SIGNED_CERT",
    19: "SELF_SIGNED_CERT_IN_CHAIN",
    20: "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    21: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    62: "ERR_TLS_CERT_ALTNAME_INVALID",
    64: "ERR_TLS_CERT_ALTNAME_INVALID",
}
"""OpenSSL's verdicts on a certificate, by the names that Node gives them."""


class Failure(NamedTuple):
    """Why an exchange failed without an answer."""

    type: str
    code: str | None
    text: str
    may_pass: bool = True
    """Whether trying again can help: a certificate that is not trusted will not be trusted in a second."""

    def attributes(self) -> dict[str, Value]:
        """What of it goes on record."""
        found: dict[str, Value] = {semconv.ERROR_TYPE: self.type, semconv.ERROR_TEXT: self.text}
        if self.code is not None:
            found[semconv.ERROR_CODE] = self.code
        return found

    def told(self, origin: str) -> bytes:
        """The body of the answer that the gateway gives in the upstream's place, in the API's own shape."""
        said = f"tracekit's gateway got no answer from {origin}: {self.text}{f' ({self.code})' if self.code else ''}"
        return json.dumps({"type": "error", "error": {"type": "api_error", "message": said}}).encode()


def failure_of(error: BaseException) -> Failure:
    """Say of an error of the HTTP client what it means."""
    kind = type(error).__name__
    match error:
        case aiohttp.ClientHttpProxyError():
            return Failure(kind, "ERR_TUNNEL_CONNECTION_FAILED", error_text(f"proxy tunnel failed: {error.status} {error.message}"))
        case aiohttp.ClientProxyConnectionError():
            return Failure(kind, "ERR_PROXY_CONNECTION_FAILED", error_text(f"proxy connection failed: {_words(error)}"))
        case aiohttp.ClientConnectorDNSError():
            return Failure(kind, _resolver_code(error), error_text(f"could not resolve {error.host}: {_words(error)}"))
        case _:
            pass
    # The client library's own TLS errors are SSLErrors by name, without any of their fields.
    tls = next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError) and not isinstance(cause, aiohttp.ClientError)), None)
    if tls is not None:
        return _of_tls(tls)
    return Failure(kind, _system_code(error), error_text(_words(error) or kind))


def _of_tls(error: ssl.SSLError) -> Failure:
    kind = type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        code = _CERTIFICATE.get(error.verify_code, "UNKNOWN_CERTIFICATE_VERIFICATION_ERROR")
        return Failure(kind, code, error_text(f"certificate verify failed: {error.verify_message}"), may_pass=False)
    return Failure(kind, "EPROTO", error_text(f"TLS failed: {error.reason or _words(error)}"), may_pass=False)


def _resolver_code(error: aiohttp.ClientConnectorDNSError) -> str:
    return _RESOLVER.get(error.os_error.errno or 0, "ENOTFOUND")


def _system_code(error: BaseException) -> str | None:
    found = next((cause.errno for cause in _causes(error) if isinstance(cause, OSError) and cause.errno), None)
    return None if found is None else errno.errorcode.get(found)


def _words(error: BaseException) -> str:
    """What the system said, rather than what was said about it: the library's texts name hosts, ports and settings."""
    system = next((cause for cause in _causes(error) if isinstance(cause, OSError) and cause.strerror), None)
    if system is None:
        return str(error)
    return os.strerror(system.errno) if system.errno and system.errno in errno.errorcode else str(system.strerror)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, what it carries inside, and what led to it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop(0)
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        why, meanwhile = found.__cause__, found.__context__
        if isinstance(found, aiohttp.ClientConnectorCertificateError):
            waiting.append(found.certificate_error)
        elif isinstance(found, aiohttp.ClientConnectorError):
            waiting.append(found.os_error)
        waiting += [why, meanwhile]
