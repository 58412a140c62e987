"""`tracekit.instrument()` and its inverse, and the ways in which a program may have set up OpenTelemetry itself."""

import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracekit
from tracekit.instrument import current, instrument, model_request, session, setup, turn, uninstrument
from tracekit.instrument.otel import SpoolExporter, SpoolProcessor
from tracekit.instrument.runtime import RUNTIME
from tracekit.spool import Spool

if TYPE_CHECKING:
    from tests.instrument.conftest import World

ROOT = Path(__file__).parents[2]


def processors(provider: TracerProvider) -> tuple[object, ...]:
    several: Any = vars(provider)["_active_span_processor"]
    found: tuple[object, ...] = several._span_processors
    return found


@pytest.fixture
def globally(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[trace.TracerProvider | None], None]]:
    """Set what the whole process traces to, and take it back."""

    def put(provider: trace.TracerProvider | None) -> None:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    put(None)
    yield put
    uninstrument()


def test_the_room_is_the_call(tmp_path: Path) -> None:
    tracekit.instrument(spool=tmp_path, libraries=())
    with turn("p"):
        pass
    tracekit.uninstrument()
    assert len(list(tmp_path.iterdir())) == 1


def test_instrumenting_twice_changes_nothing_and_uninstrumenting_takes_back_all(bare: "World") -> None:
    before = processors(bare.provider)
    bare.instrument()
    once = processors(bare.provider)
    bare.instrument(spool=bare.spool / "elsewhere")
    assert processors(bare.provider) == once
    assert len(once) == len(before) + 1
    with turn("p"):
        uninstrument()
        uninstrument()
    assert processors(bare.provider) == before
    assert [row["end_ns"] for row in bare.rows()] == [None]
    assert (RUNTIME.recorder, RUNTIME.provider, RUNTIME.content) == (None, None, False)


def test_after_it_was_taken_back_it_can_be_put_in_again(bare: "World") -> None:
    bare.instrument()
    uninstrument()
    with turn("unseen"):
        pass
    bare.instrument()
    with turn("seen"):
        pass
    assert {row["key"] for row in bare.rows()} == {"seen"}


def test_resource_sampling_and_exporters_are_the_users(tmp_path: Path, globally: Callable[[object], None]) -> None:
    backend = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "my-agent"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(backend))
    globally(provider)
    instrument(spool=tmp_path, libraries=())
    with turn("p"):
        pass
    (span,) = backend.get_finished_spans()
    assert span.resource.attributes["service.name"] == "my-agent"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_the_users_sampler_leaves_out_is_left_out_here_too(tmp_path: Path, globally: Callable[[object], None]) -> None:
    globally(TracerProvider(sampler=sampling.ALWAYS_OFF, shutdown_on_exit=False))
    instrument(spool=tmp_path, libraries=())
    with turn("p") as asked:
        assert current() is asked
    assert list(tmp_path.iterdir()) == []


def test_without_a_provider_there_is_one_of_our_own_and_the_programs_place_stays_free(
    tmp_path: Path, globally: Callable[[object], None]
) -> None:
    globally(None)
    instrument(spool=tmp_path, libraries=())
    with turn("p"):
        pass
    assert len(list(tmp_path.iterdir())) == 1
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def test_a_provider_that_is_set_up_later_gets_the_spans_from_then_on(tmp_path: Path, globally: Callable[[object], None]) -> None:
    globally(None)
    instrument(spool=tmp_path, libraries=())
    with turn("before"):
        pass
    backend = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(backend))
    globally(provider)
    with turn("after"):
        pass
    assert [(span.attributes or {})["tracekit.key"] for span in backend.get_finished_spans()] == ["after"]
    (file,) = tmp_path.iterdir()
    assert [line.count('"before"') for line in file.read_text().splitlines()].count(0) == 2
    uninstrument()
    assert len(processors(provider)) == 1


def test_without_instrumenting_the_spans_go_to_the_programs_own_provider(globally: Callable[[object], None]) -> None:
    backend = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(backend))
    globally(provider)
    with session("s"), turn("p"), model_request("m"):
        pass
    assert [span.name for span in backend.get_finished_spans()] == ["chat m", "invoke_agent", "tracekit.session"]


def test_the_exporter_alone_keeps_what_ended(bare: "World") -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(SpoolExporter(Spool(bare.spool, "agent"))))
    RUNTIME.provider = provider
    with session("s"), turn("p"), model_request("m") as request:
        request.response(id="msg_1")
        provider.get_tracer("mine").start_span("no boundary").end()
    RUNTIME.reset()
    provider.shutdown()
    assert [(row["boundary"], row["key"], row["end_ns"] is None) for row in bare.rows()] == [
        ("model_request", "msg_1", False),
        ("turn", "p", False),
        ("session", "s", False),
    ]


