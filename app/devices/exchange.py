"""One meeting of this device with the others, through the folder: read what is new, write what they lack, learn it all.

A kill at any point loses nothing: a file is read in one transaction, what was written but not noted is written again,
and records that come twice are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from app.devices.brought import Renaming, bring, folders_above
from app.devices.choices import follow_choices, note_choices
from app.devices.device_keys import DeviceKeys, Generation, write_keys
from app.devices.group_record import follow_group, note_group
from app.devices.merged_state import is_merged, merge_records
from app.devices.naming import ADOPTED, Naming, Places
from app.devices.record_log import UNREAD, RecordLog, RecordsRead
from app.devices.records import DeviceCard, DeviceRecord, Removed, bodies
from app.devices.sealing import DevicesError, public_key
from app.devices.shared_folder import Delivery, SharedFolder, delivered, received
from app.federation.pen import bring_along
from app.learning.pick_keys import load_key
from app.paths import Paths
from app.search.reading import Reader, language_codes
from app.settings import Settings
from app.store import Store
from indexer.storage.catalogue import Catalogue
from indexer.text.language import stem

SLICE = 2_000
"""records in one file at most"""
MOST_FILES = 32
"""of one device; when there are more they become one"""
MOST_AHEAD = 1_000
"""keys that a device may have missed; after one with the greatest number of all nobody could be removed any more"""


class Met(Struct, frozen=True):
    """What came of a meeting."""

    n_received: int = 0
    n_sent: int = 0
    n_unread: int = 0
    """files that no key of this device opens: of others alone, or under a key that it lacks"""
    is_shut_out: bool = False
    """it can read nothing that another device has written"""

    def words(self) -> str:
        """For a person, as one line."""
        line = f"{self.n_received:,} received, {self.n_sent:,} sent"
        shut_out = (
            f"; nothing of the others can be read here ({self.n_unread:,} files): if they removed this device, "
            "`foltr-search devices leave`, then join with the code of now"
        )
        return line + (shut_out if self.is_shut_out else "")


class Meeting:
    """One exchange, step by step."""

    def __init__(
        self, paths: Paths, settings: Settings, store: Store, catalogue: Catalogue, keys: DeviceKeys, now: float
    ) -> None:
        self._paths, self._settings, self._store, self._catalogue = paths, settings, store, catalogue
        self.keys, self._now = keys, now
        self.log, self._folder = RecordLog(store, keys.device), SharedFolder(keys.folder)
        self._outdated: list[str] = []
        """files of this device under a former key"""

    def run(self) -> Met:
        names, is_new = self._folder.names(), self._store.value(ADOPTED) != self.keys.device
        if is_new:
            self.adopt()
        else:
            note_choices(self._store, self.log, self.keys, self._paths, self._settings)
        n_received, n_unread = self._read(names)
        if is_new:
            note_choices(self._store, self.log, self.keys, self._paths, self._settings)
        if is_merged(self._store, self.log, self._catalogue):  # else a state that was put back hears itself first
            note_group(self._store, self.log, self.keys.device)
        if self.keys.is_to_hand_on or not is_merged(self._store, self.log, self._catalogue):
            known = self.log.known()
            device = self.keys.device
            follow_group(self._store, self.log, device, known.counting, self._settings, now=self._now)
            self._renew_key(known.counting)
            follow_choices(self._store, known.counting, self._paths, self._settings)
            self._merge(known)
        n_sent = self._write()
        self._folder.remove(self._outdated)
        return Met(n_received, n_sent, n_unread, is_shut_out=n_unread > 0 and self._is_shut_out(names))

    def _is_shut_out(self, names: set[str]) -> bool:
        """Whether others wrote under the newest key, and by now under none of this device's."""
        read = {name for name, is_ours in self.log.files().items() if not (is_ours or name.startswith(UNREAD))}
        return bool(read and not read & names and self._others(self.log.counting()))

    def _others(self, counting: Sequence[DeviceRecord]) -> list[DeviceCard]:
        """The other devices that were not removed."""
        gone = {self.keys.device, *self.keys.newest.without, *(one.name for one in bodies(counting, Removed))}
        return [one for one in bodies(counting, DeviceCard) if one.name not in gone]

    def adopt(self) -> None:
        """Bring along what was learned here, and from now on be named as the others are."""
        keys, new = self.keys, Naming(self.keys.names, Places(self._catalogue.roots).of)
        if not self._catalogue.last_update and self._store.rows("SELECT 1 FROM picked_documents LIMIT 1"):
            raise DevicesError("what was learned here has no names without an index; run `foltr-search index` first")
        with self._store.transaction():
            again = keys.former_names and self._store.value(ADOPTED)
            old = Naming(keys.former_names, new.place) if again else Naming(load_key(self._paths.key, self._store))
            words = self._stems() if old.key != new.key else ()
            renaming = Renaming.between(old, new, words, folders_above(self._catalogue.paths()))
            bring(self._store, self.log, self._catalogue, renaming)
            self.log.add(DeviceCard(keys.device, (keys.name, public_key(keys.private))), now=self._now)
            self._store.set_value(ADOPTED, keys.device)
            bring_along(self._store)
            note_group(self._store, self.log, keys.device)
            self._merge()
        write_keys(self._paths, keys)  # for who has the former names open, and looks at this file

    def _stems(self) -> Iterator[str]:
        """All words that a query may be named by."""
        languages = language_codes(self._settings.search.languages)
        reading = Reader(self._paths.index, self._catalogue, languages=languages).reading
        for own in reading.vocabulary.lists:
            for word in own.terms(np.arange(len(own.ends))):
                yield stem(word, reading.languages[0])

    def _merge(self, known: RecordsRead | None = None) -> None:
        self._outdated += merge_records(
            self._store, self._paths, self._settings.learning, self.keys, self._catalogue, now=self._now, known=known
        )

    def _read(self, names: set[str]) -> tuple[int, int]:
        """Take what is new; how many records that were, and how many files cannot be opened."""
        known = self.log.files()
        ours = {name for name, is_ours in known.items() if is_ours}
        if ours and not names:
            raise DevicesError(
                f"the folder {self._folder.path} is empty and was not; wait until it is mounted and synchronised, or "
                "name another one: `foltr-search devices sync --folder FOLDER`"
            )
        self.log.forget_files(ours - names)
        # Taken before the reading, and by the key: what none opened may be finished since, or open with another one.
        stamps = {name: f"{self._folder.stamp(name)} {self.keys.newest.number}" for name in names - known.keys()}
        unread = {name for name, stamp in stamps.items() if UNREAD + stamp in known}
        new = sorted(stamps.keys() - unread)
        found = {name: delivered(self._folder.read(name), self.keys) for name in new}
        others = {name: stamps[name] for name in new if found[name] is None}
        if generation := self._handed_on(others):  # before a removed device is believed that goes on by the former one
            self._use(self.keys.with_generation(generation))
            return self._read(names)
        n_new = sum(self._take(name, stamps[name], *one) for name, one in found.items() if one)
        return n_new, len(unread) + len(others)

    def _handed_on(self, stamps: Mapping[str, str]) -> Generation | None:
        """The key that some device hands on to this one in these files, where it goes before the present one."""
        senders = [one.value[1] for one in self._others(self.log.counting())] if stamps else []
        found = [received(self._folder.read(name), self.keys, senders) for name in sorted(stamps)]
        for stamp in stamps.values():
            self.log.note_unread(stamp)
        near = [one for one in found if one and one.number < self.keys.newest.number + MOST_AHEAD]
        newest = max(near, key=lambda one: one.rank, default=self.keys.newest)
        return newest if newest.rank > self.keys.newest.rank else None

    def _take(self, name: str, stamp: str, delivery: Delivery, generation: Generation) -> int:
        """Of a file under the newest key its records; what others wrote under a former one they write again.

        Files of a device that was removed go: what was read of them is written again, too.
        """
        is_ours = delivery.device == self.keys.device
        if generation != self.keys.newest:
            if is_ours or delivery.device in self.keys.newest.without:
                self._outdated.append(name)
            else:
                self.log.note_unread(stamp)
            return 0
        with self._store.transaction():
            if any(isinstance(one.body, DeviceCard) for one in delivery.records):
                self.log.try_unread()  # it may have been handing on a key
            self.log.note_file(name, is_ours=is_ours)
            return self.log.take(delivery.records, name)

    def _use(self, keys: DeviceKeys) -> None:
        """From now on read and write by the newest of these keys, which nothing lies under yet."""
        self.log.read_anew()
        write_keys(self._paths, keys)
        self.keys = keys

    def _renew_key(self, counting: Sequence[DeviceRecord]) -> None:
        """A new key for those that stay, where a device was removed that has the present one."""
        removed = {one.name for one in bodies(counting, Removed)}
        if removed - set(self.keys.newest.without) and self.keys.device not in removed:
            self._use(self.keys.with_generation(self.keys.newest.next(removed)))
        if self.keys.is_to_hand_on:
            for card in self._others(counting):
                self._folder.hand_on(self.keys, card.value[1])
            self.keys = self.keys.handed_on()
            write_keys(self._paths, self.keys)

    def _write(self) -> int:
        """Write what lies in no file; how many records."""
        ours = [name for name, is_ours in self.log.files().items() if is_ours]
        if len(ours) > MOST_FILES:
            self.log.forget_files(ours)
            self._outdated += ours
        records = self.log.without_file()
        for start in range(0, len(records), SLICE):
            part = records[start : start + SLICE]
            name = self._folder.deliver(self.keys, part)
            with self._store.transaction():
                self.log.lie_in([record.id for record in part], name)
                self.log.note_file(name, is_ours=True)
        return len(records)
