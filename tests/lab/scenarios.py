"""The runs that the tests need, each as short as shows its point."""

from typing import Final

from tests.lab.home import PROJECT
from tests.lab.script import Ending, Failure, Scenario, answer, bash, tail, text, thinking, tool

DONE: Final = answer(text("all done", at_once=2))
OVERLOADED: Final = Failure(529, "overloaded_error", "Overloaded")
SUMMARY: Final = answer(text("<summary>the first thing was done</summary>", pause=0.1), first_byte=0.5, input_tokens=191_000)

SCENARIOS: Final[dict[str, Scenario]] = {
    "serial": Scenario(
        "Tools stand last in their messages: nothing can hide.",
        (answer(text("one"), bash("a", 1.0)), answer(text("two"), bash("b", 0.5)), DONE),
    ),
    "overlap": Scenario(
        "A 1 s tool under a 3 s tail, then a 2 s tool under a short tail.",
        (answer(text("look at it"), bash("a", 1.0), tail(3.0), tail=0.5), answer(bash("b", 2.0), tail(0.8)), DONE),
    ),
    "parallel_reads": Scenario(
        "Three Reads at once, during the stream.",
        (answer(text("reading"), *(tool("Read", file_path=f"{PROJECT}/f{number}.txt") for number in range(3)), tail(1.5)), DONE),
    ),
    "cut_mid_stream": Scenario(
        "The connection is cut after a complete tool block; the client asks again.",
        (answer(text("partial"), bash("a", 0.3), tail(0.6), ending=Ending.CUT), DONE),
    ),
    "error_in_stream": Scenario(
        "An error event comes after half of an answer that had begun with 200.",
        (answer(text("partial"), text("and then"), ending=Ending.ERROR_EVENT), DONE),
    ),
    "overloaded_retry": Scenario("529 twice, then an answer.", (OVERLOADED, OVERLOADED, DONE)),
    "rate_limit_retry": Scenario(
        "429 with a retry-after of one second, then an answer.",
        (Failure(429, "rate_limit_error", "This request would exceed your account's rate limit.", {"retry-after": "1"}), DONE),
    ),
    "server_error_exhausted": Scenario(
        "500 until the client gives up, after two retries.",
        (Failure(500, "api_error", "Internal server error"),),
        environment={"CLAUDE_CODE_MAX_RETRIES": "2"},
    ),
    "prompt_too_long": Scenario(
        "HTTP 400: the prompt is too long. Not retried.",
        (Failure(400, "invalid_request_error", "prompt is too long: 213456 tokens > 200000 maximum"),),
    ),
    "tool_failures": Scenario(
        "Exit code 3, a missing file, an edit before the read, wrong arguments, no such tool.",
        (
            answer(
                bash("bad", 0.1, exit_code=3),
                tool("Read", file_path=f"{PROJECT}/missing.txt"),
                tool("Edit", file_path=f"{PROJECT}/f0.txt", old_string="zzz", new_string="y"),
                tool("Read", path="wrong argument"),
                tool("NoSuchTool", x=1),
            ),
            DONE,
        ),
    ),
    "tool_timeout": Scenario(
        "A command runs into the timeout that its call asked for.",
        (answer(tool("Bash", command="sleep 5", description="too slow", timeout=1000)), DONE),
    ),
    "permission_denied": Scenario(
        "Write is not allowed, and nobody is there to ask.",
        (answer(tool("Write", file_path=f"{PROJECT}/new.txt", content="hi")), DONE),
        tools="Read",
    ),
    "hooks": Scenario(
        "A PreToolUse hook takes 0.4 s and blocks one of two calls, an HTTP hook follows each tool, the Stop hook fails.",
        (answer(bash("allowed", 0.3), bash("blocked", 0.3)), DONE),
        hooks=True,
    ),
    "mcp": Scenario(
        "Three calls to a stdio server: success, error, and one that takes a second.",
        (answer(tool("mcp__demo__add", a=1, b=2), tool("mcp__demo__fail"), tool("mcp__demo__slow", seconds=1)), DONE),
        tools="mcp__demo__add mcp__demo__fail mcp__demo__slow",
        mcp="works",
    ),
    "mcp_crash": Scenario(
        "The server dies in the middle of a call.", (answer(tool("mcp__demo__crash")), DONE), tools="mcp__demo__crash", mcp="works"
    ),
    "mcp_unreachable": Scenario("One server cannot be spawned, one refuses the connection.", (DONE,), mcp="unreachable"),
    "compaction": Scenario(
        "Three turns, the second is /compact.",
        (
            answer(bash("big", 0.2), input_tokens=150_000),
            answer(text("first done"), input_tokens=190_000),
            SUMMARY,
            answer(text("second done")),
        ),
        prompts=("first thing", "/compact", "second thing"),
    ),
    "stalled_stream": Scenario(
        "The stream falls silent inside a block, and the client is killed while it waits.",
        (answer(text("start"), text("stalling here"), ending=Ending.SILENCE),),
        killed_after=6.0,
    ),
    "stuck_tool": Scenario(
        "A command does not come back before the client is killed.",
        (answer(text("wait for it"), bash("forever", 15.0)),),
        killed_after=7.0,
    ),
    "interrupted_tool": Scenario(
        "The user interrupts a command while it runs.",
        (answer(text("wait for it"), bash("long", 15.0)),),
        interrupted_after=2.5,
    ),
    "subagent": Scenario(
        "An agent with a tool of its own, which the parent waits for.",
        (
            answer(
                text("ask someone"),
                tool("Task", description="count files", prompt="count the files", subagent_type="general-purpose", run_in_background=False),
            ),
            DONE,
        ),
        agents={"count the files": (answer(bash("in_agent", 0.6), tail(1.0)), answer(text("there are four")))},
        tools="Task Bash",
    ),
    "subagent_background": Scenario(
        "An agent in the background: the parent's call returns at once, its turn ends, and a notification wakes it.",
        (
            answer(tool("Task", description="count files", prompt="count the files", subagent_type="general-purpose")),
            answer(text("waiting for the count", at_once=4)),
            DONE,
        ),
        agents={"count the files": (answer(text("there are four"), first_byte=1.2),)},
        tools="Task",
    ),
    "max_tokens": Scenario("The answer ends at its token limit.", (answer(text("too long to finish"), stop_reason="max_tokens"), DONE)),
}

