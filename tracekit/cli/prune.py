"""`tracekit prune`: delete what recorders wrote and the store has."""

import time
from typing import Annotated

import typer

from tracekit.cli import output
from tracekit.cli.options import AsJson, Store, since_ns
from tracekit.report.units import size


def command(
    *,
    older_than: Annotated[str, typer.Option("--older-than", metavar="WHEN", help="Last written before: `2h`, `14d`, a date.")] = "14d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the files, and leave them.")] = False,
    as_json: AsJson = False,
    store: Store = None,
) -> None:
    """Delete files of the spool that are in the store to their last line and that nobody writes to any more.

    Sessions stay as they are: what the files told is in the store. Without them the store cannot be built anew from the spool.
    """
    from tracekit.ingest.prune import remove, spent
    from tracekit.spool import spool_folder

    now_ns = time.time_ns()
    found = spent(store, spool_folder(), before_ns=since_ns(older_than, now_ns=now_ns) or 0)
    done = found if dry_run else remove(found)
    if as_json or dry_run:
        output.emit(done, as_json=as_json, as_of_ns=now_ns, empty="No file of the spool is spent.", deleted=not dry_run)
    else:
        output.write(f"{len(done)} of {len(found)} files deleted, {size(sum(file.size for file in done))}")
    if left := len(found) - len(done):
        output.note(f"{left} of {len(found)} files could not be deleted; check the permissions of {spool_folder()}")
        raise typer.Exit(1)
