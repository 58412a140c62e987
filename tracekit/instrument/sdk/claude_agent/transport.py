"""The seam: the SDK's `Transport`, its own one and those that users give it."""

from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from tracekit.instrument.guard import blame
from tracekit.instrument.runtime import RUNTIME
from tracekit.instrument.sdk.claude_agent.wire import Wire
from tracekit.instrument.sdk.replacing import Replacements

_WIRES: Final[WeakKeyDictionary[Any, Wire]] = WeakKeyDictionary()
"""By transport: from `connect` to `close`."""

_INSIDE: Final[WeakSet[Any]] = WeakSet()
"""Transports of the SDK's own kind that a user gave it: they are followed from outside."""

Function = Callable[..., Any]


async def connecting(transport: Any, connect: Callable[[], Any]) -> None:
    """Connect a transport, and follow it from here on."""
    wire = _WIRES[transport] = Wire(RUNTIME.clock())
    try:
        await connect()
    except BaseException as error:
        wire.not_connected(error)
        raise


async def writing(transport: Any, data: str, write: Callable[[str], Any]) -> None:
    """Write what the host says."""
    wire = _WIRES.get(transport)
    if wire is not None:
        wire.writing(data)
    await write(data)


def reading(transport: Any, messages: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Read what the client says."""
    wire = _WIRES.get(transport)
    return messages if wire is None else wire.reading(messages)


async def closing(transport: Any, close: Callable[[], Any]) -> None:
    """Close a transport."""
    try:
        await close()
    finally:
        wire = _WIRES.pop(transport, None)
        if wire is not None:
            wire.closed()


class Followed:
    """A user's own transport, followed. All else of it is as it is.

    Args:
        inner: The user's.
        replacements: Whether anything is followed at all.
    """

    def __init__(self, inner: Any, replacements: Replacements) -> None:
        self._inner = inner
        self._replacements = replacements

    def __getattr__(self, name: str) -> Any:
        """Give what the user's transport has beside the interface."""
        return getattr(self._inner, name)

    async def connect(self) -> None:
        """Connect."""
        if self._replacements.active:
            await connecting(self, self._inner.connect)
        else:
            await self._inner.connect()

    async def write(self, data: str) -> None:
        """Write."""
        await writing(self, data, self._inner.write)

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Read."""
        return reading(self, self._inner.read_messages())

    async def close(self) -> None:
        """Close."""
        await closing(self, self._inner.close)

    def is_ready(self) -> bool:
        """Whether it is connected."""
        return bool(self._inner.is_ready())

    async def end_input(self) -> None:
        """Say that nothing more will be written."""
        await self._inner.end_input()


class Seams:
    """The places in the SDK that are wrapped."""

    def __init__(self, replacements: Replacements) -> None:
        sdk: Any = import_module("claude_agent_sdk")
        self._client = sdk.ClaudeSDKClient
        self._one_shot = import_module("claude_agent_sdk._internal.client").InternalClient
        self._query = import_module("claude_agent_sdk._internal.query").Query
        self._own = import_module("claude_agent_sdk._internal.transport.subprocess_cli").SubprocessCLITransport
        self._stamped: Any = type("StampedTransport", (Followed, sdk.Transport), {})
        self._replacements = replacements

    def put_in(self) -> None:
        """Wrap them."""
        replace = self._replacements.replace
        replace(self._own, "connect", lambda original: _connect(original, self._replacements))
        replace(self._own, "write", lambda original: _write(original, self._replacements))
        replace(self._own, "read_messages", lambda original: _read_messages(original, self._replacements))
        replace(self._own, "close", lambda original: _close(original, self._replacements))
        replace(self._client, "__init__", self._making_client)
        replace(self._one_shot, "process_query", self._processing_query)
        commanding = "_send_control_request"
        replace(self._query, commanding, lambda original: _send_control_request(original, self._replacements), optional=True)

    def _making_client(self, original: Function) -> Function:
        followed = self._followed

        def __init__(self: Any, options: Any = None, transport: Any = None) -> None:  # noqa: N807  (the name of what it stands for)
            original(self, options, followed(transport))

        return __init__

    def _processing_query(self, original: Function) -> Function:
        followed = self._followed

        def process_query(self: Any, prompt: Any, options: Any, transport: Any = None) -> Any:
            return original(self, prompt, options, followed(transport))

        return process_query

    def _followed(self, transport: Any) -> Any:
        """A user's transport as the SDK is to have it."""
        if transport is None or not self._replacements.active or isinstance(transport, Followed):
            return transport
        if isinstance(transport, self._own):
            _INSIDE.add(transport)
        return self._stamped(transport, self._replacements)


def _connect(original: Function, replacements: Replacements) -> Function:
    async def connect(self: Any) -> None:
        if replacements.active and self not in _INSIDE:
            await connecting(self, lambda: original(self))
        else:
            await original(self)

    return connect


def _write(original: Function, replacements: Replacements) -> Function:
    async def write(self: Any, data: str) -> None:
        if replacements.active:
            await writing(self, data, lambda data: original(self, data))
        else:
            await original(self, data)

    return write


def _read_messages(original: Function, replacements: Replacements) -> Function:
    def read_messages(self: Any) -> AsyncIterator[dict[str, Any]]:
        messages: AsyncIterator[dict[str, Any]] = original(self)
        return reading(self, messages) if replacements.active else messages

    return read_messages


def _close(original: Function, replacements: Replacements) -> Function:
    async def close(self: Any) -> None:
        if replacements.active:
            await closing(self, lambda: original(self))
        else:
            await original(self)

    return close


def _send_control_request(original: Function, replacements: Replacements) -> Function:
    async def _send_control_request(self: Any, request: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        wire = _wire_of(self) if replacements.active else None
        if wire is None:
            return await original(self, request, *args, **kwargs)
        subtype = str(request.get("subtype"))
        wire.commanded(subtype)
        try:
            answer = await original(self, request, *args, **kwargs)
        except Exception as error:
            wire.disobeyed(subtype, error)
            raise
        wire.obeyed(subtype)
        return answer

    return _send_control_request


def _wire_of(query: Any) -> Wire | None:
    try:
        return _WIRES.get(query.transport)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is ours)
        blame(error)
        return None
