"""A hook's reply: whether one came, and what it says, which are two facts."""

from collections.abc import Mapping
from typing import Final

from tracekit.instrument.endings import Ending
from tracekit.instrument.guard import guarded
from tracekit.instrument.handle import Handle, Told
from tracekit.model import NO_ATTRIBUTES, Boundary, Status, semconv
from tracekit.model.redact import error_text

NO_OPINION: Final = "none"
"""The decision of a hook that leaves it to the others."""
UNKNOWN_CALLBACK: Final = "unknown_callback"
_BLOCKS: Final = frozenset({"deny", "block"})
_BAD: Final = 400


class HookReply(Handle):
    """The hooks of one event run, and their client waits. See `hook_reply`."""

    boundary = Boundary.HOOK_REPLY

    def __init__(
        self,
        event: str,
        name: str,
        *,
        run_id: str | None = None,
        tool_use_id: str | None = None,
        parent: Handle | None = None,
        attributes: Mapping[str, Told] = NO_ATTRIBUTES,
    ) -> None:
        said: dict[str, Told] = {semconv.HOOK_EVENT: event, semconv.HOOK_NAME: name, **attributes}
        super().__init__(f"tracekit.hook {event}", key=run_id, parent=parent, attributes=said)
        self._tool_use_id = tool_use_id
        self._transport: str | None = None
        self._decision: str | None = None

    @guarded
    def transport(self, status: str | int) -> None:
        """Whether a reply came.

        Args:
            status: `ok`, `timeout`, `error`, or the HTTP status of the reply.
        """
        self._transport = str(status)

    @guarded
    def decision(self, value: str | None) -> None:
        """What the reply says. A refusal is a reply like any other, and no failure of the hook.

        Args:
            value: `allow`, `deny`, `ask`, `block`, …; None: the hook has no opinion, which is a decision too.
        """
        self._decision = NO_OPINION if value is None else value

    @guarded
    def unknown_callback(self, callback_id: str = "") -> None:
        """The client asked for a hook that its host does not know: nobody is behind the id, and nothing was decided."""
        self._transport = UNKNOWN_CALLBACK
        self.say({semconv.ERROR_TYPE: UNKNOWN_CALLBACK, semconv.ERROR_TEXT: error_text(f"No hook callback found for ID: {callback_id}")})

    def _close(self, ending: Ending) -> None:
        error, said = ending.error, ending.said
        if error is not None and self._transport is None:
            self._transport = "error"
        if self._transport is None and self._decision is not None:
            self._transport = "ok"
        if self._transport is not None:
            said[semconv.HOOK_TRANSPORT] = self._transport
        if self._decision is not None:
            said[semconv.HOOK_DECISION] = self._decision
        outcome = self._said_outcome(error)
        if outcome is not None:
            said[semconv.HOOK_OUTCOME] = outcome

    def _said_outcome(self, error: BaseException | None) -> str | None:
        """In the words of `semconv.HOOK_OUTCOME`."""
        if error is not None and super()._outcome(error) is Status.CANCELLED:
            return "cancelled"
        if self._transport == "timeout":
            return "timeout"
        if self._has_no_reply:
            return "error"
        return "blocking" if self._decision in _BLOCKS else "success" if self._decision is not None else None

    @property
    def _has_no_reply(self) -> bool:
        transport = self._transport
        if transport is None or transport == "ok":
            return False
        return int(transport) >= _BAD if transport.isdecimal() else True

    def _outcome(self, error: BaseException | None) -> Status:
        return Status.ERROR if error is None and self._has_no_reply else super()._outcome(error)

    def _part_of(self) -> str | None:
        call = self._tool_use_id or self._outer.tool
        if call is not None:
            self._to_say[semconv.HOOK_TOOL] = call
        return call or self._outer.around


def hook_reply(
    event: str,
    name: str,
    *,
    run_id: str | None = None,
    tool_use_id: str | None = None,
    parent: Handle | None = None,
    attributes: Mapping[str, Told] = NO_ATTRIBUTES,
) -> HookReply:
    """The hooks of one event run, and their client waits for the answer.

    Args:
        event: `PreToolUse`, `Stop`, ….
        name: The hook's, or the event's with what it matched: `PreToolUse:Bash`.
        run_id: Id of this run; None: it has none.
        tool_use_id: The call that it is about; None: the one that the code stands in.
        parent: What it is part of; None: what the code stands in.
        attributes: More to be known of it, by the names of `semconv`.
    """
    return HookReply(event, name, run_id=run_id, tool_use_id=tool_use_id, parent=parent, attributes=attributes)
