"""Which session a person means by the beginning of an id, or by `latest`."""

from typing import Final

from tracekit.errors import TracekitError
from tracekit.store import SpanStore

_FEW: Final = 5


def find_session(store: SpanStore, text: str | None) -> str:
    """Give the id of the one session that a text means: its id, an unambiguous beginning of it, or `latest` (also None).

    Raises:
        TracekitError: `session-unknown` or `session-ambiguous`.
    """
    if text is None or text.lower() == "latest":
        return _latest(store)
    found = store.rows(
        "SELECT DISTINCT session_id FROM spans WHERE SUBSTR(session_id, 1, LENGTH($beginning)) = $beginning ORDER BY session_id",
        beginning=text.strip(),
    )
    ids = [str(row["session_id"]) for row in found]
    if text.strip() in ids:
        return text.strip()
    if not ids:
        raise TracekitError(f"no session in the store begins with {text!r}; `tracekit sessions` lists them", slug="session-unknown")
    if len(ids) > 1:
        some = ", ".join(ids[:_FEW]) + (", …" if len(ids) > _FEW else "")
        raise TracekitError(f"{len(ids)} sessions begin with {text!r}: {some}; give more of the id", slug="session-ambiguous")
    return ids[0]


def _latest(store: SpanStore) -> str:
    found = store.rows(
        "SELECT session_id, MAX(COALESCE(end_ns, start_ns)) AS last_ns FROM spans WHERE source <> 'marks' GROUP BY session_id"
        " ORDER BY last_ns DESC, session_id LIMIT 1"
    )
    if not found:
        raise TracekitError("the store holds no session yet; `tracekit import` brings yours in", slug="session-unknown")
    return str(found[0]["session_id"])
