"""The hand-made sessions are what their generator writes, and expected.json says of them what their bytes say."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.data.faults import make
from tests.lab.count import count, entries, together

FAULTS = make.HERE
EXPECTED = json.loads((FAULTS / "expected.json").read_text(encoding="utf-8"))
PROBE = FAULTS / "probe"
SESSION = PROBE / f"{make.SESSION}.jsonl"
AGENT = PROBE / make.SESSION / "subagents" / f"agent-{make.AGENT}.jsonl"
FORK = PROBE / f"{make.FORK}.jsonl"


def seconds(entry: dict[str, Any]) -> float:
    return (datetime.fromisoformat(entry["timestamp"]) - make.BEGIN).total_seconds()


def blocks(path: Path, kind: str) -> list[tuple[float, dict[str, Any]]]:
    spoken = [entry for entry in entries(path) if entry["type"] in {"assistant", "user"}]
    return [
        (seconds(entry), block)
        for entry in spoken
        if not isinstance(entry["message"]["content"], str)
        for block in entry["message"]["content"]
        if block["type"] == kind
    ]


def is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@pytest.mark.parametrize(("name", "content"), make.files().items())
def test_the_generator_writes_what_is_stored(name: str, content: bytes) -> None:
    assert (FAULTS / name).read_bytes() == content


def test_every_fault_is_described() -> None:
    assert {f"{name}.jsonl" for name in make.FAULTS} == EXPECTED["faults"].keys()


@pytest.mark.parametrize("name", sorted(EXPECTED["faults"].keys() - {"bom.jsonl", "glued.jsonl"}))
def test_the_lines_that_are_no_objects_are_the_problems(name: str) -> None:
    expected = EXPECTED["faults"][name]
    lines = (FAULTS / name).read_bytes().splitlines()
    broken = [number for number, line in enumerate(lines, 1) if line.strip() and not is_object(line)]
    readable = {"no timestamp", "message without an id"}
    assert broken == [number for number, reason in expected["problems"] if reason not in readable]
    assert sum(map(is_object, lines)) == expected["entries"]


def test_marks_and_missing_newlines_hide_no_entry() -> None:
    assert (FAULTS / "bom.jsonl").read_bytes().removeprefix(b"\xef\xbb\xbf") == (FAULTS / "clean.jsonl").read_bytes()
    for name in ("glued.jsonl", "no_final_newline.jsonl", "crlf.jsonl", "blank_line.jsonl"):
        assert list(entries(FAULTS / name)) == list(entries(FAULTS / "clean.jsonl"))


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (FAULTS / "clean.jsonl", EXPECTED["clean"]),
        (SESSION, EXPECTED["probe"]),
        (AGENT, EXPECTED["probe"]["agent"]),
    ],
    ids=["clean", "probe", "agent"],
)
def test_calls_and_responses_stand_at_their_times(path: Path, known: dict[str, Any]) -> None:
    asked = {block["id"]: (at, block["name"]) for at, block in blocks(path, "tool_use")}
    answered = {block["tool_use_id"]: at for at, block in blocks(path, "tool_result")}
    assert asked == {key: (call["asked"], call["name"]) for key, call in known["calls"].items()}
    assert answered == {key: call["answered"] for key, call in known["calls"].items() if call["answered"] is not None}
    assert responses(path) == known["responses"]


def responses(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    names = {
        "input": "input_tokens",
        "cache_write": "cache_creation_input_tokens",
        "cache_read": "cache_read_input_tokens",
        "output": "output_tokens",
    }
    for entry in entries(path):
        message = entry.get("message", {})
        if entry["type"] != "assistant" or message["model"] == "<synthetic>":
            continue
        response = found.setdefault(message["id"], {"first_block": seconds(entry), "blocks": 0})
        response |= {"last_block": seconds(entry), "blocks": response["blocks"] + 1}
        response |= {ours: max(response.get(ours, 0), message["usage"][theirs]) for ours, theirs in names.items()}
        if path.name == "clean.jsonl":
            response["request"] = entry["requestId"]
    return found


def test_the_counts_of_the_probe_are_those_of_its_lines() -> None:
    for name, counted in {
        "session": count(entries(SESSION)),
        "agent": count(entries(AGENT)),
        "together": count(together([SESSION, AGENT, FORK])),
    }.items():
        known = EXPECTED["probe"]["counts"][name]
        assert {key: counted[key] for key in known} == known


def test_a_fork_shares_the_uuids_of_its_first_entries() -> None:
    shared = {entry["uuid"] for entry in entries(FORK)} & {entry["uuid"] for entry in entries(SESSION)}
    assert len(shared) == EXPECTED["probe"]["fork"]["shared_entries"]
    assert {entry["sessionId"] for entry in entries(FORK)} == {EXPECTED["probe"]["fork"]["session"]}


def test_retries_and_the_compaction_stand_at_their_times() -> None:
    system = [entry for entry in entries(SESSION) if entry["type"] == "system"]
    retries = [
        {"failed": seconds(entry), "wait_ends": seconds(entry) + entry["retryInMs"] / 1000, "attempt": entry["retryAttempt"]}
        for entry in system
        if entry["subtype"] == "api_error"
    ]
    known = [{name: retry[name] for name in ("failed", "wait_ends", "attempt")} for retry in EXPECTED["probe"]["retries"]]
    assert retries == known
    (boundary,) = [entry for entry in system if entry["subtype"] == "compact_boundary"]
    (before,) = [entry for entry in entries(SESSION) if entry["uuid"] == boundary["logicalParentUuid"]]
    compaction = EXPECTED["probe"]["compaction"]
    assert (seconds(before), seconds(boundary)) == (compaction["started_not_before"], compaction["end"])
