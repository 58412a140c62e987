"""The way to a collector: bodies of OTLP in JSON, posted one after another, by the retry rules of the OTLP specification."""

import gzip
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple, cast

from tracekit.errors import TracekitError

_RETRYABLE: Final = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
_TRIES: Final = 5
_LONGEST_WAIT: Final = 30.0
_ANSWER_SECONDS: Final = 30.0
_ANSWER_BYTES: Final = 4_096


class Sent(NamedTuple):
    """What a collector was given."""

    bodies: int
    rejected: int
    """Spans that it did not take, by its own word."""
    message: str
    """Why, in its last words."""


def send(bodies: Iterable[str], endpoint: str, *, headers: Mapping[str, str], sleep: Callable[[float], None] = time.sleep) -> Sent:
    """Post every body to a collector.

    Args:
        bodies: OTLP in JSON.
        endpoint: Base URL; `/v1/traces` is added where it does not end so.
        headers: Sent with every body, such as an authorization.
        sleep: Waits so many seconds before a body is sent again.

    Raises:
        TracekitError: `bad-endpoint` where the endpoint is no http or https URL; `collector-failed` where a body was not taken, after
            five tries if the collector asked for another.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise TracekitError(f"{endpoint} is no endpoint; write http://HOST:PORT or https://HOST:PORT", slug="bad-endpoint")
    url = endpoint if endpoint.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"
    sent = Sent(0, 0, "")
    for body in bodies:
        rejected, message = _posted(_request(url, body, headers), url, sleep)
        sent = Sent(sent.bodies + 1, sent.rejected + rejected, message or sent.message)
    return sent


def _request(url: str, body: str, headers: Mapping[str, str]) -> urllib.request.Request:
    kind = {"Content-Type": "application/json", "Content-Encoding": "gzip", "User-Agent": "tracekit"}
    packed = gzip.compress(body.encode(), compresslevel=5)
    return urllib.request.Request(url, packed, headers={**headers, **kind}, method="POST")  # noqa: S310  (http and https only, see above)


def _posted(request: urllib.request.Request, url: str, sleep: Callable[[float], None]) -> tuple[int, str]:
    wait = 1.0
    for last in (*[False] * (_TRIES - 1), True):
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310  (as above)
                return _rejected(answer.read(_ANSWER_BYTES))
        except urllib.error.HTTPError as error:
            said = f"{error.code} {error.reason}"
            asked = error.headers.get("Retry-After", "")
            error.close()
            if last or error.code not in _RETRYABLE:
                raise _failed(url, said) from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            asked = ""
            if last:
                raise _failed(url, str(getattr(error, "reason", error))) from error
        sleep(min(_LONGEST_WAIT, float(asked) if asked.isdecimal() else wait))
        wait *= 2
    raise AssertionError  # the last try returns or raises


def _failed(url: str, said: str) -> TracekitError:
    message = f"the collector at {url} did not take the traces: {said}; nothing is lost, export again when it does"
    return TracekitError(message, slug="collector-failed")


def _rejected(answer: bytes) -> tuple[int, str]:
    """What a collector says of the spans that it did not take (`partialSuccess`); most say nothing."""
    try:
        found = json.loads(answer or b"{}")
    except ValueError:
        return 0, ""
    partial = cast("dict[str, object]", found).get("partialSuccess") if isinstance(found, dict) else None
    told = cast("dict[str, object]", partial) if isinstance(partial, dict) else {}
    number = str(told.get("rejectedSpans", 0))
    return int(number) if number.isdecimal() else 0, str(told.get("errorMessage", ""))
