"""The Claude Agent SDK: every line of its client with the time of its arrival, and what the host answers to it."""
