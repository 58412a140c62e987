"""Instruments claude-agent-sdk: every line of its client with the time of its arrival, and what the host answers to it.

ClaudeAgentInstrumentor().instrument()      # what `tracekit.instrument()` does, once claude_agent_sdk is imported
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from tracekit.instrument.sdk.replacing import Replacements

__all__ = ["ClaudeAgentInstrumentor"]


class ClaudeAgentInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Records what passes between a host and its client, by `query()` or by `ClaudeSDKClient`, over the SDK's transport or a user's.

    There are spans for the session, for each response from its prompt to its first result, and for what the client asks its host:
    hooks, permissions, tools in the process. The client's lines themselves are kept beside them, without content, as
    `tracekit import` reads them: they tell of requests, blocks, tools and retries.
    """

    _replacements: "Replacements | None" = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions that have the seams."""
        return ("claude-agent-sdk >= 0.2",)

    def _instrument(self, **_: Any) -> None:
        from tracekit.instrument.sdk.claude_agent.transport import Seams  # noqa: PLC0415
        from tracekit.instrument.sdk.replacing import Replacements  # noqa: PLC0415

        self._replacements = Replacements()
        try:
            Seams(self._replacements).put_in()
        except (ImportError, AttributeError, LookupError):
            self._uninstrument()
            raise

    def _uninstrument(self, **_: Any) -> None:
        if self._replacements is not None:
            self._replacements.restore()
        self._replacements = None
