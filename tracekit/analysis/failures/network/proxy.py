"""network / proxy: a proxy between the client and the API answered instead of the API.

What it means
    The connection goes through a proxy that wants a login, refuses the host, or puts a page of its own in place of the answer. What the
    API would have said is not known: it was never asked.

Evidence
    HTTP 407; an HTTP status while the connection was still being made; a failed CONNECT or tunnel; a page where JSON was due after
    HTTP 200; the block page of a web filter.

What to do
    Check HTTPS_PROXY, NO_PROXY and the proxy's login, or ask whoever runs it to let the API's host through.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL, Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_PROXY_AUTHENTICATION = 407
_NAMES: Final = names(
    "ERR_PROXY_CONNECTION_FAILED", "ERR_TUNNEL_CONNECTION_FAILED", "UnsupportedProxyProtocol", "ProxyError", "ERR_INVALID_PROXY"
)
_SAYS: Final = wording(
    r"proxy (?:authentication|connection|connect|response|tunnel)",
    r"from proxy after connect",
    r"tunnel(?:l?ing)? .{0,40}(?:fail|not|could|refused|status)",
    r"(?:unable|failed) to connect to\b.{0,80}status code \d{3}",
    r"empty or malformed response",
    r"unexpected token '?<|is not valid json.{0,20}<!doctype|<!doctype.{0,80}is not valid json",
    r"captive portal|zscaler|web ?filter|blue ?coat|fortiguard",
)


def _match(evidence: Evidence) -> str | None:
    early = evidence.shown_in is Layer.TRANSPORT and evidence.http is not None
    return (
        evidence.answered(_PROXY_AUTHENTICATION)
        or evidence.named(_NAMES)
        or evidence.says(_SAYS)
        or (f"HTTP {evidence.http} before the API was reached" if early else None)
    )


RULE: Final = Rule(Family.NETWORK, Kind.PROXY, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
