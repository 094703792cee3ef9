"""Ports for servers that bind one only after it is written into their settings."""

from __future__ import annotations

import errno
import os
import random
import socket

LOWEST, HIGHEST, PROCESSES = 10_000, 32_000, 8
OWN = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PROCESSES
"""which eighth of the ports this process of a run takes: one that a server of another process left comes again"""
CHOOSE = random.SystemRandom()  # hypothesis seeds the module's own generator, in every process alike


def free_port() -> int:
    """A port of this machine that nobody listens on.

    It is below those that the system gives to whoever asks for any: between this look and the server's start, neither
    an outgoing connection nor another process of this run is likely to take it.
    """
    while True:
        port = CHOOSE.randrange(LOWEST + OWN, HIGHEST, PROCESSES)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return port
