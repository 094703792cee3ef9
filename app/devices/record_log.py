"""The device records in state.sqlite: this device adds its own in the transaction of the event that they record."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable

import msgspec

from app.devices.records import ID_BYTES, Body, DeviceRecord, Forgotten, that_count
from app.devices.sealing import DevicesError
from app.store import Store, decode_record

FARTHEST = 1 << 61
"""no clock gives an `order` beyond it: such a record is passed over, or nothing could come after it"""

UNREAD = "unread "
"""prefix of the stamp of a file that could not be used"""


class RecordsRead(msgspec.Struct, frozen=True):
    """All records at one moment, and those that count: kept, as decoding them takes most of an exchange's time."""

    stamp: bytes
    records: list[DeviceRecord]
    counting: list[DeviceRecord]
    """in their order"""


class RecordLog:
    """All records, of whichever device; any process may add to them."""

    def __init__(self, store: Store, device: bytes) -> None:
        self.store, self.device = store, device

    def add(self, body: Body, *, now: float | None = None, happened: float | None = None) -> DeviceRecord:
        """Write down what happens; `happened` is when it did, for something learned before this device joined."""
        moment = time.time() if now is None else now
        with self.store.transaction() as db:
            (last,) = db.execute("SELECT coalesce(max(place), 0) FROM device_records").fetchone()
            forgets = db.execute("SELECT id FROM device_records WHERE forgets ORDER BY id").fetchall()
            knows = tuple(bytes(id_) for (id_,) in forgets) if happened is None else ()
            order, when = max(int(moment * 1e6), last + 1), moment if happened is None else happened
            record = DeviceRecord(self.device, order, when, knows, happened is not None, body)
            # As it will be decoded, so that its id stays the same: a whole number may stand where a float is wanted.
            record = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=DeviceRecord)
            self._insert(record, "")
        return record

    def take(self, records: Iterable[DeviceRecord], file: str) -> int:
        """Keep the records that came in a file; returns how many are new."""
        with self.store.transaction():
            return sum(self._insert(record, file) for record in records if record.order < FARTHEST)

    def _insert(self, record: DeviceRecord, file: str) -> int:
        with self.store.transaction() as db:
            row = (record.id, record.order, isinstance(record.body, Forgotten), msgspec.msgpack.encode(record), file)
            if db.execute("INSERT OR IGNORE INTO device_records VALUES (?, ?, ?, ?, ?)", row).rowcount:
                return 1
            db.execute("UPDATE device_records SET file = ? WHERE id = ? AND file = ''", (file, record.id))
            return 0

    def all(self, where: str = "") -> list[DeviceRecord]:
        """All records, in no order."""
        rows = self.store.rows(f"SELECT record FROM device_records {where}")
        return [decode_record(row, DeviceRecord, DevicesError, "a record of this person's devices") for (row,) in rows]

    def counting(self) -> list[DeviceRecord]:
        """The records that count, in their order."""
        return that_count(self.all())

    def stamp(self) -> bytes:
        """A digest that changes with every record that comes or goes."""
        ids = b"".join(bytes(id_) for (id_,) in self.store.rows("SELECT id FROM device_records ORDER BY id"))
        return hashlib.blake2b(ids, digest_size=ID_BYTES).hexdigest().encode()

    def known(self, before: RecordsRead | None = None) -> RecordsRead:
        """All records as they are now: `before` itself, if they have not changed since."""
        stamp = self.stamp()
        if before is not None and before.stamp == stamp:
            return before
        records = self.all()
        return RecordsRead(stamp, records, that_count(records))

    def without_file(self) -> list[DeviceRecord]:
        """The records that are in no shared file, as far as this device knows."""
        return self.all("WHERE file = '' ORDER BY place, id")

    def lie_in(self, ids: Iterable[bytes], file: str) -> None:
        """Note that these are in that file now."""
        with self.store.transaction() as db:
            db.executemany("UPDATE device_records SET file = ? WHERE id = ?", [(file, id_) for id_ in ids])

    def drop(self, ids: Iterable[bytes]) -> list[str]:
        """Delete records; returns the files of this device that hold them, which are to be written anew."""
        ours, outdated = {name for name, is_ours in self.files().items() if is_ours}, set[str]()
        with self.store.transaction() as db:
            for id_ in ids:
                outdated.update(file for (file,) in db.execute("SELECT file FROM device_records WHERE id = ?", (id_,)))
                db.execute("DELETE FROM device_records WHERE id = ?", (id_,))
            self.forget_files(outdated & ours)
        return sorted(outdated & ours)

    # files

    def files(self) -> dict[str, bool]:
        """The files that were read, and whether this device wrote them."""
        return {name: bool(is_ours) for name, is_ours in self.store.rows("SELECT name, is_ours FROM device_files")}

    def drop_all(self) -> None:
        """Forget all records and files; what was learned from them stays."""
        self.store.erase("device_records", "device_files")

    def read_anew(self) -> None:
        """Forget that any file was ever read or written."""
        with self.store.transaction() as db:
            db.execute("DELETE FROM device_files")
            db.execute("UPDATE device_records SET file = ''")

    def note_unread(self, stamp: str) -> None:
        """Note a file that this device cannot use, and need not try again until it changes."""
        self.note_file(f"{UNREAD}{stamp}", is_ours=False)

    def try_unread(self) -> None:
        with self.store.transaction() as db:
            db.execute("DELETE FROM device_files WHERE name GLOB ?", (f"{UNREAD}*",))

    def note_file(self, name: str, *, is_ours: bool) -> None:
        with self.store.transaction() as db:
            db.execute("INSERT OR REPLACE INTO device_files VALUES (?, ?)", (name, is_ours))

    def forget_files(self, names: Iterable[str]) -> None:
        """Note that these are gone: what only they held is to be written again."""
        with self.store.transaction() as db:
            gone = [(name,) for name in names]
            self.pass_over(name for (name,) in gone)
            db.executemany("UPDATE device_records SET file = '' WHERE file = ?", gone)

    def pass_over(self, names: Iterable[str]) -> None:
        """Forget files that are gone, but whose records other devices still hold."""
        with self.store.transaction() as db:
            db.executemany("DELETE FROM device_files WHERE name = ?", [(name,) for name in names])
