"""One meeting of this device with the others: read what is new, write what they lack, merge it all.

A kill loses nothing: a file is read in one transaction, what was not noted is written again, and duplicates count once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from app.devices.choices import follow_choices, note_choices
from app.devices.device_keys import DeviceKeys, Generation, write_keys
from app.devices.group_record import follow_group, note_group
from app.devices.learned_alone import Renaming, bring, folders_above
from app.devices.meeting_place import Delivery, FullError, MeetingPlace, delivered, handover_of, received
from app.devices.merged_state import is_merged, merge_records
from app.devices.naming import ADOPTED, Naming, Places
from app.devices.record_log import UNREAD, RecordLog, RecordsRead
from app.devices.records import DeviceCard, DeviceRecord, Removed, bodies
from app.devices.sealing import DevicesError, public_key
from app.devices.server_depot import ServerDepot, is_server
from app.devices.shared_folder import SharedFolder
from app.federation.answering_device import bring_along
from app.learning.pick_keys import load_key
from app.paths import Paths
from app.search.open_commit import Reader, language_codes
from app.settings import Settings
from app.store import Store
from indexer.storage.catalogue import Catalogue
from indexer.text.language import stem

SLICE = 2_000
"""records in one file at most"""
MOST_FILES = 32
"""of one device; when there are more, they are gathered into few"""
LARGEST_HANDOVER = 16_384
"""bytes of a file that may hand on a key; of larger files that cannot be opened no more is kept in memory"""
SHUT_OUT = "shut out"
"""in the state: the number of the key with which nothing of the others can be read"""
MOST_AHEAD = 1_000
"""keys that a device may have missed; one further ahead is refused: no key could follow the greatest number"""


class Met(msgspec.Struct, frozen=True):
    """What came of a meeting."""

    n_received: int = 0
    n_sent: int = 0
    n_unread: int = 0
    """files that no key of this device opens: meant for others only, or under a key that it lacks"""
    is_shut_out: bool = False
    """it can read nothing that another device has written"""

    def words(self) -> str:
        """For a person, as one line."""
        line = f"{self.n_received:,} received, {self.n_sent:,} sent"
        shut_out = (
            f"; nothing of the others can be read here ({self.n_unread:,} files): if they removed this device, run "
            "`foltr-search devices leave`, then join again with the code that they show now"
        )
        return line + (shut_out if self.is_shut_out else "")


def common_place(keys: DeviceKeys, settings: Settings) -> MeetingPlace:
    """Where the devices with these keys meet."""
    return ServerDepot(keys, settings.federation) if is_server(keys.folder) else SharedFolder(keys.folder)


class Meeting:
    def __init__(self, paths: Paths, settings: Settings, store: Store, catalogue: Catalogue, keys: DeviceKeys) -> None:
        self._paths, self._settings, self._store, self._catalogue = paths, settings, store, catalogue
        self.keys = keys
        self.log, self._place = RecordLog(store, keys.device), common_place(keys, settings)
        self._names = set[str]()
        self._outdated: list[str] = []
        """files of this device under a former key"""

    def run(self) -> Met:
        self._names, is_new = self._place.names(), self._store.value(ADOPTED) != self.keys.device
        if is_new:
            self.adopt()
        else:
            note_choices(self._store, self.log, self.keys, self._paths, self._settings)
        n_received, n_unread = self._read()
        if is_new:
            note_choices(self._store, self.log, self.keys, self._paths, self._settings)
        if is_merged(self._store, self.log, self._catalogue):  # else a restored state first hears what it said before
            note_group(self.log)
        if self.keys.is_to_hand_on or not is_merged(self._store, self.log, self._catalogue):
            known = self.log.known()
            follow_group(self.log, known.counting, self._settings, now=time.time())
            self._renew_key(known.counting)
            follow_choices(self._store, known.counting, self._paths, self._settings)
            self._merge(known)
        n_sent = self._write()
        self._place.remove(self._outdated)
        is_shut_out = self._place.is_shut or self._is_shut_out(n_received, n_unread)
        return Met(n_received, n_sent, n_unread, is_shut_out=is_shut_out)

    def _is_shut_out(self, n_received: int, n_unread: int) -> bool:
        """Whether others once wrote under a key of this device, but no longer do. It stays so until the device hears
        something or gets another key: an old file of theirs that is put back says nothing new."""
        read = {name for name, is_ours in self.log.files().items() if not (is_ours or name.startswith(UNREAD))}
        key, was = str(self.keys.newest.number).encode(), self._store.value(SHUT_OUT)
        now = bool(read and not read & self._names and self._others(self.log.counting()))
        found = key if n_unread and (now or (was == key and not n_received)) else None
        if found != was:
            self._store.set_value(SHUT_OUT, found)
        return found is not None

    def _others(self, counting: Sequence[DeviceRecord]) -> list[DeviceCard]:
        """The other devices that were not removed."""
        gone = {self.keys.device, *self.keys.newest.without, *(one.name for one in bodies(counting, Removed))}
        return [one for one in bodies(counting, DeviceCard) if one.name not in gone]

    def adopt(self) -> None:
        """Bring along what was learned here, and from now on name things as the other devices do."""
        keys, new = self.keys, Naming(self.keys.names, Places(self._catalogue.roots).of)
        if not self._catalogue.last_update and self._store.rows("SELECT 1 FROM picked_documents LIMIT 1"):
            raise DevicesError("what was learned here can be shared only with an index; run `foltr-search index` first")
        with self._store.transaction():
            again = keys.former_names and self._store.value(ADOPTED)
            old = Naming(keys.former_names, new.place) if again else Naming(load_key(self._paths.key, self._store))
            words = self._stems() if old.key != new.key else ()
            renaming = Renaming.between(old, new, words, folders_above(self._catalogue.paths()))
            bring(self._store, self.log, self._catalogue, renaming)
            self.log.add(DeviceCard(keys.device, (keys.name, public_key(keys.private))))
            self._store.set_value(ADOPTED, keys.device)
            bring_along(self._store)
            note_group(self.log)
            self._merge()
        write_keys(self._paths, keys)  # for processes that use the former names and watch this file

    def _stems(self) -> Iterator[str]:
        """All words that a query may be named by."""
        languages = language_codes(self._settings.search.languages)
        reading = Reader(self._paths.index, self._catalogue, languages=languages).reading
        for own in reading.vocabulary.lists:
            for word in own.terms(np.arange(len(own.ends))):
                yield stem(word, reading.languages[0])

    def _merge(self, known: RecordsRead | None = None) -> None:
        learning = self._settings.learning
        self._outdated += merge_records(self._store, self._paths, learning, self.keys, self._catalogue, known)

    def _read(self) -> tuple[int, int]:
        """Take what is new; returns how many records, and how many files cannot be opened."""
        names, known = self._names, self.log.files()
        ours = {name for name, is_ours in known.items() if is_ours}
        if ours and not names and self._place.emptiness:
            raise DevicesError(self._place.emptiness)
        self.log.forget_files(ours - names)
        theirs = known.keys() - ours
        if theirs & names:  # else nothing of the others is there, as for one that is shut out
            self.log.pass_over(name for name in theirs if name.removeprefix(UNREAD).split()[0] not in names)
        # Taken before reading, and with the key: a file that no key opened may be complete later, or open with another.
        stamps = {name: f"{self._place.stamp(name)} {self.keys.newest.number}" for name in names - known.keys()}
        unread = {name for name, stamp in stamps.items() if UNREAD + stamp in known}
        found, others = {}, {}
        for name, content in self._place.read(sorted(stamps.keys() - unread)):
            found[name] = delivered(content, self.keys)
            if found[name] is None:
                others[name] = content[: LARGEST_HANDOVER + 1]
        tried = [stamps[name] for name, content in others.items() if content]  # the rest may be readable again
        # First, so that a removed device which goes on writing under the former key is not believed.
        if generation := self._handed_on([one for one in others.values() if len(one) <= LARGEST_HANDOVER], tried):
            self._use(self.keys.with_generation(generation))
            return self._read()
        n_new = sum(self._take(name, stamps[name], *one) for name, one in found.items() if one)
        return n_new, len(unread) + len(others)

    def _handed_on(self, files: Iterable[bytes], stamps: Sequence[str]) -> Generation | None:
        """The key that a device hands on to this one in these files, if it ranks above the present one."""
        senders = [one.value[1] for one in self._others(self.log.counting())] if stamps else []
        senders.append(public_key(self.keys.private))  # itself, if it was killed before it kept the key
        found = [received(file, self.keys, senders) for file in files]
        for stamp in stamps:
            self.log.note_unread(stamp)
        near = [one for one in found if one and one.number < self.keys.newest.number + MOST_AHEAD]
        newest = max(near, key=lambda one: one.rank, default=self.keys.newest)
        return newest if newest.rank > self.keys.newest.rank else None

    def _take(self, name: str, stamp: str, delivery: Delivery, generation: Generation) -> int:
        """Take the records of a file under the newest key; what others wrote under a former one they write again.

        Files of removed devices are deleted: what was read from them is written again, too.
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
        """From now on read and write with the newest of these keys, under which nothing has been written yet."""
        self.log.read_anew()
        write_keys(self._paths, keys)
        self.keys, self._place = keys, common_place(keys, self._settings)
        self._names = self._place.names()

    def _renew_key(self, counting: Sequence[DeviceRecord]) -> None:
        """Make a new key for those that stay, if a device was removed that has the present one."""
        removed = {one.name for one in bodies(counting, Removed)}
        if self._place.is_shut:
            return
        if removed - set(self.keys.newest.without) and self.keys.device not in removed:
            generation = self.keys.newest.next(removed)
            self._place.succeed(handover_of(self.keys, generation, public_key(self.keys.private)), generation)
            self._use(self.keys.with_generation(generation))
        if self.keys.is_to_hand_on:
            for card in self._others(counting):
                self._place.hand_on(self.keys, card.value[1])
            self.keys = msgspec.structs.replace(self.keys, is_to_hand_on=False)
            write_keys(self._paths, self.keys)

    def _write(self) -> int:
        """Write what lies in no file yet; returns how many records."""
        if self._place.is_shut:
            return 0
        if len(self._ours()) > MOST_FILES:
            self._gather()
        try:
            return self._write_parts()
        except FullError:
            self._gather()
            return self._write_parts(is_full=True)

    def _ours(self) -> list[str]:
        return [name for name, is_ours in self.log.files().items() if is_ours]

    def _gather(self) -> None:
        """Have all that this device has written be written anew, in few files."""
        self._outdated += self._ours()
        self.log.forget_files(self._ours())

    def _write_parts(self, *, is_full: bool = False) -> int:
        """Replaced files are removed with the last part written or, where the place is full, with the first."""
        records = self.log.without_file()
        for start in range(0, len(records), SLICE):
            part = records[start : start + SLICE]
            replaced = self._outdated if is_full or start + SLICE >= len(records) else []
            name = self._place.deliver(self.keys, part, instead_of=replaced)
            if replaced:
                self._outdated = []
            with self._store.transaction():
                self.log.lie_in([record.id for record in part], name)
                self.log.note_file(name, is_ours=True)
        return len(records)
