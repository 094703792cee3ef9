"""The process in which texts become vectors: a worker of its own with one thread, the encoder, and no rights else.

It loads the encoder, gives up what it may do (indexer.confined.confinement), and then takes texts and gives vectors
over a pipe until its parent is gone. So neither a model of somebody's nor a text that breaks what runs it can read a
file, reach a network or start anything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import msgspec
import numpy as np

from indexer.confined.confinement import available, confine_reader, end_with_parent
from indexer.extract.workers.pool import how_it_ended, started
from indexer.extract.workers.reading_process import become_quiet, let_go, limit_cpu, limit_memory
from indexer.meaning.encoder import EncodingFailed, NoEncoder, SentenceEncoder
from indexer.postings import Vectors

MEMORY_MB = 1_024
"""of address space that texts may add to that of the loaded encoder"""
SECONDS = 120.0
"""processor time for the texts of one call"""

PATIENCE = 1.0
"""seconds for a process to be gone whose line is"""
MAX_ANSWER = 1 << 22
"""bytes of the vectors of one call"""


class EncodingProcess:
    """The parent's side; for one thread."""

    def __init__(self, load: Callable[[], SentenceEncoder]) -> None:
        """`load` can be named across processes; NoEncoder when it raises that."""
        self._n_numbers = 0  # as many as the first vector has
        self._line, end = Pipe()
        self._process = started(work, load, end, from_copy=True)
        end.close()
        if why := self._answer().decode():
            self.close()
            raise NoEncoder(why)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's; EncodingFailed when there is no answer, and then this process is of no more use."""
        try:
            self._line.send_bytes(msgspec.msgpack.encode(list(texts)))
        except OSError as error:
            raise self._ended() from error
        answer = self._answer()
        vectors = np.frombuffer(answer[: len(answer) // 4 * 4], dtype=np.float32)
        self._n_numbers = self._n_numbers or vectors.size // len(texts)
        if vectors.size != self._n_numbers * len(texts) or not vectors.size or not np.isfinite(vectors).all():
            raise EncodingFailed(f"the encoder gave {len(answer)} bytes for {len(texts)} texts, which are no vectors")
        return vectors.reshape(len(texts), -1)

    def _answer(self) -> bytes:
        try:
            return self._line.recv_bytes(MAX_ANSWER)
        except (EOFError, OSError) as error:
            raise self._ended() from error

    def _ended(self) -> EncodingFailed:
        self._process.join(PATIENCE)
        return EncodingFailed(f"the encoder's process ended: {how_it_ended(self._process.exitcode)[1]}")

    def close(self) -> None:
        """End it now."""
        self._line.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def work(load: Callable[[], SentenceEncoder], line: Connection) -> None:
    """Answer with "" or why there is no encoder, then with the vectors of each list of texts; the process's entry."""
    if sys.platform == "linux":
        let_go({line.fileno()})
        end_with_parent()
    become_quiet()
    try:
        encoder = load()
    except NoEncoder as error:
        line.send_bytes(str(error).encode())
        return
    if available():
        confine_reader(["indexer"])  # there is one thread: neither numpy nor the encoder has begun another
    limit_memory(MEMORY_MB)
    line.send_bytes(b"")
    try:
        while True:
            texts = msgspec.msgpack.decode(line.recv_bytes(), type=list[str])
            limit_cpu(time.process_time() + SECONDS)
            line.send_bytes(encoder.encode(texts).tobytes())
    except (EOFError, OSError):
        return
