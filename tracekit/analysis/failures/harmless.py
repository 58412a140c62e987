"""What looks like a failure and is none: probes, warnings, notices."""

from typing import Final

from tracekit.analysis.failures.evidence import Evidence
from tracekit.analysis.failures.layer import MODEL
from tracekit.analysis.failures.mcp import discovery
from tracekit.analysis.failures.rule import wording
from tracekit.model import Status

_NOTICES: Final = wording(
    r"(?:\[warn\w*\] )?streaming (?:stall detected|completed with \d+ stall)",
    r"no response requested\.?$",
    r"waiting for api response\b",
    r"(?:\[?warn\w*\]?:? )?approaching .{0,40}limit",
    r"you've used \d+% of your",
    r"command did not complete within .{0,20}timeout and was moved to the background",
)


def not_a_failure(evidence: Evidence) -> str | None:
    """Say why this is no failure, or None where it may be one.

    A client probes every MCP server for resources and prompts, and one that only has tools answers `Method not found`. A warning that a
    stream stalls says nothing of how it ended. A boundary that ended well, and says nothing else, did not fail.
    """
    if (probe := discovery.PROBE.match(evidence)) is not None:
        return probe
    if (said := notice(evidence)) is not None:
        return said
    if evidence.status == Status.OK and evidence == _bare(evidence):
        return "it ended well"
    return None


def notice(evidence: Evidence) -> str | None:
    """Say so where a client only gives notice of something, or None."""
    return f"a notice: {evidence.quoted()}" if evidence.shown_in in MODEL and evidence.opens(_NOTICES) else None


def _bare(evidence: Evidence) -> Evidence:
    """The same boundary with nothing said of how it went."""
    return Evidence(
        layer=evidence.layer,
        boundary=evidence.boundary,
        status=evidence.status,
        tool_name=evidence.tool_name,
        mcp_server=evidence.mcp_server,
        hook_event=evidence.hook_event,
        trigger=evidence.trigger,
    )
