"""How this device names opened documents: alone by its own key and absolute paths, else as all its devices do."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence

from msgspec import Struct

from app.devices.device_keys import DeviceKeys
from app.devices.record_log import RecordLog
from app.devices.records import Forgettable, Forgotten, Lesson, Moved, Opened, told_as_lessons
from app.learning.pick_keys import DOCUMENT_BYTES, Hasher, load_key
from app.learning.votes import Vote, Votes
from app.paths import Paths
from app.store import Store
from indexer.storage.catalogue import Catalogue

ADOPTED = "devices adopted"
"""names the device whose records this state is made of"""
PAGES_FORGOTTEN = "devices pages forgotten"
"""ids, joined, of the records to forget all pages that this state has carried out"""


class Places:
    """Names files the same on each of a person's computers: below the home, or below the indexed root they lie in."""

    def __init__(self, roots: Sequence[str]) -> None:
        home = os.path.expanduser("~")
        homes = dict.fromkeys([home, os.path.realpath(home)])
        outer = sorted(roots, key=len, reverse=True)
        named = [*((one, "~") for one in homes), *((root, os.path.basename(root)) for root in outer)]
        self._above = [(folder.rstrip(os.sep), name) for folder, name in named if name]

    def of(self, path: str) -> str:
        """ "~/tax/2024.pdf" or "notes/2024.pdf", its letters composed; a path elsewhere stays as it is."""
        plain = os.path.normpath(path)
        for folder, name in self._above:
            if plain == folder or plain.startswith(folder + os.sep):
                return unicodedata.normalize("NFC", name + plain[len(folder) :])
        return plain


class Naming(Struct, frozen=True):
    """A key, and how paths are written before they are hashed."""

    key: bytes
    place: Callable[[str], str] = str


def naming_of(store: Store, paths: Paths, catalogue: Catalogue, keys: DeviceKeys | None) -> Naming:
    """How the picks of this state are named."""
    if keys is None or store.value(ADOPTED) != keys.device:
        return Naming(load_key(paths.key, store))
    return Naming(keys.names, Places(catalogue.roots).of)


def hashed_content(hasher: Hasher, content: bytes) -> bytes:
    """The name of a document by its content; b"" where that is not known."""
    return hasher.name("content", content, DOCUMENT_BYTES) if content else b""


class SharedLog:
    """Writes down what is opened, learned and forgotten here, for this person's other devices."""

    def __init__(self, store: Store, keys: DeviceKeys, catalogue: Catalogue) -> None:
        self.log = RecordLog(store, keys.device)
        self._store, self._hasher, self._catalogue = store, Hasher(keys.names), catalogue

    def opened(self, query: bytes, names: tuple[bytes, bytes, bytes], path: str, part: str, *, now: float) -> None:
        """A document was opened; `names` are its hashed path, part and type."""
        doc_id = self._catalogue.parts_of(path).get(part)
        found = self._catalogue.documents([] if doc_id is None else [doc_id])
        content = next((row.content_hash for row in found.values()), b"")
        self.log.add(Opened(query, *names, hashed_content(self._hasher, content)), now=now)

    def moved(self, old: bytes, new: bytes) -> None:
        self.log.add(Moved(old, new))

    def learned(self, vote: Vote, n_picks: int, *, now: float) -> None:
        self.log.add(Lesson(vote, n_picks), now=now)

    def forgot(self, what: Forgettable) -> None:
        """Forget all of this kind, on every device."""
        with self._store.transaction():
            record = self.log.add(Forgotten(what))
            if what == "pages":
                self._store.set_value(PAGES_FORGOTTEN, (self._store.value(PAGES_FORGOTTEN) or b"") + record.id)

    def learned_anew(self, votes: Votes, *, n_pages: int, n_picks: int) -> None:
        """Replace all that was learned by this, on every device."""
        self.forgot("lessons")
        for lesson in told_as_lessons(votes.votes, n_pages, n_picks):
            self.log.add(lesson)


def shared_log(store: Store, keys: DeviceKeys | None, catalogue: Catalogue) -> SharedLog | None:
    """None for a device alone, and for one that has left."""
    if keys is None or keys.has_left or store.value(ADOPTED) != keys.device:
        return None
    return SharedLog(store, keys, catalogue)
