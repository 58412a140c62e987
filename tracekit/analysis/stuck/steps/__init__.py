"""The fourteen steps, in order: the first that knows a wait's name decides it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from tracekit.analysis.stuck.judged import Judged
from tracekit.analysis.stuck.limits import Limits
from tracekit.analysis.stuck.steps import calls, nobody, nothing, repeating, requests, unknown
from tracekit.analysis.stuck.verdict import Verdict
from tracekit.analysis.stuck.wait import Wait


class Step(NamedTuple):
    """One step.

    Attributes:
        question: What it asks.
        decides: The names that it takes.
        judge: Gives the answer to a wait that has one of these names alone.
    """

    question: str
    decides: frozenset[Verdict]
    judge: Callable[[Wait, Limits], Judged]


def _step(question: str, judge: Callable[[Wait, Limits], Judged], *decides: Verdict) -> Step:
    return Step(question, frozenset(decides), judge)


STEPS: Final = (
    _step("Is nothing owed?", nothing.idle, Verdict.IDLE, Verdict.FINISHED),
    _step("Does something in the background go on?", nothing.background, Verdict.BACKGROUND),
    _step("Was a person or a rule asked?", calls.permission, Verdict.PERMISSION),
    _step("Has a hook begun and not answered?", calls.hook, Verdict.HOOK),
    _step("Does the tool run?", calls.tool, Verdict.TOOL, Verdict.SUBAGENT),
    _step(
        "At which stage is the MCP server?",
        calls.mcp,
        *(Verdict.MCP, Verdict.MCP_CALL, Verdict.MCP_CONNECTION, Verdict.MCP_INITIALIZE, Verdict.MCP_DISCOVERY, Verdict.MCP_SESSION_LOST),
    ),
    _step("Was the call never dispatched, or its end never taken?", nobody.call, Verdict.CLIENT),
    _step("Does nobody own the next step?", nobody.turn, Verdict.CLIENT),
    _step("Does the client sleep before another attempt?", requests.retry, Verdict.RETRY_WAIT),
    _step("Has the request got no byte?", requests.first_byte, Verdict.FIRST_BYTE),
    _step("Has the response begun and not ended?", requests.mid_stream, Verdict.MID_STREAM),
    _step("Is the conversation being compacted?", repeating.compaction, Verdict.COMPACTION),
    _step("Do the same calls give the same results?", repeating.loop, Verdict.LOOP),
    _step("Which witness is missing?", unknown.unknown),
)
"""In the order of the decision. The seventh takes calls alone, the eighth agents of whom nothing is open; the last takes the rest."""


def decide(wait: Wait, limits: Limits) -> tuple[int, Judged]:
    """Give the number of the step that decides, from 1, and what it says."""
    only = wait.suspicion.only
    for number, step in enumerate(STEPS, start=1):
        if only in step.decides and not (step.judge is nobody.call and wait.kind != "call"):
            return number, step.judge(wait, limits)
    return len(STEPS), unknown.unknown(wait, limits)
