"""Sessions for tests of the page and the report: an ordinary one, one whose every field is hostile, and stores that hold them."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext

from tracekit.cli.leased import Leased
from tracekit.model import Boundary, Source, Span, Status, semconv
from tracekit.page.answers import Pages
from tracekit.page.listing import Listing
from tracekit.testing import memory_store, request, span, tool, turn

SECOND = 1_000_000_000
START = 1_796_052_700 * SECOND
NOW = START + 3_600 * SECOND
HOSTILE = (
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=1">\'"><svg/onload=window.pwned=1>'
    " {{ 7*7 }} {% raw %} </title></textarea></script><!-- ]]> javascript:window.pwned=1"
    " \x1b]0;pwned\x07\x1b[31mred\x9b2J\x00\x07 \u202egnp.exe\u2066\u200f\u061c\u2028 \U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301"
    " [link](javascript:alert(1)) ![image](http://evil.example/x.png) @everyone #1 `code` ``` | a | b |"
    "\n\n# heading\n- item\n~~~\n:bomb: $x$ www.evil.example"
)
"""What a name, an id or an error's text may hold, given who writes them."""


def at(seconds: float) -> int:
    """Give a moment of the tests' day."""
    return START + round(seconds * SECOND)


def ordinary(session_id: str = "0f5e7ab2-0000-4000-8000-000000000001") -> list[Span]:
    """A turn in which one tool hides under the stream and one fails, then a turn whose tool never returned."""
    told = {"session_id": session_id}
    answered = {
        semconv.FIRST_BYTE_NS: at(1),
        semconv.RESPONSE_ID: "msg_1",
        semconv.OUTPUT_TOKENS: 120,
        semconv.INPUT_TOKENS: 2_000,
        semconv.REQUEST_MODEL: "example-model-1",
    }
    return [
        turn(at(0), at(10), name="prompt", key="turn_1", **told, attributes={semconv.PROJECT: "/home/user/project"}),
        request(at(0), at(4), key="req_1", name="example-model-1", parent_key="turn_1", status=Status.OK, attributes=answered, **told),
        span(Boundary.STREAM_EVENT, "msg_1#0", at(1), at(2), name="text", parent_key="req_1", **told),
        *tool(at(2), at(2.5), at(6), key="toolu_1", issued_by="req_1", name="Bash", status=Status.OK, start_slack_ns=SECOND // 4, **told),
        *tool(at(3), at(3.5), at(7), key="toolu_2", issued_by="req_1", name="Read", status=Status.ERROR, **told),
        turn(at(100), None, name="prompt", key="turn_2", **told),
        request(at(100), at(104), key="req_2", name="example-model-1", parent_key="turn_2", status=Status.OK, **told),
        *tool(at(103), at(103.5), None, key="toolu_3", issued_by="req_2", name="Bash", **told),
    ]


def hostile(text: str = HOSTILE) -> list[Span]:
    """A session in which every field that can carry a text of others carries the same hostile one."""
    told = {"session_id": text, "name": text}
    more = {semconv.PROJECT: text, semconv.CLIENT_VERSION: text, semconv.REQUEST_MODEL: text, semconv.RESPONSE_ID: text}
    failed = {semconv.ERROR_TEXT: text, semconv.ERROR_TYPE: text}
    agent = {"agent_id": text, **told}
    return [
        turn(at(0), at(20), key=text, attributes=more, **told),
        request(at(0), at(4), key=f"req {text}", parent_key=text, attributes=more, **told),
        span(Boundary.STREAM_EVENT, f"{text}#0", at(1), at(2), parent_key=f"req {text}", **told),
        *tool(at(2), at(2.5), at(6), key=f"toolu {text}", issued_by=f"req {text}", status=Status.ERROR, attributes=failed, **told),
        span(Boundary.HOOK_REPLY, f"hook {text}", at(6), at(7), parent_key=text, status=Status.ERROR, attributes=failed, **told),
        span(Boundary.MCP_CONNECTION, f"mcp {text}", at(7), at(8), parent_key=text, status=Status.ERROR, attributes=failed, **told),
        span(Boundary.COMPACTION, f"compaction {text}", at(8), at(9), parent_key=text, **told),
        span(Boundary.SUBAGENT, text, at(9), at(15), parent_key=f"toolu {text}", **told),
        turn(at(9), at(15), key=f"agent turn {text}", attributes=more, **agent),
        request(
            at(9), at(12), key=f"agent req {text}", parent_key=f"agent turn {text}", status=Status.ERROR, attributes=more | failed, **agent
        ),
        turn(at(30), None, key=f"open {text}", attributes=more, **told),
        span(Boundary.PERMISSION_WAIT, f"open toolu {text}", at(31), None, parent_key=f"open {text}", **told),
        # A second witness that contradicts the first.
        Span(Source.GATEWAY, text, Boundary.TOOL_EXECUTION, f"toolu {text}", at(2), at(9), name=text, status=Status.OK),
    ]


def huge() -> list[Span]:
    """A session with a long id, in which one tool's name, key and error have a million characters each."""
    long = "y" * 1_000_000
    told = {"session_id": "y" * 20_000}
    failed = {semconv.ERROR_TEXT: long, semconv.PROJECT: long}
    return [
        turn(at(0), at(9), name=long, **told),
        request(at(0), at(4), **told),
        *tool(at(2), at(2.5), at(6), key=long, name=long, status=Status.ERROR, attributes=failed, **told),
    ]


@contextmanager
def asked(*spans: Iterable[Span]) -> Generator[Leased]:
    """Give who answers questions about a store in memory."""
    with memory_store(*spans) as store:
        yield Leased(lambda: nullcontext(store), lambda: "unchanged")


@contextmanager
def pages(*spans: Iterable[Span]) -> Generator[Pages]:
    """Give the page over a store in memory, an hour after the sessions began."""
    with asked(*spans) as ask:
        yield Pages(ask, clock=lambda: NOW)


def listing(ask: Leased) -> Listing:
    """Give the list over what answers."""
    return Listing(ask)
