"""tool: a tool call failed, was not allowed, or was never carried out.

What it means
    The model asked for a tool and did not get its result. The model sees the error and mostly mends it by itself, so these failures are
    part of normal work; what counts is how often, and what was left half done.

Evidence
    The tool boundaries, and the client's own wrappers at the head of a result (`<tool_use_error>`, `Exit code N`, `Command timed out
    after`). What a tool printed is never read for other families: a command that prints `529 Overloaded` is a failed command.

What to do
    See the kind. Whatever it is, look at what already happened before a call is repeated: tools change things.
"""

from tracekit.analysis.failures.tool import execution, input, permission, sandbox, sibling_cancelled, side_effect_uncertain, timeout  # noqa: A004

__all__ = ["execution", "input", "permission", "sandbox", "sibling_cancelled", "side_effect_uncertain", "timeout"]
