"""The one road from files to the store: what is new or has grown is read, and committed together with the ledger."""

from tracekit.ingest.discover import default_roots, find_files
from tracekit.ingest.follow import Follower, transcripts_of
from tracekit.ingest.loader import Loader
from tracekit.ingest.road import Imported, import_paths, import_stamped, import_stream

__all__ = [
    "Follower",
    "Imported",
    "Loader",
    "default_roots",
    "find_files",
    "import_paths",
    "import_stamped",
    "import_stream",
    "transcripts_of",
]
