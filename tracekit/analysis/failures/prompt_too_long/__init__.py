"""prompt_too_long: what was sent does not fit into the model's context window.

What it means
    The limit is one of tokens, and of this model behind this endpoint: a gateway may cap a model far below what the client believes.
    Bytes (`request / too_large`), a tool's own result (`tool / input`) and the answer's length (`model / max_output_tokens`) are others.

Evidence
    The error class `prompt_too_long`, the stop reason `model_context_window_exceeded`, the codes and phrases of the vendors. Most arrive
    as HTTP 400 with no code of their own. The client's own gauge is no evidence: it can say 24 % while the API says no.

What to do
    Send less: `/compact`, `/clear`, fewer tools and attachments, or a model with a larger window. The same request never passes.
"""

from tracekit.analysis.failures.prompt_too_long import compaction_too_long, context_window_exceeded, prompt_too_long

__all__ = ["compaction_too_long", "context_window_exceeded", "prompt_too_long"]
