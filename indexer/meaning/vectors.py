"""The vectors of all passages, in one file beside the index.

    HEADER: what it is, the encoder's name, numbers a vector, records that are durable
    record: the content hash of its document, [start, end) of the passage in the text, a scale, int8 [n_numbers]

Records are appended and made durable before the header counts them, so that whatever a kill leaves behind them is cut
off by the next writer. Copies share their records, for they share the hash. Readers map the file and keep what
they mapped; dropping records writes a new file over the old name.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from indexer.errors import LockedError
from indexer.meaning.passages import VERSION, Passage
from indexer.postings import Rows, Vectors

FILE = "meaning.vectors"
LOCK = "meaning.lock"
HEADER = np.dtype([
    ("magic", "S16"), ("encoder", "S32"), ("n_numbers", "<u4"), ("passages", "<u4"), ("n_records", "<u8"),
])  # fmt: skip
MAGIC = b"foltr-meaning 1"
HASH_BYTES = 16


def record_type(n_numbers: int) -> np.dtype[np.void]:
    """The type of one record."""
    return np.dtype([
        ("content", f"V{HASH_BYTES}"), ("start", "<u4"), ("end", "<u4"), ("scale", "<f4"),
        ("vector", "i1", (n_numbers,)),
    ])  # fmt: skip


def no_records() -> Rows:
    """What a file holds that is not there."""
    return np.zeros(0, dtype=record_type(1))


def records_of(content: bytes, passages: Sequence[Passage], vectors: Vectors) -> Rows:
    """The records of one document; `vectors` [n_passages, n_numbers] keep 127 steps of their largest number."""
    made = np.zeros(len(passages), dtype=record_type(vectors.shape[1]))
    made["content"] = np.void(content)
    made["start"], made["end"] = [p.start for p in passages], [p.end for p in passages]
    scale = np.maximum(np.abs(vectors).max(axis=1), 1e-12) / 127
    made["scale"], made["vector"] = scale, np.rint(vectors / scale[:, None])
    return made


def hashes(records: Rows) -> npt.NDArray[Any]:
    """The content hashes [n] in a type that can be sorted and compared."""
    return np.ascontiguousarray(records["content"]).view(f"S{HASH_BYTES}")


def read(folder: Path, encoder: str) -> Rows:
    """The durable records, mapped; none where this encoder made none."""
    try:
        with open(folder / FILE, "rb") as file:
            header = _header(file.read(HEADER.itemsize))
            if header is None or header["encoder"] != encoder.encode() or header["passages"] != VERSION:
                return no_records()
            dtype = record_type(int(header["n_numbers"]))
            n = min(int(header["n_records"]), (os.fstat(file.fileno()).st_size - HEADER.itemsize) // dtype.itemsize)
            return np.memmap(file, dtype, "r", HEADER.itemsize, (n,)) if n else np.zeros(0, dtype=dtype)
    except FileNotFoundError:
        return no_records()


def _header(content: bytes) -> Any:
    if len(content) < HEADER.itemsize:
        return None
    header = np.frombuffer(content, HEADER)[0]
    return header if header["magic"] == MAGIC else None


def state_of(folder: Path) -> tuple[int, int]:
    """What changes when the file does; (0, 0) where there is none."""
    try:
        found = os.stat(folder / FILE)
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_size


def destroy(folder: Path) -> None:
    """Remove all vectors."""
    (folder / FILE).unlink(missing_ok=True)


class VectorWriter:
    """The one writer of a folder's vectors; a context manager that holds a lock of its own."""

    def __init__(self, folder: Path, *, encoder: str, n_numbers: int) -> None:
        """Raises LockedError while another process makes vectors; what another encoder made is thrown away."""
        self._folder, self._encoder, self._dtype = folder, encoder, record_type(n_numbers)
        self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise LockedError("another process is making the vectors of meaning") from error
        records = read(folder, encoder)
        self.n_records = len(records)
        if not self.n_records or records.dtype != self._dtype:
            self._replace(np.zeros(0, dtype=self._dtype))
        else:
            self._file = open(folder / FILE, "rb+")  # noqa: SIM115 (closed by `close`)
            self._file.truncate(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others write."""
        self._file.close()
        os.close(self._lock)

    @property
    def _end(self) -> int:
        return HEADER.itemsize + self.n_records * self._dtype.itemsize

    def append(self, records: Rows) -> None:
        """Add records, durable when this returns."""
        self._file.seek(self._end)
        self._file.write(records.tobytes())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.n_records += len(records)
        self._file.seek(0)
        self._file.write(self._head())
        self._file.flush()

    def keep(self, contents: npt.NDArray[Any]) -> None:
        """Drop the records of all documents but those of these hashes (sorted)."""
        records = read(self._folder, self._encoder)
        own = hashes(records)
        places = np.minimum(np.searchsorted(contents, own), max(len(contents) - 1, 0))
        living = contents[places] == own if len(contents) else np.zeros(len(own), dtype=bool)
        if not living.all():
            self._file.close()
            self._replace(np.asarray(records[living]))

    def _replace(self, records: Rows) -> None:
        self.n_records = len(records)
        descriptor, temporary = tempfile.mkstemp(prefix=f"{FILE}.", dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._head() + records.tobytes())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._folder / FILE)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._file = open(self._folder / FILE, "rb+")  # noqa: SIM115 (closed by `close`)

    def _head(self) -> bytes:
        n_numbers = self._dtype["vector"].shape[0]
        return np.array((MAGIC, self._encoder.encode(), n_numbers, VERSION, self.n_records), dtype=HEADER).tobytes()
