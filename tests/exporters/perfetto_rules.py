"""The rules by which Perfetto imports Chrome's JSON, so far as breaking one costs an event or a warning.

From the Trace Event Format's description, and from what Perfetto's importer counts as `json_parser_failure` or lays on an overflow
track: a phase it knows; a process for everything; an id for what is asynchronous, and an end for each begin under the same process,
category, id and name, not before it; a length for what is complete; numbers for counters; a name that is not empty for processes and
tracks; and on each track slices that nest.
"""

import json
from collections import defaultdict
from typing import Any

Json = dict[str, Any]


def broken_rules(text: str) -> list[str]:
    """Give every rule that a trace breaks, with its event."""
    trace = json.loads(text)
    events: list[Json] = trace["traceEvents"]
    found = [f"{rule}: {event}" for event in events for rule in _of_event(event)]
    return found + _of_pairs(events) + _of_tracks(events) + _of_names(events)


def _of_event(event: Json) -> list[str]:
    phase, number = event.get("ph"), int | float
    rules = {
        "a phase": phase in {"X", "b", "e", "C", "M"},
        "a process": isinstance(event.get("pid"), int) and event["pid"] > 0,
        "a name": isinstance(event.get("name"), str) and bool(event["name"]),
        "a time": isinstance(event.get("ts"), number) and event["ts"] >= 0,
        "a length": phase != "X" or (isinstance(event.get("dur"), number) and event["dur"] >= 0),
        "a track": phase != "X" or (isinstance(event.get("tid"), int) and 0 < event["tid"] < 2**32 and event["tid"] != event["pid"]),
        "an id": phase not in {"b", "e"} or bool(event.get("id") or event.get("id2", {}).get("local")),
        "a category": phase not in {"b", "e"} or bool(event.get("cat")),
        "numbers": phase != "C" or (bool(event["args"]) and all(isinstance(value, number) for value in event["args"].values())),
        "a name in a name": phase != "M" or not event["name"].endswith("_name") or bool(event["args"].get("name")),
        "an order": phase != "M" or not event["name"].endswith("_index") or isinstance(event["args"].get("sort_index"), int),
    }
    return [rule for rule, kept in rules.items() if not kept]


def _of_pairs(events: list[Json]) -> list[str]:
    open_since: dict[tuple[str, ...], list[float]] = defaultdict(list)
    broken: list[str] = []
    for event in sorted((event for event in events if event["ph"] in "be"), key=lambda event: float(event["ts"])):
        key = (str(event["pid"]), event["cat"], event.get("id") or event["id2"].get("local", ""), event["name"])
        if event["ph"] == "b":
            broken += [f"a second begin: {event}"] if open_since[key] else []
            open_since[key].append(event["ts"])
        elif open_since[key]:
            open_since[key].pop()
        else:
            broken.append(f"an end without a begin: {event}")
    return broken + [f"a begin without an end: {key}" for key, left in open_since.items() if left]


def _of_tracks(events: list[Json]) -> list[str]:
    """Slices of one track may follow each other or nest, and nothing else."""
    broken: list[str] = []
    tracks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            tracks[event["tid"]].append((start, start + round(event["dur"] * 1000)))
    for track, slices in tracks.items():
        around: list[int] = []
        for start, end in sorted(slices, key=lambda one: (one[0], -one[1])):
            while around and around[-1] <= start:
                around.pop()
            broken += [f"slices that overlap on track {track} at {start} ns"] if around and end > around[-1] else []
            around.append(end)
    return broken


def _of_names(events: list[Json]) -> list[str]:
    """Every process and every track is named, and a track number belongs to one process."""
    named = {(event["name"], event["pid"], event.get("tid")) for event in events if event["ph"] == "M"}
    owners: dict[int, int] = {}
    broken: list[str] = []
    for event in events:
        if ("process_name", event["pid"], None) not in named:
            broken.append(f"a process without a name: {event['pid']}")
        if event["ph"] == "X":
            if ("thread_name", event["pid"], event["tid"]) not in named:
                broken.append(f"a track without a name: {event['tid']}")
            if owners.setdefault(event["tid"], event["pid"]) != event["pid"]:
                broken.append(f"a track of two processes: {event['tid']}")
    return broken
