"""What the deltas of the Messages API's streams bring: one table for all who read them."""

from typing import Final

CONTENT_OF_DELTA: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Field of each kind of delta that is content."""
