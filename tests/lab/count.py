"""Counts of a transcript, straight from its lines: what tracekit's own numbers must agree with. It knows no span and no store.

`known_answers.json` says what each number means.
"""

import json
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

TOKENS: Final = {
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
SYSTEM: Final = ("compact_boundary", "microcompact_boundary", "api_error")


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """Read a `.jsonl` or `.jsonl.xz`; two objects glued on one line are two entries."""
    decoder = json.JSONDecoder()
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            rest = line.strip()
            while rest:
                entry, end = decoder.raw_decode(rest)
                yield entry
                rest = rest[end:].lstrip()


def together(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Read several files as one store does: a uuid that two of them share is one entry."""
    seen: set[str] = set()
    for entry in (entry for path in paths for entry in entries(path)):
        uuid = entry.get("uuid")
        if uuid not in seen:
            yield entry
        if uuid:
            seen.add(uuid)


@dataclass
class Count:
    """What was seen so far."""

    lines: int = 0
    usage: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    last_block: dict[str, float] = field(default_factory=dict[str, float])
    calls: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    results: dict[str, tuple[float, bool]] = field(default_factory=dict[str, tuple[float, bool]])
    system: Counter[str] = field(default_factory=Counter[str])

    def see(self, entry: dict[str, Any]) -> None:
        """Take one entry into account."""
        self.lines += 1
        match entry.get("type"):
            case "assistant":
                self._see_assistant(entry)
            case "user":
                self._see_user(entry)
            case "system":
                self.system[entry.get("subtype", "")] += 1
            case _:
                pass

    def _see_assistant(self, entry: dict[str, Any]) -> None:
        message = entry["message"]
        self.system["api_error_messages"] += bool(entry.get("isApiErrorMessage"))
        if message["model"] == "<synthetic>":
            return
        key: str = message["id"]
        now = _seconds(entry)
        said = {ours: message["usage"].get(theirs) or 0 for ours, theirs in TOKENS.items()}
        self.usage[key] = self.usage.get(key, Counter()) | Counter(said)
        self.last_block[key] = max(now, self.last_block.get(key, now))
        self.calls |= {block["id"]: (now, key) for block in message["content"] if block["type"] == "tool_use"}

    def _see_user(self, entry: dict[str, Any]) -> None:
        content = entry["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_result":
                self.results[block["tool_use_id"]] = (_seconds(entry), bool(block.get("is_error")))
            elif block["type"] == "text":
                self.system["interrupts"] += block["text"].startswith("[Request interrupted by user")

    def answers(self) -> dict[str, int | float]:
        """Give the numbers by their names in `known_answers.json`."""
        pairs = [(*self.calls[key], *self.results[key]) for key in self.calls if key in self.results]
        tokens = {name: sum(said[name] for said in self.usage.values()) for name in TOKENS}
        return {
            "lines": self.lines,
            "messages": len(self.usage),
            "tool_calls": len(self.calls),
            "tool_calls_unanswered": len(self.calls) - len(pairs),
            "tool_errors": sum(failed for _, _, _, failed in pairs),
            "use_to_result_s": round(sum(answered - asked for asked, _, answered, _ in pairs), 3),
            "results_before_last_block": sum(answered < self.last_block[key] for _, key, answered, _ in pairs),
            **tokens,
            **{name: self.system[name] for name in (*SYSTEM, "api_error_messages", "interrupts")},
        }


def count(found: Iterable[dict[str, Any]]) -> dict[str, int | float]:
    """Count entries."""
    so_far = Count()
    for entry in found:
        so_far.see(entry)
    return so_far.answers()


def _seconds(entry: dict[str, Any]) -> float:
    return datetime.fromisoformat(entry["timestamp"]).timestamp()
