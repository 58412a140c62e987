"""For other programs: each exporter is one file that writes sessions in a form that some program reads.

`tracekit.report` is for eyes. OpenTelemetry calls the in-process end of its SDK an exporter too; that one is another thing.
"""

from typing import Final

from tracekit_exporters import csv, junit, otlp, perfetto, prometheus
from tracekit_exporters.trace import Answers, BoundaryRow, Exporter, SessionTrace, Trace

__all__ = ["EXPORTERS", "GROUP", "Answers", "BoundaryRow", "Exporter", "SessionTrace", "Trace"]

GROUP: Final = "tracekit.exporters"
"""The entry points under which other distributions offer theirs: a name, and a function as `Exporter` describes it."""

EXPORTERS: Final[dict[str, Exporter]] = {
    "csv": csv.export,
    "junit": junit.export,
    "otlp": otlp.export,
    "perfetto": perfetto.export,
    "prometheus": prometheus.export,
}
"""Every format that is written as text."""
