"""What failed, whose fault it is, does a retry help: visible rules in a fixed order, the first that fits decides.

`classify` takes what is known of one failure, from the store (`Evidence.from_attributes`) or from a pasted text, and gives a verdict with
the line of evidence that it rests on. `explanation` gives the page of a kind, which is the docstring of its rule's module.
"""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from tracekit.analysis.failures import account, client, hook, mcp, model, network, prompt_too_long, request, tool, unknown, user
from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.harmless import not_a_failure
from tracekit.analysis.failures.layer import Layer
from tracekit.analysis.failures.rule import Family, Kind, Retry, Rule, Verdict
from tracekit.model.redact import error_text

__all__ = ["RULES", "Evidence", "Family", "Kind", "Layer", "Retry", "Rule", "Verdict", "classify", "explanation", "not_a_failure"]

# The order is the judgement. What is particular goes before what is general, so that a status or a type that many faults share decides only
# when nothing better is known: HTTP 400 is worn by prompts, accounts, filters and images, 429 by plans, 200 by broken streams.
# Within a group, facts that a machine wrote are looked at before words.
RULES: Final[tuple[Rule, ...]] = (
    # Calls that never ran, or whose result was thrown away. First, since the client gives them the shape of a failed tool.
    tool.sibling_cancelled.RULE,
    user.interrupt.RULE,
    tool.side_effect_uncertain.RULE,
    # Hooks before permissions: a client writes the same denial kind for both, and only the source tells them apart. Broken output before
    # the hook's own words, which may say anything; `non-blocking` before `blocking`.
    hook.unknown_callback.RULE,
    hook.invalid_output.RULE,
    hook.error.NON_BLOCKING,
    hook.blocked.RULE,
    hook.timeout.RULE,
    hook.error.RULE,
    # A missing grant before a rejection: clients with nobody to ask call it a rejection by the user.
    tool.permission.RULE,
    user.rejection.RULE,
    user.interrupt.UNSAID,
    # The client's own limits and channels, whose texts contain words of others (timeout, maximum).
    client.max_turns.RULE,
    client.control_timeout.RULE,
    client.incomplete_run.RULE,
    client.crash.USAGE,
    # MCP by stage, after what does not depend on the stage.
    mcp.connect.TOOL_MISSING,
    tool.permission.UNSAID,
    tool.input.RULE,
    mcp.discovery.PROBE,
    mcp.session_lost.RULE,
    mcp.auth.RULE,
    mcp.spawn.RULE,
    mcp.initialize.RULE,
    mcp.discovery.RULE,
    mcp.connect.RULE,
    mcp.call.IN_FLIGHT,
    mcp.call.RULE,
    # Tools: what the client said at the head of the result, then the fact that the tool failed.
    tool.timeout.RULE,
    tool.sandbox.RULE,
    tool.execution.RULE,
    # How an answer ended. Before the statuses, since most of these arrive with HTTP 200 or 400.
    model.refusal.RULE,
    model.content_filter.RULE,
    # The answer's cap before the prompt's length: both speak of tokens and a maximum.
    request.invalid.OUTPUT_CAP,
    prompt_too_long.compaction_too_long.RULE,
    prompt_too_long.context_window_exceeded.RULE,
    prompt_too_long.prompt_too_long.RULE,
    model.max_output_tokens.RULE,
    # Particular requests that wear a general status.
    request.too_large.RULE,
    request.image.RULE,
    request.document.UNREADABLE,
    request.document.RULE,
    # Accounts: the plan before the rate limit that it looks like; a policy before the login that the client asks for.
    account.usage_limit.RULE,
    account.billing.RULE,
    account.organization.RULE,
    account.authentication.TRANSIENT,
    # The transport: who answered, whether the answer broke off, how the connection failed. Codes are more particular than words, so kinds
    # that have their own codes come before `connect`, whose words (`unable to connect`) stand in front of all of them.
    network.proxy.RULE,
    network.dns.RULE,
    network.tls.RULE,
    account.authentication.RULE,
    account.organization.FORBIDDEN,
    network.stream_stall.RULE,
    network.stream_cut.RULE,
    model.malformed_tool_input.RULE,
    network.stream_error.RULE,
    network.overloaded.RULE,
    network.rate_limited.RULE,
    network.timeout.RULE,
    network.reset.RULE,
    network.connect.RULE,
    # What is left of requests and answers, by status or type alone.
    request.unsupported_field.RULE,
    request.invalid.RULE,
    network.server_error.RULE,
    client.crash.RULE,
    client.incomplete_run.FALL_THROUGH,
    # Where only the layer is known.
    network.stream_cut.UNSAID,
    network.connect.UNSAID,
    unknown.RULE,
)


_FAMILIES: Final = frozenset(Family) - {Family.UNKNOWN}


def classify(evidence: Evidence, rules: Sequence[Rule] = RULES) -> Verdict:
    """Judge one failure by the first rule that fits; one that no rule knows is `unknown`, with its text.

    It takes for granted that something failed: ask `not_a_failure` first where that is not sure.

    Args:
        evidence: What is known of it.
        rules: In the order in which they are asked; the last one takes everything.
    """
    found = ((rule, rule.match(evidence)) for rule in rules)
    rule, line = next((rule, line) for rule, line in found if line is not None)
    return _verdict(rule, line)


def explanation(word: str) -> str | None:
    """Give the page of a kind (`dns`, `tool/timeout`) or of a family with the list of its kinds; None for a word that is neither.

    A kind that several families have (`timeout`) gives the pages of all of them.
    """
    family, _, kind = word.strip().lower().replace(" ", "").rpartition("/")
    pages = {(rule.family, rule.kind): rule.page or "" for rule in RULES if rule.kind == kind and family in {"", rule.family}}
    if not family and kind in _FAMILIES:
        pages = {(Family(kind), Kind.UNKNOWN): _family_page(Family(kind))} | pages
    return "\n\n".join(map(inspect.cleandoc, pages.values())) or None


def _family_page(family: Family) -> str:
    summaries = {rule.kind: (rule.page or "").partition("\n")[0] for rule in RULES if rule.family is family}
    kinds = "\n".join(f"    {summary}" for summary in summaries.values())
    page = import_module(f"{__name__}.{family}").__doc__ or ""
    return f"{page.rstrip()}\n\nKinds\n{kinds}\n"


def _verdict(rule: Rule, line: str) -> Verdict:
    return Verdict(rule.family, rule.kind, rule.retry, error_text(line))
