"""A reverse proxy for the Messages API: bytes pass through as they came and at once, and what passed when goes on record.

`add_routes` brings it into an aiohttp application; whatever no other route takes is passed on to the upstream.
"""

from tracekit.capture.gateway.gateway import Gateway, add_routes
from tracekit.capture.gateway.upstream import Upstream

__all__ = ["Gateway", "Upstream", "add_routes"]
