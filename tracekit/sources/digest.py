"""Contents as sizes and digests: what is stored of a text that itself is not."""

import json

import orjson

from tracekit.model.digest import digest

__all__ = ["digest", "json_bytes"]


def json_bytes(value: object) -> bytes:
    """A value as JSON, also where it holds lone surrogates or numbers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()
