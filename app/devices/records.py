"""What travels between one person's devices: records that are only ever added, and the state that a set of them means.

A state is a pure function of the set: neither order nor repetition matters, and a record that comes
late has the same effect. Of two records, the later is the one of larger `order`: the clock in microseconds, but always
beyond all that its device knew, so that a wrong clock cannot put an effect before its cause.

What was forgotten is forgotten everywhere: a record counts only if, when it was written, its device knew every record
that forgets its kind. What a device brings along when it joins knows none, and counts if it is newer than those.

Documents, words and folders are named by keyed hashes (app.learning.pick_keys), with a key that the devices share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec

from app.devices.sealing import device_of
from app.learning.pick_keys import move
from app.learning.picks import FADED, RIVAL_FACTOR, Pick, PickCount, PickedDocument, merge
from app.learning.votes import Vote, Votes
from console.printable import safe_line

ID_BYTES = 16
MOST_LESSONS, MOST_PICKS = 500, 20_000
"""most that are kept of each: the last ones"""

Moment = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
Amount = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 32)]
"""bounds of what devices write and read: a single NaN or infinity would spoil all other numbers"""

Forgettable = Literal["picks", "lessons", "pages"]


class Opened(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="opened"):
    """A document was opened; or, where one of the numbers is 0, what is left of former openings."""

    query: bytes
    """the packed terms of the query, b"" for none"""
    path: bytes
    part: bytes
    type: bytes
    content: bytes
    """b"" where it is not known"""
    n_opened: Amount = 1.0
    n_picks: Amount = 1.0
    """openings that were for the query"""


class Moved(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="moved"):
    """A file or a folder was moved."""

    old: bytes
    new: bytes


class Lesson(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="learned"):
    """What one page taught the linear ranker."""

    vote: Vote
    n_picks: Count
    """results opened on it"""
    n_pages: Count = 1
    """more where former lessons are combined in one"""


class Forgotten(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="forgotten"):
    """All of one kind was forgotten: picks, lessons, or the pages that were learned from."""

    what: Forgettable


class SavedSearch(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="saved"):
    """A search was saved under a name; "" removes it."""

    name: str
    value: str


class SharedSetting(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="setting"):
    """A setting was chosen, its value as JSON; "" unsets it."""

    name: str
    value: str


class DeviceCard(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="device"):
    """A device of this person: its name for the person, and its public key (X25519)."""

    name: bytes
    """the hash of its key, as records name it, so that nobody can give it another key"""
    value: tuple[Annotated[str, msgspec.Meta(max_length=40)], bytes]

    def __post_init__(self) -> None:
        if self.name != device_of(self.value[1]):
            raise ValueError("the key is not that of the device")

    @property
    def called(self) -> str:
        return safe_line(self.value[0])


class Removed(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="removed"):
    """A device no longer belongs to this person."""

    name: bytes
    value: str = ""


class GroupTold(msgspec.Struct, frozen=True, array_like=True, tag_field="kind", tag="group"):
    """What a device knows of its person's groups (app.federation.answering_device.GroupView, packed)."""

    name: bytes
    """the device"""
    value: bytes


Named: TypeAlias = SavedSearch | SharedSetting | DeviceCard | Removed | GroupTold
Body: TypeAlias = Opened | Moved | Lesson | Forgotten | Named
_KINDS: Mapping[type, Forgettable] = {Opened: "picks", Moved: "picks", Lesson: "lessons"}