TABLE: Final = """\
import clock

HIGH_WATER = {"Mon": "03:12", "Tue": "04:01", "Wed": "04:55"}


def line(now):
    day = clock.harbour_day(now)
    return f"{day}  high water {HIGH_WATER[day]}"
"""
CLOCK: Final = """\
NAMES = ["Mon", "Tue", "Wed"]
HARBOUR_OFFSET = 2 * 3600


def harbour_day(now):
    return NAMES[now // 86400 % 3]
"""
CHECK: Final = """\
case "$1" in
  fast) sleep 1.4; echo "4 checks passed" ;;
  midnight) sleep 1.8
    grep -q "now + HARBOUR_OFFSET" clock.py || { echo "FAILED midnight: Mon  high water 03:12, expected Tue" >&2; exit 3; }
    echo "midnight passed" ;;
  all) sleep 2.6; echo "7 checks passed" ;;
esac
"""

DEMO: Final = Scenario(
    "A harbour's tide table shows the wrong day after midnight: read, check, fail, fix, check again.",
    (
        answer(
            thinking("It is right all day and wrong after midnight, so some clock is not the harbour's clock.", pause=0.22, at_once=3),
            text("I'll read the table and the clock, and run the quick checks meanwhile.", pause=0.2, at_once=3),
            tool("Read", file_path=f"{PROJECT}/table.py"),
            tool("Read", file_path=f"{PROJECT}/clock.py"),
            tool("Read", file_path=f"{PROJECT}/README.md"),
            tool("Bash", command="sh check.sh fast", description="Run the quick checks"),
            text("If they pass, only the hours around midnight are wrong, and I look at the day next.", pause=0.4, at_once=3),
            first_byte=0.9,
            input_tokens=11_240,
            output_tokens=212,
        ),
        OVERLOADED,
        answer(
            text("They pass. The check for midnight should show it:", pause=0.2, at_once=3),
            tool("Bash", command="sh check.sh midnight", description="Check the hours after midnight"),
            tool("Bash", command="grep -n OFFSET clock.py table.py", description="Find who knows the offset"),
            text("The offset is written down in the clock, yet I see nobody who adds it.", pause=0.3, at_once=3),
            first_byte=0.8,
            input_tokens=740,
            cached_tokens=11_240,
            output_tokens=148,
        ),
        answer(
            text("As expected: the day is counted without the offset. I add it.", pause=0.2, at_once=3),
            tool(
                "Edit",
                file_path=f"{PROJECT}/clock.py",
                old_string="NAMES[now // 86400 % 3]",
                new_string="NAMES[(now + HARBOUR_OFFSET) // 86400 % 3]",
            ),
            tool("Bash", command="sh check.sh midnight", description="Check the hours after midnight"),
            tool("Bash", command="sh check.sh all", description="Run every check"),
            text("Both should pass now; the whole set takes a little longer.", pause=0.35, at_once=3),
            first_byte=1.1,
            input_tokens=330,
            cached_tokens=11_980,
            output_tokens=187,
        ),
        answer(
            text("Fixed: the table now takes its day from the harbour's clock. All seven checks pass.", pause=0.2, at_once=3),
            first_byte=0.7,
            input_tokens=310,
            cached_tokens=12_310,
            output_tokens=41,
        ),
    ),
    prompts=("The tide table shows yesterday's high water after midnight. Find out why and fix it.",),
    files={
        "table.py": TABLE,
        "clock.py": CLOCK,
        "check.sh": CHECK,
        "README.md": "# Tides\n\nThe table on the harbour wall: today's high water.\n",
    },
)
SCENARIOS["demo"] = DEMO
