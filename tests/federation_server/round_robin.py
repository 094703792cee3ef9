"""A small proxy on loopback: each connection goes to the next server that answers, as a balancer in front would do."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.ports import free_port
from tests.waiting import PATIENCE


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


@contextmanager
def balanced(*ports: int) -> Iterator[str]:
    """The address of a proxy before the servers on these ports; a server that is away is passed over."""
    turns, loop, port = itertools.cycle(ports), asyncio.new_event_loop(), free_port()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in ports:
            try:
                behind = await asyncio.open_connection("127.0.0.1", next(turns))
            except OSError:
                continue
            await asyncio.gather(_copy(reader, behind[1]), _copy(behind[0], writer))
            return
        writer.close()

    started = threading.Event()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", port):
            started.set()
            await asyncio.Event().wait()

    def work() -> None:
        with contextlib.suppress(RuntimeError):  # stopped from outside
            loop.run_until_complete(run())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
