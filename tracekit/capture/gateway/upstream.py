"""Where requests go: a base URL, the proxy that the environment asks for on the way, and whom to trust."""

import os
import ssl
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from yarl import URL

from tracekit.capture.gateway.recording import Recording, now_ns
from tracekit.errors import TracekitError

UNDER_WAY: Final[ContextVar[Recording | None]] = ContextVar("tracekit_gateway_exchange", default=None)
"""The exchange that a connection is being made for: the handshake's beginning is told by the TLS library, which knows of no exchange."""


@dataclass(frozen=True)
class Upstream:
    """A server that requests are passed on to.

    Bedrock signs a request for the host that the client sees, so only unsigned ones (bearer tokens, gateways that sign) can pass.

    Attributes:
        base_url: What stands before the path of every request: `https://api.anthropic.com`, or an LLM gateway with its path prefix.
        ca: PEM file of authorities to trust besides the system's; else what NODE_EXTRA_CA_CERTS names. SSL_CERT_FILE replaces the system's.
        certificate: PEM file of the certificate to show to the server; else what CLAUDE_CODE_CLIENT_CERT names.
        key: PEM file of its key; else what CLAUDE_CODE_CLIENT_KEY names. Not needed where the key stands in the certificate's file.
        environment: Where HTTPS_PROXY, HTTP_PROXY, NO_PROXY and the names above are looked up.

    Raises:
        TracekitError: `upstream-unusable`, where the base URL is none of HTTP.
    """

    base_url: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def __post_init__(self) -> None:
        try:
            base = URL(self.base_url)
        except ValueError:
            base = URL()
        if base.scheme not in {"http", "https"} or not base.host:
            message = f"the upstream {self.base_url!r} is no address that requests can be sent to; give one like https://api.anthropic.com"
            raise TracekitError(message, slug="upstream-unusable")

    @property
    def origin(self) -> str:
        """Scheme, host and port: what may be told of the address."""
        return str(URL(self.base_url).origin())

    def url(self, target: str) -> URL:
        """The address of a request, from its path and query as the client wrote them: nothing is decoded on the way."""
        base, _, query = self.base_url.partition("?")
        path, _, own_query = target.partition("?")
        asked = "&".join(part for part in (query, own_query) if part)
        whole = f"{base.rstrip('/')}{path}" if path else base
        return URL(f"{whole}?{asked}" if asked else whole, encoded=True)

    def at_origin(self, target: str) -> URL:
        """The address of a path that the server itself gave, which leaves the base URL's own path out."""
        return URL(f"{self.origin}{target}", encoded=True)

    @cached_property
    def proxy(self) -> URL | None:
        """The proxy that the environment asks for."""
        base = URL(self.base_url)
        name = f"{base.scheme}_proxy"
        asked = self._variable(name) or self._variable(name.upper())
        excepted = self._variable("no_proxy") or self._variable("NO_PROXY")
        if not asked or any(_covers(pattern.strip(), base) for pattern in excepted.split(",")):
            return None
        return URL(asked if "://" in asked else f"http://{asked}")

    def check(self) -> None:
        """Raise what is wrong with its certificates, where it needs any.

        Raises:
            TracekitError: `certificate-unusable`, where a file cannot be read.
        """
        if self.is_secure:
            _ = self.trust

    @property
    def is_secure(self) -> bool:
        """Whether it is reached by TLS."""
        return URL(self.base_url).scheme == "https"

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """Whom to trust and what to show.

        Raises:
            TracekitError: `certificate-unusable`, where a file cannot be read.
        """
        context = _StampedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["http/1.1"])
        # Companies' own authorities often lack what the strict reading asks for, and the client itself does not ask for it.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if system := self._variable("SSL_CERT_FILE"):
            _load(Path(system), context.load_verify_locations)
        else:
            context.load_default_certs()
        if extra := self.ca or self._path("NODE_EXTRA_CA_CERTS"):
            _load(extra, context.load_verify_locations)
        if shown := self.certificate or self._path("CLAUDE_CODE_CLIENT_CERT"):
            key = self.key or self._path("CLAUDE_CODE_CLIENT_KEY")
            password = self._variable("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE")
            _load(shown, lambda path: context.load_cert_chain(path, key, password or ""))
        return context

    def _variable(self, name: str) -> str:
        return self.environment.get(name, "").strip()

    def _path(self, name: str) -> Path | None:
        named = self._variable(name)
        return Path(named) if named else None


class _StampedContext(ssl.SSLContext):
    """Tells the exchange under way when its handshake begins."""

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002  (the standard library's signature)
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        recording = UNDER_WAY.get()
        if recording is not None:
            recording.moment("tls.start", now_ns())
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


def _covers(pattern: str, url: URL) -> bool:
    """Whether an entry of NO_PROXY means a host: by its name, with or without port, or as the end of its name."""
    host, port = (url.host or "").lower(), str(url.port)
    name, _, wanted_port = pattern.lower().rpartition(":") if pattern.count(":") == 1 else (pattern.lower(), "", "")
    if not pattern or (wanted_port and wanted_port != port):
        return False
    bare = name.removeprefix("*").removeprefix(".").strip("[]")
    return name == "*" or host == bare or host.endswith(f".{bare}")


def _load(path: Path, load: Callable[[Path], None]) -> None:
    try:
        load(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise TracekitError(f"the certificate file {path} cannot be used: {why}; give a PEM file", slug="certificate-unusable") from error
