"""The least that a server in Python does with a POST: uvicorn and Starlette read a body and answer a few bytes.

    python -m benchmarks.bare_server PORT

benchmarks.federation_load sends it what it sends the group's server, in the same minutes: the ratio of the two says
more than seconds on a machine that others use.
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def _answer(request: Request) -> Response:
    size = len(await request.body())
    return Response(b'{"round":1,"received":%d}' % size, media_type="application/json")


def serve() -> None:
    """Serve until SIGTERM."""
    application = Starlette(routes=[Route("/v1/updates", _answer, methods=["POST"])])
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_config=None, access_log=False, http="h11")


if __name__ == "__main__":
    serve()
