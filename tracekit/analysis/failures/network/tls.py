"""network / tls: the certificate of the other side was not trusted, or the handshake failed.

What it means
    Somebody answered whose certificate the client does not trust: a company's inspecting proxy, an antivirus, a router, a captive
    portal; or a certificate ran out. It is no login problem, even where it appears during login.

Evidence
    Certificate codes (SELF_SIGNED_CERT_IN_CHAIN, UNABLE_TO_GET_ISSUER_CERT_LOCALLY, CERT_HAS_EXPIRED), or a text about certificates,
    SSL or TLS, and no HTTP status.

What to do
    Give the client the company's root certificate (NODE_EXTRA_CA_CERTS, or the system's store), or leave the network that inspects.
    The client does not try again, and trying again alone does not help.
"""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, names, wording

_NAMES: Final = names(
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "UNKNOWN_CERTIFICATE_VERIFICATION_ERROR",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "EPROTO",
    "SSLError",
    "SSLCertVerificationError",
)
_SAYS: Final = wording(r"certificate", r"self[- _]signed", r"\bx509\b", r"\b(?:ERR_)?(?:ssl|tls)(?=\b(?!:default)|_)", r"\bCERT_[A-Z]+")

_PASSING: Final = wording(r"handshake tim(?:ed?|ing)[- ]?out", r"before secure tls")
"""The handshake was cut short: nobody's certificate was judged."""


def _match(evidence: Evidence) -> str | None:
    if evidence.http is not None or evidence.says(_PASSING):
        return None
    return evidence.named(_NAMES) or evidence.says(_SAYS)


RULE: Final = Rule(Family.NETWORK, Kind.TLS, Retry.HELPS_AFTER_CHANGE, MODEL, _match, __doc__)
