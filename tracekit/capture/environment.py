"""What a client must find in its environment so that its requests, its telemetry and its hooks come by here."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

ANTHROPIC: Final = "https://api.anthropic.com"
TOKEN_HEADER: Final = "X-Tracekit-Token"
"""Carries the token of a model request, whose `Authorization` is its model's. It is never passed on."""

_SIGNALS: Final = ("TRACES", "LOGS", "METRICS")
_INTERVALS: Final = {
    "OTEL_TRACES_EXPORT_INTERVAL": "1000",
    "OTEL_LOGS_EXPORT_INTERVAL": "1000",
    "OTEL_METRIC_EXPORT_INTERVAL": "10000",
}
"""Milliseconds between two exports: what is open shows within a second or so."""
_CONTENT: Final = ("OTEL_LOG_USER_PROMPTS", "OTEL_LOG_ASSISTANT_RESPONSES", "OTEL_LOG_TOOL_DETAILS", "OTEL_LOG_TOOL_CONTENT")
_BEDROCK_UNSIGNED: Final = ("ANTHROPIC_BEDROCK_BASE_URL", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "AWS_BEARER_TOKEN_BEDROCK")


class Route(NamedTuple):
    """How a client reaches its model."""

    provider: str
    """`anthropic`, `vertex`, `bedrock` or `foundry`."""
    variable: str
    """The variable that leads it elsewhere."""
    upstream: str | None
    """The base URL of its requests so far; None where they cannot be led through a gateway."""
    why_not: str = ""


def route(environment: Mapping[str, str]) -> Route:
    """Tell how a client with this environment reaches its model."""
    if _is_on(environment, "CLAUDE_CODE_USE_BEDROCK"):
        return _bedrock(environment)
    if _is_on(environment, "CLAUDE_CODE_USE_VERTEX"):
        return _vertex(environment)
    if _is_on(environment, "CLAUDE_CODE_USE_FOUNDRY"):
        return _foundry(environment)
    return Route("anthropic", "ANTHROPIC_BASE_URL", environment.get("ANTHROPIC_BASE_URL") or ANTHROPIC)


def _bedrock(environment: Mapping[str, str]) -> Route:
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
    found = Route("bedrock", "ANTHROPIC_BEDROCK_BASE_URL", f"https://bedrock-runtime.{region}.amazonaws.com")
    if base := environment.get("ANTHROPIC_BEDROCK_BASE_URL"):
        return found._replace(upstream=base)
    if any(environment.get(name) for name in _BEDROCK_UNSIGNED):
        return found
    why = "Bedrock requests are signed for the host they go to, so they cannot pass through a gateway"
    return found._replace(upstream=None, why_not=f"{why} (an API key in AWS_BEARER_TOKEN_BEDROCK could)")


def _vertex(environment: Mapping[str, str]) -> Route:
    region = environment.get("CLOUD_ML_REGION") or "us-east5"
    host = {
        "global": "aiplatform.googleapis.com",
        "us": "aiplatform.us.rep.googleapis.com",
        "eu": "aiplatform.eu.rep.googleapis.com",
    }.get(region, f"{region}-aiplatform.googleapis.com")
    found = Route("vertex", "ANTHROPIC_VERTEX_BASE_URL", f"https://{host}/v1")
    if base := environment.get("ANTHROPIC_VERTEX_BASE_URL"):
        return found._replace(upstream=base)
    if any(name.startswith("VERTEX_REGION_") for name in environment):
        return found._replace(upstream=None, why_not="VERTEX_REGION_… sends each model to a host of its own")
    return found


def _foundry(environment: Mapping[str, str]) -> Route:
    found = Route("foundry", "ANTHROPIC_FOUNDRY_BASE_URL", environment.get("ANTHROPIC_FOUNDRY_BASE_URL"))
    if found.upstream is None and (resource := environment.get("ANTHROPIC_FOUNDRY_RESOURCE")):
        return found._replace(upstream=f"https://{resource}.services.ai.azure.com/anthropic")
    return found if found.upstream else found._replace(why_not="neither ANTHROPIC_FOUNDRY_BASE_URL nor ANTHROPIC_FOUNDRY_RESOURCE is set")


class Collector(NamedTuple):
    """Where a client's telemetry went so far."""

    endpoint: str
    """Base URL."""
    headers: dict[str, str]
    why_not: str = ""
    """Why it cannot be passed on to there; empty where it can."""


