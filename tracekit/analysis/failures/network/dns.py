"""network / dns: the name of the API's host was not resolved.

What it means
    The request never left the machine: the resolver did not know the host, or did not answer. Mostly the machine is offline, on a
    captive portal, or in a container without a resolver.

Evidence
    ENOTFOUND, EAI_AGAIN and their kin, or a resolver's words (`getaddrinfo`, `Could not resolve host`), and no HTTP status.

What to do
    Check that the machine is online and that the host in ANTHROPIC_BASE_URL is spelled right. The client tries again by itself.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names(
    "ENOTFOUND",
    "EAI_AGAIN",
    "EAI_NODATA",
    "EAI_NONAME",
    "EAI_FAIL",
    "ENODATA",
    "ESERVFAIL",
    "DNSException",
    "DNSResolveFailed",
    "ClientConnectorDNSError",
    "UnknownHostException",
    "ERR_NAME_NOT_RESOLVED",
    "ERR_DNS_TIMED_OUT",
)
_SAYS: Final = wording(
    r"getaddrinfo",
    r"(?:could|can)(?: ?not|n't) (?:be resolved|resolve (?:the )?(?:host|name|address|proxy|server|dns|\S+\.\w))",
    r"(?:unable|failed) to resolve (?:the )?(?:host|name|address|proxy|server|dns|\S+\.\w)",
    r"name or service not known",
    r"name resolution",
    r"nodename nor servname",
    r"(?:no such|unknown|unresolved) host\b",
    r"\bdns (?:error|lookup|resolution|failure)",
)


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None:
        return None
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.DNS, Retry.HELPS, MODEL, _match, __doc__)
