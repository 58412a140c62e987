"""Recorders without orjson and sources with it give equal contents equal digests."""

from hypothesis import given
from hypothesis import strategies as st

from tracekit.model.digest import compact_json, digest
from tracekit.sources.digest import json_bytes

# Numbers with an exponent are written differently; tool arguments hold none.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6).map(lambda number: round(number, 3)) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(VALUES)
def test_both_write_the_same_bytes(value: object) -> None:
    assert compact_json(value) == json_bytes(value)


def test_half_a_surrogate_pair_is_written_the_same_way() -> None:
    value = {"command": "echo \ud83d"}
    assert compact_json(value) == json_bytes(value)


def test_a_digest_is_sixteen_hex_digits_of_the_content() -> None:
    assert digest(b"") == "e3b0c44298fc1c14"
