"""Spans at every boundary, from inside the agent's own process."""