class DeviceRecord(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """One thing that happened on one device."""

    device: bytes
    order: int
    time: Moment
    """seconds since the epoch, by the clock of its device"""
    knows: tuple[bytes, ...]
    """ids of the records that forget (`Forgotten`) which its device knew"""
    is_brought: bool
    """whether it is from before the device joined"""
    body: Body

    @cached_property
    def id(self) -> bytes:
        """A hash of the whole record: two records of one id are the same record."""
        return hashlib.blake2b(msgspec.msgpack.encode(self), digest_size=ID_BYTES).digest()


def that_count(records: Iterable[DeviceRecord]) -> list[DeviceRecord]:
    """The records that count, in order: not the forgotten ones, and not those that a later one has replaced."""
    once = {record.id: record for record in records}.values()
    ordered = sorted(once, key=lambda record: (record.order, record.id))
    gone = {record.id for record in forgotten(ordered)}
    known = [record for record in ordered if record.id not in gone]
    last = {_name(record.body): record.id for record in known}
    latest = [record for record in known if last[_name(record.body)] == record.id or not _name(record.body)]
    passed = {
        id_ for kinds, n in _CAPS for id_ in [record.id for record in latest if isinstance(record.body, kinds)][:-n]
    }
    return [record for record in latest if record.id not in passed]


_CAPS: Sequence[tuple[tuple[type, ...], int]] = (((Lesson,), MOST_LESSONS), ((Opened, Moved), MOST_PICKS))


def _name(body: Body) -> tuple[object, ...]:
    """A key of which only the last record counts; () where each record counts."""
    return (type(body), body.name) if isinstance(body, Named) else ()


def forgotten(records: Sequence[DeviceRecord]) -> list[DeviceRecord]:
    """The records that others among them forget."""
    forgets = [record for record in records if isinstance(record.body, Forgotten)]
    return [record for record in records if _is_forgotten(record, forgets)]


def _is_forgotten(record: DeviceRecord, forgets: Iterable[DeviceRecord]) -> bool:
    kind = _KINDS.get(type(record.body))
    return any(
        forget.id not in record.knows and not (record.is_brought and record.time > forget.time)
        for forget in forgets
        if isinstance(forget.body, Forgotten) and forget.body.what == kind
    )


B = TypeVar("B", bound=Body)


def bodies(records: Iterable[DeviceRecord], kind: type[B]) -> list[B]:
    """What the records of one kind say, in order."""
    return [record.body for record in records if isinstance(record.body, kind)]


class Lessons(msgspec.Struct, frozen=True):
    """What all pages taught, as one device would have learned it."""

    votes: Votes
    n_pages: int
    n_picks: int
    updated: float


def told_as_lessons(votes: Sequence[Vote], n_pages: int, n_picks: int) -> list[Lesson]:
    """What so many pages taught, as one lesson per vote."""
    rest = len(votes) - 1
    return [
        Lesson(vote, 1 if i else max(n_picks - rest, 1), 1 if i else max(n_pages - rest, 1))
        for i, vote in enumerate(votes)
    ]


def lessons_of(counting: Sequence[DeviceRecord]) -> Lessons:
    """The lessons in `counting` (of `that_count`), one after another in their order."""
    votes, n_pages, n_picks, updated = Votes(), 0, 0, 0.0
    learned = [record for record in counting if isinstance(record.body, Lesson)]
    for record in learned:
        assert isinstance(record.body, Lesson)
        votes = votes.after(record.body.vote)
        n_pages, n_picks = n_pages + record.body.n_pages, n_picks + record.body.n_picks
        updated = max(updated, record.time)
    return Lessons(votes, n_pages, n_picks, updated)


def openings_of(counting: Sequence[DeviceRecord]) -> list[tuple[float, Opened]]:
    """When and what was opened, in order, each document at its present place."""
    found: list[tuple[float, Opened]] = []
    for record in counting:
        if isinstance(record.body, Opened):
            found.append((record.time, record.body))
        elif isinstance(record.body, Moved):
            old, new = record.body.old, record.body.new
            found = [(time, _moved(opened, move(opened.path, old, new))) for time, opened in found]
    return found


def _moved(opened: Opened, path: bytes | None) -> Opened:
    return opened if path is None else msgspec.structs.replace(opened, path=path)


def picks_of(
    openings: Iterable[tuple[float, Opened]], document_of: Callable[[Opened], PickedDocument]
) -> tuple[list[PickedDocument], list[Pick]]:
    """The rows of the pick memory after these openings; `document_of` says which document each was of."""
    documents: dict[bytes, PickedDocument] = {}
    cells: dict[bytes, dict[bytes, PickCount]] = {}
    for time, opened in openings:
        row = document_of(opened)
        former = documents.get(row.document)
        count = PickCount(former.n_opened, former.last) if former else None
        n_opened, last = merge(count, PickCount(opened.n_opened, time))
        documents[row.document] = row._replace(n_opened=n_opened, last=last)
        if opened.query and opened.n_picks:
            own = cells.setdefault(opened.query, {})
            if opened.n_opened:
                own.update(
                    {name: PickCount(n * RIVAL_FACTOR, t) for name, (n, t) in own.items() if name != row.document}
                )
            own[row.document] = merge(own.get(row.document), PickCount(opened.n_picks, time))
    picks = [Pick(name, query, n, t) for query, own in cells.items() for name, (n, t) in own.items() if n >= FADED]
    return list(documents.values()), picks
