"""What single entries of a transcript say, whatever stands around them."""

from typing import Final

from tracekit.model.redact import mask_secrets
from tracekit.sources.digest import json_bytes
from tracekit.sources.fields import Object, parts_of, text, words_of

Entry = Object
"""One JSON object of a transcript."""

_INTERRUPTS: Final = {"[Request interrupted by user]": "streaming", "[Request interrupted by user for tool use]": "tool"}
_ECHOES: Final = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
_CAVEAT: Final = "<local-command-caveat>"
"""Stands before a command, and not only after one."""
_COMMANDS: Final = ("<command-name>", "<command-message>", "<bash-input>")


def session_of(entry: Entry) -> str:
    """The session that an entry belongs to."""
    return text(entry, "sessionId", "session_id") or "unknown"


def prompt_kind(entry: Entry, words: str) -> str | None:
    """`prompt`, `command` or `notification`; None where a user entry is no prompt."""
    hidden = entry.get("isMeta") is True or entry.get("isCompactSummary") is True or entry.get("isVisibleInTranscriptOnly") is True
    if hidden or is_echo(words) or words.startswith(_CAVEAT):
        return None
    if words.startswith(_COMMANDS):
        return "command"
    return "notification" if words.startswith("<task-notification>") else "prompt"


def is_echo(words: str) -> bool:
    """Whether a user entry only shows what a command of the user's printed."""
    return words.startswith(_ECHOES)


def is_cut_note(entry: Entry, words: str) -> bool:
    """Whether a user entry is the client's own note to the model that its response was cut off."""
    return entry.get("isMeta") is True and words.startswith("Your response above was cut off mid-stream")


def interrupt_of(words: str) -> str | None:
    """What was interrupted, where the whole text is the client's marker. Quoted in a longer text it means nothing."""
    return _INTERRUPTS.get(words.strip())


def words_in(entry: Entry) -> str:
    """The text of a user's or an assistant's entry."""
    return words_of(parts_of(entry))


def to_keep(words: str) -> str:
    """Content as it is stored where the user asks for it: without secrets, and without halves of characters."""
    return mask_secrets(words.encode(errors="replace").decode())


def block_bytes(block: Entry, kind: str) -> bytes:
    """The content of a content block: its text, or the arguments of a call."""
    if kind in {"text", "thinking"}:
        return (text(block, kind) or "").encode(errors="surrogatepass")
    return json_bytes(block.get("input") if kind == "tool_use" else block)
