"""A few bytes that tell whether the content of a file is the one that was read before."""

from __future__ import annotations

import hashlib
import os
import stat

from indexer.confined.given import open_unbuffered
from indexer.extract.source import read_step

HEAD_BYTES, TAIL_BYTES = 32_000_000, 1_000_000
"""of a larger file only its beginning and its end count"""


def fingerprint(path: str) -> bytes:
    """16 bytes over the size and the content of the file at `path`; b"" when it cannot be read, or is none."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open_unbuffered(path) as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return b""
            left = HEAD_BYTES
            step = read_step(status.st_size, 1 << 20)
            while left > 0 and (block := stream.read(min(left, step))):
                digest.update(block)
                left -= len(block)
            size = stream.seek(0, 2)
            if size > HEAD_BYTES:
                stream.seek(max(HEAD_BYTES, size - TAIL_BYTES))
                digest.update(stream.read(TAIL_BYTES))
    except OSError:
        return b""
    digest.update(size.to_bytes(8, "little"))
    return digest.digest()
