"""Claude Code's hooks as witnesses: what they are told becomes records, and they decide nothing.

An `http` hook comes to the endpoint, a `command` hook is a process of its own (`tracekit.capture.hook_main`). Both load no more than
they need: what is here must not bring in the HTTP server.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

    from tracekit.capture.hooks.endpoint import Endpoint
    from tracekit.spool import Spool


def add_routes(app: "web.Application", *, spool: "Spool", content: bool = False) -> "Endpoint":
    """Serve `POST /hook` and `POST /hook/{event}`, for as long as the application runs: always `{}`, at once. Gives what counts the gaps.

    Args:
        app: The application.
        spool: Where records go; closed with the application.
        content: Keep prompts and arguments too, stripped of secrets.
    """
    from tracekit.capture.hooks.endpoint import Endpoint  # noqa: PLC0415  (command hooks must not load the HTTP server)

    endpoint = Endpoint(spool, content=content)
    endpoint.add_routes(app)
    return endpoint
