"""A spreadsheet gets a line a boundary, and calculates nothing."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from tests.exporters.world import HOSTILE, at, rows, session, trace
from tracekit_exporters import csv as exporter


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_a_session_as_it_is_written(golden: Callable[[str, str], None]) -> None:
    golden("exporters/boundaries.csv", "".join(exporter.export(trace(session()))))


def test_every_boundary_comes_back_from_the_csv_module() -> None:
    found = _read("".join(exporter.export(trace(session()))))
    expected = rows(session())
    assert [row["key"] for row in found] == [row.key for row in expected]
    (first, *_, last) = found
    assert int(first["start_ns"]) == at(0)
    assert (last["end_ns"], last["agent_id"]) == ("", "")
    assert [json.loads(row["attributes"]) for row in found] == [dict(row.attributes) for row in expected]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert(text: str) -> None:
    hostile = [
        one._replace(
            name=text, key=one.key + text, parent_key=text, agent_id=text, session_id=f"s{text}", attributes={"tracekit.error.text": text}
        )
        for one in session()
    ]
    written = "".join(exporter.export(trace(hostile)))
    found = _read(written)
    assert len(found) == len(hostile)
    assert not set(written) & {"\x1b", "\x00", "\x9b", "\u202e", "\t"}
    for row in found:
        for name, cell in row.items():
            assert cell[:1] not in set("=+-@\t\r") - ({"-"} if name.endswith("_ns") else set())
            assert len(cell) <= 32_767


def test_a_text_that_is_no_formula_stays_as_it_is() -> None:
    (row,) = _read("".join(exporter.export(trace([session()[0]._replace(name="read=write")]))))
    assert row["name"] == "read=write"
