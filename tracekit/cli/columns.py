"""What the columns of the store mean, for whoever writes SQL. A name means the same in every table, unless it is given with one."""

from typing import Final

MEANINGS: Final = {
    "agent_id": "the sub-agent it belongs to; NULL is the main agent",
    "aliases.canonical": "the key under which all witnesses of it meet",
    "aliases.key": "a key of a witness's own",
    "alone": "1: no other witness that counts saw the boundary",
    "attributes": "map of text to text: what else is known; the names are those of OpenTelemetry where it has one",
    "boundary": "which kind of boundary, as `tracekit explain` lists them",
    "copies.key": "identity of the boundary that was copied",
    "copies.owner": "the session that began first and owns the boundary",
    "copies.session_id": "the session that holds the copy, as forks and resumes do",
    "detail": "what the parser said; never the line's own text",
    "end_disagreement_ns": "gap between what the witnesses say of the end; 0 where they agree",
    "end_ns": "latest moment at which it can have ended, Unix nanoseconds; NULL is still open",
    "end_slack_ns": "how much earlier it can have ended; 0 is measured",
    "end_source": "the witness that gave the end",
    "entries": "JSON objects read so far",
    "events": "JSON text: moments inside it that the witness marked",
    "file_id": "the file it was read from, as in `files`",
    "form": "what kind of file it is",
    "head_digest": "digest of the first bytes: another file under the same name is read anew",
    "imported_ns": "when it was last read, Unix nanoseconds",
    "inode": "the file's number on its disk when it was read",
    "key": "the identity that the world gave it, by which witnesses meet: `req_…`, `msg_…#3`, `toolu_…`",
    "line": "number of the line, from 1; 0 is the file as a whole",
    "meta.name": "which fact about the store",
    "meta.value": "the fact",
    "modified_ns": "when the file had last been changed, Unix nanoseconds",
    "name": "of the tool, model, hook or server",
    "parent_key": "key of what it is part of",
    "path": "where the file is",
    "position": "byte of the file at which it begins",
    "rank": "of the witness: the best is 0",
    "read_to": "byte up to which the file has been read",
    "read_to_line": "number of the line that begins there",
    "reason": "why it could not be read, in words fit to be counted",
    "resume_at": "byte from which a file that has grown is read again",
    "resume_entries": "JSON objects before that byte",
    "resume_line": "number of the line at that byte",
    "sees": "how closely a witness that has the response open sees it: 2 each byte, 1 lines, 0 nobody has",
    "session_id": "the session",
    "size": "bytes of the file when it was read",
    "source": "the witness",
    "start_disagreement_ns": "gap between what the witnesses say of the start; 0 where they agree",
    "start_ns": "earliest moment at which it can have begun, Unix nanoseconds",
    "start_slack_ns": "how much later it can have begun; 0 is measured",
    "start_source": "the witness that gave the start",
    "status": "how it ended: unset, ok, error, cancelled",
    "witness_count": "how many witnesses saw it",
    "witnesses": "all of them, the best first",
}


def meaning(table: str, column: str) -> str:
    """Say what a column means; empty where nothing is known of it."""
    return MEANINGS.get(f"{table}.{column}") or MEANINGS.get(column, "")
