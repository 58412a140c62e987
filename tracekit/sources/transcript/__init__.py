"""Claude Code session transcripts: `~/.claude/projects/<project>/<session>.jsonl` and its sub-agents' files.

What the entries can and cannot say about time is the subject of this package. A line is stamped when its block was
*complete*; no line says when a request or a tool began. Each span therefore carries slack wide enough for the truth.
"""

from tracekit.sources.transcript.companion import companion_of, is_companion
from tracekit.sources.transcript.reader import TranscriptReader, looks_like_transcript, read

__all__ = ["TranscriptReader", "companion_of", "is_companion", "looks_like_transcript", "read"]
