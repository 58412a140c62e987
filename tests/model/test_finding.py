"""A finding says what its fields are, so that one renderer prints them all."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated

import pytest

from tracekit.model import Column, Finding


@dataclass(frozen=True, slots=True)
class Pause(Finding):
    """Something that took a while."""

    session: Annotated[str, Column("Session")]
    lasted_ns: Annotated[int | None, Column("Lasted", "ns")]
    raw: Annotated[str, "a note of somebody else", Column("Raw", show=False)]
    plain: int = 0


@dataclass(frozen=True, slots=True)
class LongPause(Pause):
    """A pause with a field of its own."""

    reason: Annotated[str, Column("Reason")] = ""


def test_columns_are_the_fields_in_order() -> None:
    assert Pause.columns() == {
        "session": Column("Session"),
        "lasted_ns": Column("Lasted", "ns"),
        "raw": Column("Raw", show=False),
        "plain": Column("plain"),
    }
    assert list(Pause.columns()) == ["session", "lasted_ns", "raw", "plain"]


def test_a_derived_finding_has_the_columns_of_both() -> None:
    assert list(LongPause.columns()) == ["session", "lasted_ns", "raw", "plain", "reason"]


def test_what_is_no_field_is_no_column() -> None:
    assert "question" not in Pause.columns()
    assert Finding.columns() == {}


def test_a_row_becomes_a_finding_and_a_row_again() -> None:
    row = {"session": "s", "lasted_ns": None, "raw": "r", "plain": 3}
    assert Pause.from_row({**row, "of another question": 1}).as_row() == row
    assert json.loads(json.dumps(Pause.from_row(row).as_row())) == row


def test_a_row_that_lacks_a_field_is_refused() -> None:
    with pytest.raises(KeyError, match="raw"):
        Pause.from_row({"session": "s", "lasted_ns": 1, "plain": 0})


def test_a_finding_cannot_be_altered() -> None:
    pause = Pause("s", 1, "r")
    with pytest.raises(dataclasses.FrozenInstanceError):
        pause.lasted_ns = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
