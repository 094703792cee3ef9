"""All devices' records merged into this device's state: pick memory, votes, pages that were forgotten elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from app.devices.device_keys import DeviceKeys
from app.devices.naming import PAGES_FORGOTTEN, hashed_content, naming_of
from app.devices.record_log import RecordLog, RecordsRead
from app.devices.records import (
    ID_BYTES,
    DeviceRecord,
    Forgotten,
    GroupTold,
    Opened,
    forgotten,
    lessons_of,
    openings_of,
    picks_of,
)
from app.learning import outcomes
from app.learning.learner import Learner
from app.learning.pick_keys import Hasher
from app.learning.picks import PickedDocument, Picks
from app.paths import Paths
from app.search.shown_page import forget_shown
from app.settings import LearningSettings
from app.store import Store
from indexer.storage.catalogue import Catalogue

MERGED = "devices merged"
"""digest of the records the state was made from; and the index commit, if not all their documents were found in it"""
SURPLUS = 20_000
"""most records kept that do not count, reached after years: forgetting elsewhere may revive an older one"""
FEW = 8
"""most documents of equal content among which an opening is matched by content"""


def is_merged(store: Store, log: RecordLog, catalogue: Catalogue) -> bool:
    """Whether the state is what all records say."""
    done = (store.value(MERGED) or b"").split(b" ")
    return done[0] == log.stamp() and done[1:] in ([], [b"%d" % catalogue.generation])


def merge_records(
    store: Store, paths: Paths, settings: LearningSettings, keys: DeviceKeys, catalogue: Catalogue,
    known: RecordsRead | None,
) -> Sequence[str]:  # fmt: skip
    """Make the state what all records say, in one transaction; `known` is what they were shortly before.

    Records that no longer mean anything are dropped; returns the files of this device that hold such ones.
    """
    log, naming = RecordLog(store, keys.device), naming_of(store, paths, catalogue, keys)
    with store.transaction():
        known = log.known(known)
        records, counting = known.records, known.counting
        present = {record.id for record in counting}
        gone = [record.id for record in forgotten(records)]
        gone += [one.id for one in records if isinstance(one.body, GroupTold) and one.id not in present]  # has keys
        if len(records) - len(counting) > SURPLUS:
            gone = [record.id for record in records if record.id not in present]
        outdated = log.drop(gone)
        _forget_pages(store, counting)
        openings = openings_of(counting)
        document_of, are_all_here = _documents(catalogue, Hasher(naming.key, naming.place), openings)
        picks = Picks(store, naming.key, enabled=settings.enabled and settings.remember_picks, place=naming.place)
        picks.hold(*picks_of(openings, document_of))
        learner, lessons, now = Learner(store, settings=settings), lessons_of(counting), time.time()
        learner.hold(lessons.votes, n_pages=lessons.n_pages, n_picks=lessons.n_picks, updated=lessons.updated, now=now)
        found = log.stamp()
        store.set_value(MERGED, found if are_all_here else found + b" %d" % catalogue.generation)
    store.erase()
    return outdated


def _forget_pages(store: Store, counting: Sequence[DeviceRecord]) -> None:
    """Forget all pages, once for each time that the person asked for it on any device."""
    followed = store.value(PAGES_FORGOTTEN) or b""
    known = {followed[i : i + ID_BYTES] for i in range(0, len(followed), ID_BYTES)}
    asked = {one.id for one in counting if isinstance(one.body, Forgotten) and one.body.what == "pages"}
    if asked - known:
        store.erase("interactions", "models", "snapshots")
        outcomes.clear(store)
        forget_shown(store)
        store.set_value(PAGES_FORGOTTEN, b"".join(sorted(asked | known)))


def _documents(
    catalogue: Catalogue, hasher: Hasher, openings: Sequence[tuple[float, Opened]]
) -> tuple[Callable[[Opened], PickedDocument], bool]:
    """Which document here each opening is of (at its place, else one of its content), and whether all were found."""
    wanted = [opening for _, opening in openings]
    contents, places = {one.content for one in wanted}, {(one.path, one.part) for one in wanted}
    here: set[tuple[bytes, bytes]] = set()
    by_content: dict[bytes, list[tuple[bytes, bytes]]] = {}
    sql = "SELECT f.path, d.part, d.content_hash FROM documents d JOIN files f USING (file_id)"
    for path, part, content in catalogue.connection.execute(sql) if wanted else ():
        place = hasher.path(os.fsdecode(path)), hasher.part(part)
        if place in places:
            here.add(place)
        name = hashed_content(hasher, content)
        if name in contents:
            by_content.setdefault(name, []).append(place)

    def document_of(opening: Opened) -> PickedDocument:
        place, alike = (opening.path, opening.part), by_content.get(opening.content, [])
        if place not in here and 0 < len(alike) <= FEW:
            place = min(alike)
        return PickedDocument(hasher.document(*place), *place, opening.type, 0.0, 0.0)

    are_all_here = all((one.path, one.part) in here or one.content in by_content for one in wanted)
    return document_of, are_all_here
