"""What is kept of a line of stream-json: its structure. Where content stood, its size and digest stand.

Every field is kept, those too that the SDK's own parser drops: names, ids, numbers and times as they are, an error's own text without
its secrets, and of every other text only how long it was.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from tracekit.model.redact import error_text, mask_secrets
from tracekit.model.withheld import withhold

Object = dict[str, Any]

_NAMES: Final = frozenset(
    {
        "agent_id",
        "agent_type",
        "agentId",
        "agents",
        "api_error",
        "api_error_type",
        "api_message_id",
        "apiKeySource",
        "backgroundTaskId",
        "claude_code_version",
        "code",
        "compact_result",
        "cwd",
        "cut",
        "decision",
        "display_name",
        "error_code",
        "event",
        "fast_mode_state",
        "hook_event",
        "hook_event_name",
        "hook_id",
        "hook_name",
        "id",
        "inference_geo",
        "kind",
        "level",
        "local_command",
        "message_id",
        "model",
        "name",
        "non_execution_kind",
        "output_style",
        "outcome",
        "parent_tool_use_id",
        "parent_uuid",
        "permissionMode",
        "phase",
        "prompt_id",
        "promptId",
        "reason_type",
        "request_id",
        "role",
        "server_display_name",
        "service_tier",
        "session_id",
        "skills",
        "slash_commands",
        "source",
        "speed",
        "state",
        "status",
        "stop_reason",
        "subagent_type",
        "subtype",
        "tag",
        "task_id",
        "task_type",
        "terminal_reason",
        "timestamp",
        "tool_name",
        "tool_use_id",
        "tools",
        "trigger",
        "type",
        "user_message_uuid",
        "user_message_uuids",
        "uuid",
    }
)
"""Fields whose text is a name, an id or a word of the protocol."""

_ERRORS: Final = frozenset({"compact_error", "error", "errors", "error_details"})
"""Fields whose text is an error's own."""

_ABOUT_THE_CALL: Final = frozenset({"run_in_background", "subagent_type", "timeout"})
"""Of a call's arguments: how it is to be run."""

_ABOUT_THE_RUN: Final = frozenset(
    {
        "agentId",
        "backgroundTaskId",
        "durationMs",
        "durationSeconds",
        "interrupted",
        "isAsync",
        "status",
        "totalDurationMs",
        "totalTokens",
        "totalToolUseCount",
    }
)
"""Of a tool's own record of what it did: how it ran."""

_LONGEST_NAME: Final = 500
_DEPTH: Final = 12
_MARKS: Final = frozenset({"[Request interrupted by user]", "[Request interrupted by user for tool use]"})
"""What the client itself writes in the user's name."""
_HEAD: Final = re.compile(r"/[a-z][\w:.-]*(?=\s|$)|<[\w-]+>")
"""What tells a command or the client's echo from a prompt."""
_KEPT_OUT: Final = "[withheld]"


def kept(line: Mapping[str, Any], *, content: bool = False) -> Object:
    """What may be kept of a line.

    Args:
        line: The line as it was parsed.
        content: Keep texts too, without their secrets.
    """
    if content:
        return cast("Object", _masked(line))
    kind = line.get("type")
    if kind == "stream_event":
        return _structure(line, skip="event") | {"event": _event(_object(line.get("event")))}
    found = _structure(line, skip=("message", "tool_use_result", "result", "stderr", "request"))
    if "message" in line:
        found["message"] = _message(line)
    if "tool_use_result" in line:
        found["tool_use_result"] = _record(line["tool_use_result"])
    if "result" in line:
        failed = line.get("is_error") is True and isinstance(line["result"], str)
        found["result"] = error_text(line["result"]) if failed else withhold(line["result"])
    if "stderr" in line:
        found["stderr"] = error_text(str(line["stderr"])) if line.get("outcome") == "error" else withhold(line["stderr"])
    if "request" in line:
        found["request"] = _asked(_object(line["request"]))
    return found


def _asked(request: Object) -> Object:
    """Of the control protocol: who asks for what. What is asked about is content."""
    return {name: request[name] for name in ("subtype", "tool_use_id", "tool_name") if name in request}