def collector(environment: Mapping[str, str]) -> Collector | None:
    """Tell to which OTLP endpoint a client with this environment exports; None where it has none."""
    bases = {base for signal in _SIGNALS if (base := _base(environment, signal))}
    headers = _pairs(environment.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    if not bases:
        return None
    endpoint = min(bases)
    if environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip() == "grpc":
        return Collector(endpoint, headers, "it takes OTLP/gRPC, and only OTLP/HTTP is passed on")
    if len(bases) > 1:
        return Collector(endpoint, headers, "each signal went to an endpoint of its own, and there can be one only")
    return Collector(endpoint, headers)


def _base(environment: Mapping[str, str], signal: str) -> str | None:
    if own := environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"):
        return own.removesuffix(f"/v1/{signal.lower()}")
    return environment.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").rstrip("/") or None


def _pairs(headers: str) -> dict[str, str]:
    """Read headers as exporters do: `name=value,name=value`, values percent-encoded."""
    pairs = (pair.partition("=") for pair in headers.split(",") if "=" in pair)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def variables(
    environment: Mapping[str, str],
    *,
    url: str,
    spool: str,
    store: str | None = None,
    content: bool = False,
    token: str | None = None,
) -> dict[str, str]:
    """What is to be set, on top of `environment`, so that a client comes by here.

    Args:
        environment: What the client would have found.
        url: Where the capture listens: `http://127.0.0.1:41234`.
        spool: The folder that recorders of the client's own, such as command hooks, write to.
        store: URL of the store, where it is not the default one.
        content: Ask the client for prompts, outputs and arguments too.
        token: What the capture demands of who comes by.
    """
    found = {"TRACEKIT_URL": url, "TRACEKIT_SPOOL": spool}
    if store is not None:
        found["TRACEKIT_STORE"] = store
    if content:
        found["TRACEKIT_CONTENT"] = "1"
    found |= _model(environment, url)
    found |= _telemetry(environment, url)
    found |= _past_proxies(environment, url)
    if content and collector(environment) is None:
        # What the client's own collector gets remains what its owner has decided.
        found |= dict.fromkeys(_CONTENT, "1")
    if token is not None:
        found |= _with_token(environment, token)
    return found


def _model(environment: Mapping[str, str], url: str) -> dict[str, str]:
    way = route(environment)
    if way.upstream is None:
        return {}
    found = {way.variable: url, "TRACEKIT_UPSTREAM": way.upstream}
    if way.provider == "anthropic" and urlsplit(way.upstream).hostname == urlsplit(ANTHROPIC).hostname:
        # The client does less for hosts that it does not know (long contexts, tool search, trace headers). This is still the host
        # that it knows, with nothing but a relay before it.
        found |= {"_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "1", "CLAUDE_CODE_PROPAGATE_TRACEPARENT": "1"}
    return found


def _telemetry(environment: Mapping[str, str], url: str) -> dict[str, str]:
    found = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1"}
    found |= {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": url}
    for signal in _SIGNALS:
        found[f"OTEL_{signal}_EXPORTER"] = _with_otlp(environment.get(f"OTEL_{signal}_EXPORTER", ""))
        # A setting for one signal would win over the setting for all of them.
        if f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL" in environment:
            found[f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"] = "http/protobuf"
        if f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT" in environment:
            found[f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"] = f"{url}/v1/{signal.lower()}"
    return found | {name: value for name, value in _INTERVALS.items() if not environment.get(name)}


def _past_proxies(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """A client that asks a proxy for everything must not ask it for this machine; the way on to the model goes by the proxy as before."""
    if not any(environment.get(name) or environment.get(name.upper()) for name in ("http_proxy", "https_proxy", "all_proxy")):
        return {}
    host = urlsplit(url).hostname or ""
    return {name: ",".join(part for part in (environment.get(name, ""), host) if part) for name in ("NO_PROXY", "no_proxy")}


def _with_otlp(exporters: str) -> str:
    named = [name for part in exporters.split(",") if (name := part.strip()) and name != "none"]
    return ",".join(named if "otlp" in named else [*named, "otlp"])


def _with_token(environment: Mapping[str, str], token: str) -> dict[str, str]:
    requests = [line for line in (environment.get("ANTHROPIC_CUSTOM_HEADERS", ""), f"{TOKEN_HEADER}: {token}") if line]
    # What the client's own collector asks for is sent by whoever passes the telemetry on.
    exports = {f"OTEL_EXPORTER_OTLP_{signal}_HEADERS" for signal in _SIGNALS} & environment.keys() | {"OTEL_EXPORTER_OTLP_HEADERS"}
    return {
        "TRACEKIT_TOKEN": token,
        "ANTHROPIC_CUSTOM_HEADERS": "\n".join(requests),
        **dict.fromkeys(sorted(exports), f"authorization={quote(f'Bearer {token}')}"),
    }


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() in {"1", "true", "yes", "on"}
