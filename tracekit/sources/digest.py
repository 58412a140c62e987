"""Contents as sizes and digests: what is stored of a text that itself is not."""

import hashlib
import json

import orjson


def json_bytes(value: object) -> bytes:
    """A value as JSON, also where it holds lone surrogates or numbers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def digest(data: bytes) -> str:
    """Sixteen hex digits that are equal for equal bytes, and say nothing of them."""
    return hashlib.sha256(data).hexdigest()[:16]
