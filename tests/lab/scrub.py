"""What may be kept of a run: structure, ids, times, sizes, our own words and error texts.

The client is proprietary, and so is its prose: system prompt, tool descriptions, reminders, listings. Entries that only
echo it are left out whole, and what hung on them hangs on their parents; long strings elsewhere are cut.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

LONGEST: Final = 400
"""Characters kept of a string. What scenarios write is shorter, and so is nearly every error."""
LONGEST_ASIDE: Final = 60
"""The same for what the client tells the model beside the conversation: summaries, caveats."""
ENTRIES: Final = frozenset(
    {"user", "assistant", "system", "api-request", "queue-operation", "cost-state", "tools-used", "atis-latch", "file-history-snapshot"}
)
API_REQUEST: Final = ("type", "id", "agentId", "timestamp", "sessionId", "version", "querySource")
INIT: Final = ("type", "subtype", "session_id", "uuid", "cwd", "model", "claude_code_version", "mcp_servers", "permissionMode")
OPENING: Final = re.compile(rf"<[a-z-]+>|[A-Z][^.<>]{{0,{LONGEST_ASIDE}}}\. ")
REMINDER: Final = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def scrub_transcript(raw: Iterable[str]) -> tuple[list[str], Counter[str]]:
    """Give the lines that may be kept, and how many of each kind were left out."""
    kept: list[str] = []
    left_out: Counter[str] = Counter()
    heirs: dict[str, str | None] = {}
    for line in raw:
        entry = json.loads(line)
        if is_echo(entry):
            left_out[_kind(entry)] += 1
            if "uuid" in entry:
                heirs[entry["uuid"]] = _heir(entry.get("parentUuid"), heirs)
            continue
        for link in ("parentUuid", "logicalParentUuid", "leafUuid"):
            if link in entry:
                entry[link] = _heir(entry[link], heirs)
        kept.append(_compact(_cut_entry(entry)))
    return kept, left_out


def is_echo(entry: dict[str, Any]) -> bool:
    """Tell whether an entry holds nothing but what the client says to the model."""
    if entry["type"] == "attachment":
        return not entry["attachment"]["type"].startswith("hook_")
    return entry["type"] not in ENTRIES


def scrub_stream(raw: Iterable[str]) -> list[str]:
    """Cut the opening line of each turn to who and where, and long strings everywhere."""
    kept: list[str] = []
    for line in raw:
        stamped = json.loads(line)
        said = stamped["line"]
        if said["type"] == "system" and said.get("subtype") == "init":
            tools = len(said["tools"])
            said = {name: said[name] for name in INIT if name in said} | {"tools_count": tools}
        kept.append(_compact({"arrival_ns": stamped["arrival_ns"], "line": cut(said, _limit(said))}))
    return kept


def cut(value: Any, limit: int = LONGEST) -> Any:
    """Strip reminders from strings, and replace what is beyond the limit by its length."""
    match value:
        case str():
            return _shorten(value, limit)
        case [*items]:
            return [cut(item, limit) for item in items]
        case {**fields}:
            return {name: cut(item, limit) for name, item in fields.items()}
        case _:
            return value


def _shorten(words: str, limit: int) -> str:
    bare = REMINDER.sub("", words)
    if len(bare) <= limit and (bare or not words):
        return bare
    # What kind of thing it was: the tag it is wrapped in, or a first sentence such as "Output token limit hit."
    begin = OPENING.match(words)
    return f"{begin[0] if begin else ''}[{len(words)} characters cut]"


def _cut_entry(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["type"] == "api-request":
        return {name: entry[name] for name in API_REQUEST if name in entry} | {"params": {"model": entry["params"]["model"]}}
    return {name: cut(value, _limit(entry)) if name in {"message", "content"} else cut(value) for name, value in entry.items()}


def _limit(entry: dict[str, Any]) -> int:
    aside = entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isSynthetic")
    return LONGEST_ASIDE if aside else LONGEST


def _kind(entry: dict[str, Any]) -> str:
    return f"attachment {entry['attachment']['type']}" if entry["type"] == "attachment" else entry["type"]


def _heir(uuid: str | None, heirs: dict[str, str | None]) -> str | None:
    return heirs.get(uuid, uuid) if uuid else None


def _compact(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
