"""The lab: the real client, a scripted model on loopback, and the truth about what ran when.

A scenario says what the model answers and how fast. The lab plays it to the client that the claude-agent-sdk wheel
carries, keeps what the run leaves behind (transcript, telemetry, stamped stream-json), and judges from the server's own
clock how much tool time really ran under its own response.

    python -m pip install claude-agent-sdk opentelemetry-proto
    python -m tests.lab OUT_DIR overlap hooks
"""
