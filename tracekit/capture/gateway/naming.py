"""Names for what the world has not named yet: the gateway's own, and nobody else's."""

from itertools import count
from typing import Final
from uuid import uuid4

_OURS: Final = uuid4()
_NUMBERS: Final = count(1)


def fresh(kind: str) -> str:
    """A name that is given once: `exchange:UUID.7`."""
    return f"{kind}:{_OURS}.{next(_NUMBERS)}"
