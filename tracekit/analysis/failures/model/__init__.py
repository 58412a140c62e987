"""model: the API answered, and the answer is no use: refused, filtered, cut off at its limit, or malformed.

What it means
    Transport and account are fine. The model, or the checks around it, decided how the answer ends. Most of these arrive with HTTP 200,
    and OpenTelemetry counts them as successes.

Evidence
    Stop reasons (`refusal`, `max_tokens`), the filter's error message, the client's phrases for them.

What to do
    Change what is asked: reword, go back, ask for less at once, or choose another model. The same conversation mostly ends the same way.
"""

from tracekit.analysis.failures.model import content_filter, malformed_tool_input, max_output_tokens, refusal

__all__ = ["content_filter", "malformed_tool_input", "max_output_tokens", "refusal"]
