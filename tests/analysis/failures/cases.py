"""Tables of failures: one a line, tabs between the columns, line ends inside a text written as a backslash and n."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracekit.analysis.failures import Evidence

DATA = Path(__file__).parents[2] / "data" / "failures"

Case = dict[str, str]


def read(path: Path) -> list[Case]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def unescaped(cases: Iterable[Case]) -> list[Case]:
    """The cases with real line ends in their texts, as software printed them."""
    return [case | {"error_text": case["error_text"].replace("\\n", "\n").replace("\\t", "\t")} for case in cases]


def report(case: Case) -> dict[str, Any]:
    """What is known of a case, as `tracekit classify` reads it."""
    return {name: case[name] for name in ("error_text", "layer", "http_status", "error_type") if case[name]}


def lines(cases: Iterable[Case]) -> bytes:
    return b"".join(json.dumps(report(case)).encode() + b"\n" for case in cases)


def evidence(case: Case) -> Evidence:
    status = int(case["http_status"]) if case["http_status"] else None
    return Evidence(case["error_text"], layer=case["layer"] or None, http_status=status, error_type=case["error_type"] or None)
