"""What `claude -p --output-format stream-json` prints, from a file or live from a pipe.

Where times come from, best first:

- *Arrival*: whoever reads the pipe stamps each line. `stamp_line` keeps the stamp in a file: `{"arrival_ns": …, "line": …}`.
  With `waited_ns` a line may have lain unread for so long: whoever reads the pipe was busy elsewhere.
- *The line's own `timestamp`*, which late clients give assistant and user lines: when a block was complete, when a tool ended.
- *Neighbours*: a line without any time happened between the times around it, and its spans say so with slack.
  A result's duration bounds the beginning of its turn; `written_ns`, when the file was last written, bounds its last lines.

A stream that was killed has no result: its first lines are then bounded by the client's timeout for a request alone, and its
last ones, where nobody says when it was written, are taken to follow at once. Nothing else is assumed. A stream without any
time gives one Problem and no spans.
"""

from tracekit.sources.stream_json.entries import looks_like_stream_json, stamp_line
from tracekit.sources.stream_json.reader import read

__all__ = ["looks_like_stream_json", "read", "stamp_line"]
