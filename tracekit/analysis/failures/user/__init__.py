"""user: a person stopped or turned down what the agent was doing. No failure of the software.

What it means
    Somebody pressed escape, or answered no. Counted apart from failures, since nothing is to be mended.

Evidence
    The client's own lines (`[Request interrupted by user]`, `The user doesn't want to proceed with this tool use`), the decision's source,
    the denial kind `user-rejected`.

What to do
    Nothing; but a tool that was running may have done its work.
"""

from tracekit.analysis.failures.user import interrupt, rejection

__all__ = ["interrupt", "rejection"]
