"""client: the program around the model (CLI, SDK, host) ended, gave up or stopped before the work was done.

What it means
    The model and the network were not asked, or were not the reason. A process died, a host waited in vain for its client, a limit on
    turns was reached, or a run ended with nothing to show.

Evidence
    Exit codes and signals of the client's own process, result subtypes (`error_max_turns`), the SDKs' exceptions (`ProcessError`, `Control
    request timeout`). A command's exit code is `tool / execution`.

What to do
    See the kind. The client's stderr and `--debug` say more than the exception that reaches the host.
"""

from tracekit.analysis.failures.client import control_timeout, crash, incomplete_run, max_turns

__all__ = ["control_timeout", "crash", "incomplete_run", "max_turns"]
