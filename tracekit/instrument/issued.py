"""Which request a tool call was asked for by: the code that runs a tool rarely stands in the request whose stream it reads."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")
_KEPT: Final = 1_024
"""Calls that may still be run: parallel agents have some dozens."""


class Issued(Generic[Request]):
    """The newest tool calls that models asked for in this process. Its steps are single ones, so that threads may share it."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, Request] = OrderedDict()

    def add(self, tool_use_id: str, request: Request) -> None:
        """A response asks for a call."""
        self._requests[tool_use_id] = request
        if len(self._requests) > _KEPT:
            self._requests.popitem(last=False)

    def by(self, tool_use_id: str | None) -> Request | None:
        """The request that asked for a call; None where no response was seen to."""
        return self._requests.get(tool_use_id) if tool_use_id is not None else None
