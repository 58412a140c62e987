# One definition of every check: people call `just check`, and so does .ci/run.
# A bare machine gets `just` with the rest: .venv/bin/pip install -e '.[dev]' && .venv/bin/just check

export PATH := justfile_directory() / ".venv" / "bin" + ":" + env("PATH")
# pyright's wrapper would ask the network for a newer version.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := "1"

# Everything that must hold before a change is handed in.
check: static tests

# What can be said without running the tests.
static: lint types contracts docs

# Style, for every file.
lint:
    ruff check .
    ruff format --check .

# Rewrite what the linter can rewrite.
tidy:
    ruff check --fix .
    ruff format .

# Two type checkers, both strict.
types:
    mypy
    pyright

# Who imports whom.
contracts:
    lint-imports --no-logo

# What the README and the explanations promise, and the examples in docstrings.
docs:
    python -m pytest tests/test_docs.py tests/test_public_names.py tracekit exporters

# All tests; `just tests -x tests/store` for some.
tests *arguments:
    python -m pytest {{ arguments }}

# Every notebook, from its first cell to its last.
notebooks *arguments:
    python -m pytest -m notebooks tests/notebooks {{ arguments }}

# The page and the report in a headless Chromium (`apt-get install chromium`); skipped where there is none.
page *arguments:
    python -m pytest tests/page tests/browser {{ arguments }}
