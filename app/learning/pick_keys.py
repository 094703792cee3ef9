"""Names for what was picked that mean nothing without this device's key.

Every name is an HMAC-SHA256 with a key of 32 random bytes that lies beside the state file and never leaves the
device. A path is kept as the hashes of its parts in order, so that picks can follow a file or a folder that
was moved without anyone having to know its old name.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from app.store import StateError, Store
from console.durable import content_of, create_durably, replace_durably

KEY_BYTES = 32
TERM_BYTES = 8
PART_BYTES = 8
DOCUMENT_BYTES = 16

QueryKey = frozenset[bytes]
"""The hashed terms of a query, in no order."""

_RESTORED = "restored key"


def load_key(path: Path, store: Store) -> bytes:
    """The device's key, drawn from the operating system the first time; StateError when it cannot be used.

    A key that came with a restored state is put in its place first. If `store` is not kept, neither is a new key.
    """
    key = read_key(path, store)
    try:
        if key is None:
            key = os.urandom(KEY_BYTES)
            if store.is_kept:
                create_durably(path, key)
        elif store.is_kept and store.value(_RESTORED):
            replace_durably(path, key)
            store.set_value(_RESTORED, None, durable=True)
            store.erase()
    except FileExistsError:
        return load_key(path, store)
    except OSError as error:
        raise StateError(f"the key {path} cannot be made: {error.strerror}") from error
    return key


def read_key(path: Path, store: Store) -> bytes | None:
    """The device's key, None where there is none yet; StateError when it cannot be used."""
    try:
        key = store.value(_RESTORED) or content_of(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"the key {path} cannot be read: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise StateError(
            f"the key {path} has {len(key)} bytes, not {KEY_BYTES}: restore it from a backup, or delete it to "
            "start with a new one (picks are then forgotten)"
        )
    return key


def bring_key(store: Store, key: bytes) -> None:
    """Store the key in a state to be restored, so that both arrive as one: `load_key` puts it in its place."""
    store.set_value(_RESTORED, key)


LONGEST_REMEMBERED = 300
"""characters; longer terms are hashed anew each time, so that the cache has a bound in bytes, too"""


class Hasher:
    """Names things with one key."""

    def __init__(self, key: bytes, place: Callable[[str], str] = str) -> None:
        """`place` gives the path to hash for the path of a file."""
        self._key, self._place = key, place
        self.name = lru_cache(maxsize=65536)(self._name)
        self.path = lru_cache(maxsize=16384)(self._path)
        self._folder = lru_cache(maxsize=8192)(self._parts)

    def _name(self, purpose: str, value: bytes, n_bytes: int) -> bytes:
        return hmac.digest(self._key, purpose.encode() + b"\0" + value, "sha256")[:n_bytes]

    def query(self, terms: Iterable[str]) -> QueryKey:
        """The key of a query from its stemmed terms: order and repetition do not matter."""
        return frozenset(
            (self.name if len(term) <= LONGEST_REMEMBERED else self._name)("term", _encode(term), TERM_BYTES)
            for term in terms
        )

    def _path(self, path: str) -> bytes:
        """A path as the hashes of its parts, 8 bytes each, the root first."""
        return self._placed(self._place(os.path.normpath(path)))

    def _placed(self, path: str) -> bytes:
        folder, name = os.path.split(path)
        if not (folder and name):  # a root, or a name alone
            return self._parts(path)
        return self._folder(folder) + self.name("path", os.fsencode(name), PART_BYTES)

    def _parts(self, path: str) -> bytes:
        return b"".join(self.name("path", os.fsencode(part), PART_BYTES) for part in Path(path).parts)

    def part(self, part: str) -> bytes:
        """A part inside a file, as "message 3"."""
        return self.name("part", _encode(part), PART_BYTES)

    def type(self, type_: str) -> bytes:
        return self.name("type", _encode(type_), PART_BYTES)

    def document(self, path: bytes, part: bytes) -> bytes:
        """The name of a document from its hashed path and part."""
        return self.name("document", path + part, DOCUMENT_BYTES)


def folder_of(path: bytes) -> bytes:
    """The hashed folder of a hashed path; of the root, the empty path."""
    return path[:-PART_BYTES]


def move(path: bytes, old: bytes, new: bytes) -> bytes | None:
    """The hashed path after `old` (the file itself or a folder above it) became `new`; None when not concerned."""
    return new + path[len(old) :] if path.startswith(old) else None


def pack(query: QueryKey) -> bytes:
    """A query key as one stored value."""
    return b"".join(sorted(query))


def unpack(value: bytes) -> QueryKey:
    """The query key that `pack` stored."""
    return frozenset(value[i : i + TERM_BYTES] for i in range(0, len(value), TERM_BYTES))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
