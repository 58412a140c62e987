"""A process that is nothing but a receiver: prints its port, and runs until it is killed.

python standalone.py FOLDER
"""

import sys
from pathlib import Path

from aiohttp import web

from tracekit.capture.receiver import Receiver, add_routes
from tracekit.spool import Spool


async def application(folder: Path) -> web.Application:
    app = web.Application()
    add_routes(app, Receiver(Spool(folder, "otlp", rotate_bytes=100_000)))
    return app


def said(text: str) -> None:
    """Pass on the port that the runner tells: `======== Running on http://127.0.0.1:8080 ========`."""
    if "http://" in text:
        print(text.split("http://127.0.0.1:")[1].split(maxsplit=1)[0], flush=True)  # noqa: T201  (what its parent waits for)


if __name__ == "__main__":
    web.run_app(application(Path(sys.argv[1])), host="127.0.0.1", port=0, print=said, access_log=None)