def _structure(value: Mapping[str, Any], *, skip: str | tuple[str, ...] = (), depth: int = 0) -> Object:
    skipped = (skip,) if isinstance(skip, str) else skip
    return {name: _field(name, item, depth) for name, item in value.items() if name not in skipped}


def _field(name: str, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _text(name, value)
    if depth > _DEPTH or name in {"tool_input", "input", "structured_output", "arguments"}:
        return withhold(value)
    if isinstance(value, list):
        return [_field(name, item, depth + 1) for item in _list(value)]
    return _structure(_object(value), depth=depth + 1) if isinstance(value, dict) else withhold(str(value))


def _text(name: str, value: str) -> Any:
    if name in _NAMES and len(value) <= _LONGEST_NAME:
        return value
    if name in _ERRORS:
        return error_text(value)
    return withhold(value) if value else value


def _message(line: Mapping[str, Any]) -> Object:
    message = _object(line["message"])
    found = _structure(message, skip="content")
    said = message.get("content")
    is_own_word = line.get("type") == "assistant" and (message.get("model") == "<synthetic>" or line.get("is_api_error_message") is True)
    if isinstance(said, str):
        found["content"] = _prompt(said) if line.get("type") == "user" else withhold(said)
    elif isinstance(said, list):
        is_user = line.get("type") == "user"
        found["content"] = [_part(_object(part), is_own_word=is_own_word, is_user=is_user) for part in _list(said)]
    return found


def _part(part: Object, *, is_own_word: bool, is_user: bool) -> Object:
    match part:
        case {"type": "text", "text": str(words)}:
            said: Any = error_text(words) if is_own_word else _prompt(words) if is_user else withhold(words)
            return {"type": "text", "text": said}
        case {"type": "thinking", "thinking": str(words)}:
            return {"type": "thinking", "thinking": withhold(words)}
        case {"type": "tool_use"}:
            arguments = _object(part.get("input"))
            how = {name: arguments[name] for name in _ABOUT_THE_CALL if isinstance(arguments.get(name), str | int | float)}
            return _structure(part, skip="input") | {"input": withhold(arguments) | how}
        case {"type": "tool_result"}:
            return _structure(part, skip="content") | {"content": _result(part)}
        case _:
            return {name: part[name] for name in ("type", "id", "name", "tool_use_id") if name in part} | withhold(part)


def _result(part: Object) -> Object:
    """Of a tool that failed the text is an error's; the size and digest are those of the whole."""
    content: Any = part.get("content")
    if part.get("is_error") is not True:
        return withhold(content)
    texts = [_object(item) for item in _list(content)]
    words = content if isinstance(content, str) else "\n".join(str(item.get("text", "")) for item in texts if item.get("type") == "text")
    return withhold(content, words=error_text(words))


def _record(value: Any) -> Any:
    if not isinstance(value, dict):
        return withhold(value)
    record = cast("Object", value)
    return {name: item for name, item in record.items() if name in _ABOUT_THE_RUN and isinstance(item, str | int | float)}


def _prompt(words: str) -> str:
    if words.strip() in _MARKS:
        return words
    head = _HEAD.match(words)
    return f"{head[0]} {_KEPT_OUT}" if head else _KEPT_OUT


def _event(event: Object) -> Object:
    """An event of the stream. Deltas come by the thousand, and all that counts of them is that they came."""
    match event:
        case {"type": "content_block_delta"}:
            return {"type": "content_block_delta", "index": event.get("index"), "delta": {"type": _object(event.get("delta")).get("type")}}
        case {"type": "content_block_start"}:
            block = _object(event.get("content_block"))
            return {
                "type": "content_block_start",
                "index": event.get("index"),
                "content_block": {name: block[name] for name in ("type", "id", "name") if name in block},
            }
        case {"type": "error"}:
            error = _object(event.get("error"))
            return {"type": "error", "error": {"type": error.get("type"), "message": error_text(str(error.get("message", "")))}}
        case _:
            return _structure(event)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, Mapping):
        return {name: _masked(item) for name, item in cast("Mapping[str, Any]", value).items()}
    return [_masked(item) for item in _list(value)] if isinstance(value, list) else value


def _object(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
