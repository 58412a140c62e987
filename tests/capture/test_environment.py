"""What a client finds in its environment leads it here, and away from nothing that it had."""

import pytest

from tracekit.capture.environment import Collector, collector, route, variables

URL = "http://127.0.0.1:4000"


def found(environment: dict[str, str], **more: object) -> dict[str, str]:
    return variables(environment, url=URL, spool="/spool", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("environment", "variable", "upstream"),
    [
        ({}, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        ({"ANTHROPIC_BASE_URL": "http://llm:4000/anthropic"}, "ANTHROPIC_BASE_URL", "http://llm:4000/anthropic"),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, "ANTHROPIC_VERTEX_BASE_URL", "https://us-east5-aiplatform.googleapis.com/v1"),
        (
            {"CLAUDE_CODE_USE_VERTEX": "true", "CLOUD_ML_REGION": "global"},
            "ANTHROPIC_VERTEX_BASE_URL",
            "https://aiplatform.googleapis.com/v1",
        ),
        ({"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_BASE_URL": "http://v/v1"}, "ANTHROPIC_VERTEX_BASE_URL", "http://v/v1"),
        ({"CLAUDE_CODE_USE_VERTEX": "1", "VERTEX_REGION_CLAUDE_4_5_SONNET": "eu"}, "ANTHROPIC_VERTEX_BASE_URL", None),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "http://b"}, "ANTHROPIC_BEDROCK_BASE_URL", "http://b"),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "eu-central-1"},
            "ANTHROPIC_BEDROCK_BASE_URL",
            "https://bedrock-runtime.eu-central-1.amazonaws.com",
        ),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-central-1"}, "ANTHROPIC_BEDROCK_BASE_URL", None),
        (
            {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "ours"},
            "ANTHROPIC_FOUNDRY_BASE_URL",
            "https://ours.services.ai.azure.com/anthropic",
        ),
        ({"CLAUDE_CODE_USE_FOUNDRY": "1"}, "ANTHROPIC_FOUNDRY_BASE_URL", None),
    ],
)
def test_requests_come_by_here_and_go_on_to_where_they_went(environment: dict[str, str], variable: str, upstream: str | None) -> None:
    way = route(environment)
    assert (way.variable, way.upstream, bool(way.why_not)) == (variable, upstream, upstream is None)
    assert found(environment).get(variable) == (URL if upstream else None)


def test_a_signed_request_is_left_alone_and_the_other_witnesses_still_record() -> None:
    environment = {"CLAUDE_CODE_USE_BEDROCK": "1"}
    assert not [name for name in found(environment) if name.endswith("_BASE_URL")]
    assert "signed" in route(environment).why_not
    assert found(environment)["OTEL_EXPORTER_OTLP_ENDPOINT"] == URL


def test_telemetry_comes_here_over_http_and_soon() -> None:
    given = found({})
    assert given["CLAUDE_CODE_ENABLE_TELEMETRY"] == given["CLAUDE_CODE_ENHANCED_TELEMETRY_BETA"] == "1"
    assert {given[f"OTEL_{signal}_EXPORTER"] for signal in ("TRACES", "LOGS", "METRICS")} == {"otlp"}
    assert (given["OTEL_EXPORTER_OTLP_PROTOCOL"], given["OTEL_EXPORTER_OTLP_ENDPOINT"]) == ("http/protobuf", URL)
    assert int(given["OTEL_TRACES_EXPORT_INTERVAL"]) <= 1000


def test_exporters_of_the_clients_own_are_kept_and_settings_of_one_signal_give_way() -> None:
    environment = {
        "OTEL_METRICS_EXPORTER": "prometheus",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_TRACES_EXPORTER": "otlp, console",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc",
        "OTEL_LOGS_EXPORT_INTERVAL": "250",
    }
    given = found(environment)
    assert [given[f"OTEL_{signal}_EXPORTER"] for signal in ("METRICS", "LOGS", "TRACES")] == ["prometheus,otlp", "otlp", "otlp,console"]
    assert given["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == f"{URL}/v1/traces"
    assert given["OTEL_EXPORTER_OTLP_LOGS_PROTOCOL"] == "http/protobuf"
    assert "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" not in given
    assert "OTEL_LOGS_EXPORT_INTERVAL" not in given


def test_a_proxy_is_not_asked_for_what_is_on_this_machine() -> None:
    given = found({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "intern.example"})
    assert (given["NO_PROXY"], given["no_proxy"]) == ("intern.example,127.0.0.1", "127.0.0.1")
    assert "NO_PROXY" not in found({})


def test_the_client_treats_the_host_that_it_knows_as_before() -> None:
    name = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
    assert name in found({})
    assert name in found({"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"})
    assert name not in found({"ANTHROPIC_BASE_URL": "https://gateway.example"})
    assert name not in found({"CLAUDE_CODE_USE_VERTEX": "1"})


def test_contents_are_asked_for_only_when_wanted_and_never_on_the_way_to_another_collector() -> None:
    assert not [name for name in found({}) if name.startswith("OTEL_LOG_")]
    assert found({}, content=True)["OTEL_LOG_TOOL_CONTENT"] == found({}, content=True)["TRACEKIT_CONTENT"] == "1"
    elsewhere = found({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, content=True)
    assert not [name for name in elsewhere if name.startswith("OTEL_LOG_")]


def test_recorders_inside_find_the_spool_the_store_and_the_server() -> None:
    given = found({}, store="/s.duckdb")
    assert (given["TRACEKIT_SPOOL"], given["TRACEKIT_STORE"], given["TRACEKIT_URL"]) == ("/spool", "/s.duckdb", URL)
    assert "TRACEKIT_STORE" not in found({})


def test_a_token_comes_with_requests_and_with_telemetry() -> None:
    environment = {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: a", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=b"}
    given = found(environment, token="t0ken")  # noqa: S106  (a test's own)
    assert given["ANTHROPIC_CUSTOM_HEADERS"].splitlines() == ["X-Team: a", "X-Tracekit-Token: t0ken"]
    assert given["OTEL_EXPORTER_OTLP_HEADERS"] == "authorization=Bearer%20t0ken"
    assert given["TRACEKIT_TOKEN"] == "t0ken"
    assert "ANTHROPIC_CUSTOM_HEADERS" not in found({})


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({}, None),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=b%20c, x=1"},
            Collector("http://c:4318", {"api-key": "b c", "x": "1"}),
        ),
        (
            {f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT": f"https://c/otlp/v1/{signal.lower()}" for signal in ("TRACES", "LOGS")},
            Collector("https://c/otlp", {}),
        ),
    ],
)
def test_where_telemetry_went_so_far_is_known(environment: dict[str, str], known: Collector | None) -> None:
    assert collector(environment) == known


def test_what_cannot_be_passed_on_says_why() -> None:
    grpc = collector({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert grpc is not None
    assert "gRPC" in grpc.why_not
    two = collector({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://d:4318/v1/logs"})
    assert two is not None
    assert "of its own" in two.why_not
