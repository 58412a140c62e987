"""Contents as digests: what may be kept of a text that itself is not."""

import hashlib
import json


def digest(data: bytes) -> str:
    """Sixteen hex digits that are equal for equal bytes, and say nothing of them."""
    return hashlib.sha256(data).hexdigest()[:16]


def compact_json(value: object) -> bytes:
    """A value as JSON without spaces, by the standard library alone: recorders in the agent's process load nothing else.

    Examples:
        >>> compact_json({"command": "ls", "timeout": 5})
        b'{"command":"ls","timeout":5}'
    """
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value).encode()
