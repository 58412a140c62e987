"""Findings for spreadsheets: comma-separated values under the names of their fields."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.model import Finding


def sheet(findings: Sequence[Finding | Mapping[str, Any]]) -> str:
    """Write one line a finding below a line of field names. Numbers are as stored, an unknown is empty."""
    rows = [finding.as_row() if isinstance(finding, Finding) else finding for finding in findings]
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().removesuffix("\n")
