"""The questions as a library: `tracekit.open(...)`, one method a question, Polars frames."""
