"""The questions. Each is a pair of files: `x.sql` selects, `x.py` shapes what comes back into findings."""
