"""What OTLP carries, and in which forms."""

from enum import StrEnum
from typing import Final, NamedTuple

PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"


class Signal(StrEnum):
    """The signals, by the last part of their path."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


class Body(NamedTuple):
    """What a sender sent, decompressed."""

    signal: Signal
    content_type: str
    data: bytes
    received_ns: int
    marks: str = ""
    """Who passed it on before."""
