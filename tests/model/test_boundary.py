"""Every boundary promises something, in words and in attributes that exist."""

import re

import pytest

from tracekit.model import CONTRACTS, Boundary, Contract, semconv

NAMES = {value for name, value in vars(semconv).items() if name.isupper()}
SIX_OF_THE_MISSION = {"model_request", "stream_event", "tool_schedule", "mcp_call", "hook_reply", "compaction"}


def test_every_boundary_has_a_contract() -> None:
    assert list(CONTRACTS) == list(Boundary)


def test_the_six_of_the_mission_are_boundaries() -> None:
    assert set(Boundary) >= SIX_OF_THE_MISSION


@pytest.mark.parametrize("boundary", Boundary)
def test_a_boundary_carries_attributes_that_have_a_name(boundary: Boundary) -> None:
    carries = CONTRACTS[boundary].carries
    assert carries
    assert set(carries) <= NAMES
    assert len(set(carries)) == len(carries)


@pytest.mark.parametrize("boundary", Boundary)
def test_a_contract_leaves_nothing_unsaid(boundary: Boundary) -> None:
    contract = CONTRACTS[boundary]
    words = [getattr(contract, field) for field in Contract._fields if field != "carries"]
    assert all(word.strip() for word in words)
    assert contract.meaning.endswith(".")


def test_attribute_names_are_unique_and_well_formed() -> None:
    names = {name: value for name, value in vars(semconv).items() if name.isupper()}
    assert len(set(names.values())) == len(names)
    assert [value for value in names.values() if not re.fullmatch(r"[a-z][a-z0-9_.]*", value)] == []
    # What stands inside an event needs no namespace.
    assert [value for name, value in names.items() if "." not in value and not name.startswith("EVENT_")] == []