def test_the_environments_names_lead_to_what_they_name() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert points["opentelemetry_traces_exporter"] == {"tracekit": f"{SpoolExporter.__module__}:{SpoolExporter.__name__}"}
    instrumentors = {f"{module}:{name}" for module, name in setup.LIBRARIES.values() if importlib.util.find_spec(module)}
    assert set(points["opentelemetry_instrumentor"].values()) == instrumentors


def test_a_program_that_only_names_the_exporter_in_its_environment(tmp_path: Path) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    installed = tmp_path / "site" / "agent_tracekit-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: agent-tracekit\nVersion: 0\n")
    lines = [line for group, names in points.items() for line in (f"[{group}]", *(f"{name} = {place}" for name, place in names.items()))]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    script = """
from opentelemetry import trace
from opentelemetry.sdk._configuration import _OTelSDKConfigurator
_OTelSDKConfigurator().configure()
from tracekit.instrument import turn
with turn("p", agent="helper"):
    pass
trace.get_tracer_provider().shutdown()
"""
    environment = os.environ | {
        "OTEL_TRACES_EXPORTER": "tracekit",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'site'}",
        "TRACEKIT_SPOOL": str(tmp_path / "spool"),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=60)
    (file,) = (tmp_path / "spool").iterdir()
    (row,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (row["boundary"], row["key"], row["name"], row["status"]) == ("turn", "p", "helper", "ok")


def test_where_the_spool_is_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEKIT_SPOOL", str(tmp_path / "mine"))
    instrument(libraries=())
    with turn("p"):
        pass
    uninstrument()
    (file,) = (tmp_path / "mine").iterdir()
    assert file.name.startswith("agent-")


# Libraries -------------------------------------------------------------------------------------------------------------


class Instrumentor:
    """Stands for one of a library."""

    calls: list[str] = []  # noqa: RUF012  (shared on purpose)
    is_instrumented_by_opentelemetry = False

    def instrument(self, **_: Any) -> None:
        self.calls.append("instrument")

    def uninstrument(self) -> None:
        self.calls.append("uninstrument")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A library that is installed and not loaded."""
    name = f"library_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text("loaded = True\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(Instrumentor, "calls", [])
    monkeypatch.setattr(setup, "LIBRARIES", {name: (__name__, "Instrumentor")})
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, sys.modules["__main__"]))
    monkeypatch.setattr(sys.modules[__name__], "Instrumentor", Instrumentor, raising=False)
    yield name
    uninstrument()


def test_a_library_is_instrumented_when_it_is_loaded_and_not_loaded_for_it(library: str, tmp_path: Path) -> None:
    instrument(spool=tmp_path / "spool")
    assert (Instrumentor.calls, library in sys.modules) == ([], False)
    __import__(library)
    assert Instrumentor.calls == ["instrument"]
    uninstrument()
    assert Instrumentor.calls == ["instrument", "uninstrument"]
    instrument(spool=tmp_path / "spool")
    assert Instrumentor.calls == ["instrument", "uninstrument", "instrument"]


def test_a_library_that_was_not_asked_for_is_left_alone(library: str, tmp_path: Path) -> None:
    instrument(spool=tmp_path / "spool", libraries=())
    __import__(library)
    assert Instrumentor.calls == []


def test_a_library_that_is_loaded_when_all_is_taken_back_is_left_alone(library: str, tmp_path: Path) -> None:
    instrument(spool=tmp_path / "spool")
    uninstrument()
    __import__(library)
    assert Instrumentor.calls == []


def test_a_library_that_nobody_knows_is_told_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(tracekit.TracekitError, match="anthropic, claude_agent_sdk, mcp"):
        instrument(spool=tmp_path, libraries=["antropic"])
    assert RUNTIME.recorder is None


# What it costs to load -------------------------------------------------------------------------------------------------


def test_loading_the_room_loads_no_sdk_and_no_library() -> None:
    names = ("opentelemetry.sdk", "anthropic", "mcp", "claude_agent_sdk", "asyncio", "duckdb", "polars", "plotly", "typer", "rich")
    script = f"import sys, tracekit.instrument; print(*sorted(set({names!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_instrumenting_loads_no_library_and_no_warehouse(tmp_path: Path) -> None:
    names = ("anthropic", "mcp", "claude_agent_sdk", "duckdb", "polars", "plotly", "typer", "rich")
    script = f"""
import sys, pathlib, tracekit
tracekit.instrument(spool=pathlib.Path({str(tmp_path)!r}))
print(*sorted(set({names!r}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_processor_that_was_shut_down_writes_no_more(tmp_path: Path) -> None:
    processor = SpoolProcessor(Spool(tmp_path, "agent"))
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    processor.shutdown()
    RUNTIME.provider = provider
    with turn("p"):
        pass
    RUNTIME.reset()
    assert list(tmp_path.iterdir()) == []
    assert processor.force_flush()
