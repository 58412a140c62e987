"""Hooks and compactions."""

import json
from typing import TYPE_CHECKING

import pytest

from tracekit.instrument import compaction, hook_reply, session, tool_schedule, turn

if TYPE_CHECKING:
    from tests.instrument.conftest import World


def test_a_refusal_is_a_reply_that_came_well(world: "World") -> None:
    with turn("p"), tool_schedule("Bash", "toolu_1"), hook_reply("PreToolUse", "guard", run_id="run-1") as reply:
        world.clock.advance(40)
        reply.transport(200)
        reply.decision("deny")
    row, span = world.one("hook_reply"), world.span("hook_reply")
    assert (row["key"], row["parent_key"], row["name"], row["start_ns"], row["end_ns"], row["status"]) == (
        "run-1",
        "toolu_1",
        "guard",
        1_000,
        1_040,
        "ok",
    )
    assert row["attributes"] == {
        "tracekit.hook.event": "PreToolUse",
        "tracekit.hook.name": "guard",
        "tracekit.hook.tool_use_id": "toolu_1",
        "tracekit.hook.transport": "200",
        "tracekit.hook.decision": "deny",
        "tracekit.hook.outcome": "blocking",
    }
    assert (span.name, span.parent) == ("tracekit.hook PreToolUse", world.span("tool_schedule").context)


def test_no_opinion_is_a_decision_of_its_own(world: "World") -> None:
    with hook_reply("Stop", "a") as reply:
        reply.decision(None)
    with hook_reply("Stop", "b") as silent:
        silent.transport("ok")
    one, other = (row["attributes"] for row in world.closed("hook_reply"))
    assert (one["tracekit.hook.transport"], one["tracekit.hook.decision"], one["tracekit.hook.outcome"]) == ("ok", "none", "success")
    assert "tracekit.hook.decision" not in other
    assert "tracekit.hook.outcome" not in other


@pytest.mark.parametrize(
    ("transport", "outcome", "status"), [("timeout", "timeout", "error"), (500, "error", "error"), ("error", "error", "error")]
)
def test_a_reply_that_did_not_come_decided_nothing(world: "World", transport: str | int, outcome: str, status: str) -> None:
    with turn("p"), hook_reply("Stop", "a") as reply:
        reply.transport(transport)
    row = world.one("hook_reply")
    assert (row["status"], row["attributes"]["tracekit.hook.outcome"], row["attributes"]["tracekit.hook.transport"]) == (
        status,
        outcome,
        str(transport),
    )
    assert "tracekit.hook.decision" not in row["attributes"]
    assert row["parent_key"] == "p"


def test_a_callback_that_nobody_knows(world: "World") -> None:
    with hook_reply("PreToolUse", "a", tool_use_id="toolu_3") as reply:
        reply.unknown_callback("hook_7")
    row = world.one("hook_reply")
    assert (row["status"], row["parent_key"]) == ("error", "toolu_3")
    assert row["attributes"]["tracekit.hook.transport"] == "unknown_callback"
    assert row["attributes"]["tracekit.error.text"] == "No hook callback found for ID: hook_7"
    assert row["attributes"]["error.type"] == "unknown_callback"


def test_a_hook_that_raises_has_no_reply(world: "World") -> None:
    with pytest.raises(ValueError, match="bad"), hook_reply("Stop", "a"):
        int("bad")
    row = world.one("hook_reply")
    assert (row["status"], row["attributes"]["tracekit.hook.transport"], row["attributes"]["tracekit.hook.outcome"]) == (
        "error",
        "error",
        "error",
    )


def test_a_hook_that_is_cancelled(world: "World") -> None:
    with pytest.raises(KeyboardInterrupt), hook_reply("Stop", "a"):
        raise KeyboardInterrupt
    row = world.one("hook_reply")
    assert (row["status"], row["attributes"]["tracekit.hook.outcome"]) == ("cancelled", "cancelled")


def test_a_compaction_tells_its_stage_while_it_lasts_and_its_tokens_at_the_end(world: "World") -> None:
    with session("s"), turn("p"), compaction("auto") as made:
        made.stage("summarize")
        made.tokens(before=180_000)
        world.clock.advance(500)
        made.stage("replace")
        stages = [row["attributes"].get("tracekit.compaction.stage") for row in world.opened("compaction")]
        made.tokens(after=9_000)
    row = world.one("compaction")
    assert stages == [None, "summarize", "replace"]
    assert (row["parent_key"], row["name"], row["start_ns"], row["end_ns"], row["status"]) == ("p", "auto", 1_000, 1_500, "ok")
    assert row["attributes"] == {
        "tracekit.compaction.trigger": "auto",
        "tracekit.compaction.kind": "full",
        "tracekit.compaction.stage": "replace",
        "tracekit.compaction.pre_tokens": "180000",
        "tracekit.compaction.post_tokens": "9000",
    }
    assert json.loads(row["events"]) == [[1000, "summarize", {}], [1500, "replace", {}]]
    assert world.span("compaction").name == "tracekit.compaction"


def test_a_compaction_that_only_clears_results(world: "World") -> None:
    with compaction("auto", kind="micro"):
        pass
    assert world.one("compaction")["attributes"]["tracekit.compaction.kind"] == "micro"
