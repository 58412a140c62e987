"""Putting our functions where a library's own stood, and the library's back where ours stand."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, NamedTuple


class _Done(NamedTuple):
    owner: Any
    name: str
    original: Any
    ours: Any


class Replacements:
    """What was replaced in a library, and can be put back.

    Attributes:
        active: Whether ours are to do anything: where others have wrapped ours meanwhile, they stay in place and only pass on.
    """

    def __init__(self) -> None:
        self.active = False
        self._done: list[_Done] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any], *, optional: bool = False) -> None:
        """Put what `make` makes of a function in its place.

        Args:
            owner: The class or module whose own it is.
            name: Its name there.
            make: Takes the function, gives the one that calls it.
            optional: Do without, where there is none of that name: of the library's own, which may go any day.

        Raises:
            LookupError: The owner has none of that name: the library has changed.
        """
        own = own_of(owner)
        if optional and name not in own:
            return
        original = own[name]
        ours: Any = make(original)
        update_wrapper(ours, original)
        setattr(owner, name, ours)
        self._done.append(_Done(owner, name, original, ours))
        self.active = True

    def restore(self) -> None:
        """Put everything back, the last first."""
        self.active = False
        while self._done:
            owner, name, original, ours = self._done.pop()
            if own_of(owner).get(name) is ours:
                setattr(owner, name, original)


def own_of(owner: Any) -> dict[str, Any]:
    """What a class or a module has of its own, and does not inherit."""
    return dict[str, Any](owner.__dict__)
