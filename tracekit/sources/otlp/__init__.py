"""OTLP bodies, in protobuf or JSON, to observations.

Read are Claude Code's own spans and events, and the spans of any agent that follows the GenAI, MCP or OpenInference
conventions. Metrics are recognised and passed over: they say nothing of a single boundary.
"""

from tracekit.sources.otlp.json_form import looks_like_otlp_json
from tracekit.sources.otlp.protobuf import decode_protobuf, looks_like_otlp_protobuf
from tracekit.sources.otlp.reading import Kept, read, read_group, read_json_lines, read_kept, read_protobuf
from tracekit.sources.otlp.records import Place

__all__ = [
    "Kept",
    "Place",
    "decode_protobuf",
    "looks_like_otlp_json",
    "looks_like_otlp_protobuf",
    "read",
    "read_group",
    "read_json_lines",
    "read_kept",
    "read_protobuf",
]
