"""Instrumentors, one a library: each wraps what the library itself offers, and can be undone."""
