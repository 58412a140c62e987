"""hook: a hook of yours blocked something, or failed itself.

What it means
    Hooks are programs that the client runs at its own events. One that says no did its duty; one that breaks is a fault of the hook, and
    mostly stops nothing. Both look alike from afar.

Evidence
    The hook boundary and its outcome, exit codes (2 blocks, other codes do not), the client's `… hook error` lines.

What to do
    See the kind. `claude --debug hooks` prints what each hook was given and what it answered.
"""

from tracekit.analysis.failures.hook import blocked, error, invalid_output, timeout, unknown_callback

__all__ = ["blocked", "error", "invalid_output", "timeout", "unknown_callback"]
