"""Real sessions unpacked for a test, and what a store holds in a form that can be compared."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.store import open_store

TRANSCRIPTS = Path(__file__).parent.parent / "data" / "transcripts"
CAPTURES = Path(__file__).parent.parent / "data" / "captures"

Held = list[dict[str, object]]


@pytest.fixture(scope="session")
def transcripts() -> dict[str, bytes]:
    """The bytes of each session file, by its path under the data folder."""
    found: dict[str, bytes] = {}
    for path in sorted(TRANSCRIPTS.rglob("*.jsonl.xz")):
        found[str(path.relative_to(TRANSCRIPTS).with_suffix(""))] = lzma.decompress(path.read_bytes())
    assert found
    return found


@pytest.fixture
def held() -> Callable[[Path], dict[str, Held]]:
    """All that a store holds, without what differs from one import to the next."""

    def read(path: Path) -> dict[str, Held]:
        with open_store(str(path)) as store:
            return {
                "spans": store.rows("SELECT * FROM spans ORDER BY ALL"),
                "problems": store.rows("SELECT * FROM problems ORDER BY ALL"),
                "copies": store.rows("SELECT * FROM copies ORDER BY ALL"),
                "aliases": store.rows("SELECT * FROM aliases ORDER BY ALL"),
                "files": store.rows("SELECT path, form, size, read_to, resume_at, resume_line, entries FROM files ORDER BY ALL"),
            }

    return read


def place(root: Path, files: dict[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root
