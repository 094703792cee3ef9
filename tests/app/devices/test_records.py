"""Records of several devices mean the same, however they were exchanged."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import msgspec
import pytest

from app.devices import records
from app.devices.records import (
    Body,
    DeviceRecord,
    Forgotten,
    Lesson,
    Moved,
    Opened,
    SavedSearch,
    bodies,
    forgotten,
    lessons_of,
    openings_of,
    picks_of,
    that_count,
)
from app.learning.picks import PickedDocument
from app.learning.votes import Vote

DAY = 86_400.0
MONTH = 30 * DAY
NAMES = [bytes([n]) * 8 for n in range(6)]


@dataclass
class Simulated:
    """A device with a clock of its own, that writes records and drops what was forgotten."""

    name: bytes
    clock_is_off_by: float
    held: dict[bytes, DeviceRecord] = field(default_factory=dict)

    def write(self, body: Body, now: float, *, is_brought: bool = False) -> DeviceRecord:
        moment = now + self.clock_is_off_by
        last = max((one.order for one in self.held.values()), default=0)
        knows = sorted(one.id for one in self.held.values() if isinstance(one.body, Forgotten))
        record = DeviceRecord(
            self.name, max(int(moment * 1e6), last + 1), moment, () if is_brought else tuple(knows), is_brought, body
        )
        self.take([record])
        return record

    def take(self, found: list[DeviceRecord]) -> None:
        self.held |= {one.id: one for one in found}
        for one in forgotten(list(self.held.values())):
            del self.held[one.id]

    def state(self) -> bytes:
        return state_of(list(self.held.values()))


def state_of(held: list[DeviceRecord]) -> bytes:
    """All that is computed from records, bit by bit."""
    counting = that_count(held)
    picks = picks_of(openings_of(counting), lambda one: PickedDocument(one.path + one.part, *one_of(one), 0.0, 0.0))
    saved = {one.name: one.value for one in bodies(counting, SavedSearch)}
    return msgspec.msgpack.encode((lessons_of(counting), picks, saved))


def one_of(opened: Opened) -> tuple[bytes, bytes, bytes]:
    return opened.path, opened.part, opened.type


def something(draw: random.Random) -> Body:
    path = b"".join(draw.sample(NAMES, draw.randint(1, 3)))
    kind = draw.choices(["opened", "learned", "saved", "moved", "forgotten"], [10, 10, 2, 1, 0.7])[0]
    if kind == "opened":
        return Opened(draw.choice(NAMES[:3]), path, b"p", b"t", b"", draw.choice([1.0, 0.25]), draw.choice([1.0, 0.0]))
    if kind == "learned":
        said = {name: (draw.gauss(0, 1), draw.random()) for name in draw.sample(["new", "pdf", "text", "long"], 3)}
        return Lesson(Vote(draw.choice([b"", *NAMES]), 738_000 + draw.randint(0, 60), said), 1)
    if kind == "saved":
        return SavedSearch(draw.choice(["tax", "boat"]), draw.choice(["a", "b", ""]))
    if kind == "moved":
        return Moved(draw.choice(NAMES), draw.choice(NAMES))
    return Forgotten(draw.choice(["picks", "lessons", "pages"]))


@pytest.mark.parametrize("seed", range(10))
def test_devices_that_met_are_bit_identical(seed: int) -> None:
    """50 histories: a month apart, clocks years off, records lost for a time, repeated and in any order."""
    for number in range(50):
        draw = random.Random(1000 * seed + number)
        devices = [
            Simulated(bytes([n]) * 8, draw.choice([0.0, 3600.0, -5 * 365 * DAY, 9 * 365 * DAY])) for n in range(3)
        ]
        written: list[DeviceRecord] = []
        now = 1.7e9
        for _ in range(draw.randint(5, 40)):
            now += draw.expovariate(1 / (MONTH if draw.random() < 0.05 else 3600))
            writing, other = draw.choice(devices), draw.choice(devices)
            written.append(writing.write(something(draw), now, is_brought=draw.random() < 0.1))
            if draw.random() < 0.3:  # a file arrives, without some of its records, and perhaps twice
                some = [one for one in writing.held.values() if draw.random() < 0.7]
                other.take(draw.sample(some, len(some)))
        for device in devices:
            everything = [*written, *draw.sample(written, len(written) // 2)]
            device.take(draw.sample(everything, len(everything)))
        assert len({device.state() for device in devices}) == 1
        assert devices[0].state() == state_of(written)


def test_only_the_last_lessons_and_picks_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the caps the oldest are ignored, on each device the same ones."""
    monkeypatch.setattr(records, "_CAPS", (((Lesson,), 3), ((Opened, Moved), 2)))
    device = Simulated(b"a" * 8, 0.0)
    for n in range(6):
        device.write(Lesson(Vote(b"", n, {}), 1), 1e9 + n)
        device.write(Opened(b"", bytes([n]) * 8, b"", b"", b""), 1e9 + n)
    counting = that_count(list(device.held.values()))
    assert [one.vote.day for one in bodies(counting, Lesson)] == [3, 4, 5]
    assert [one.path[0] for one in bodies(counting, Opened)] == [4, 5]


def test_forgetting_wins_everywhere() -> None:
    """It also deletes what was written later, by its clock, without knowing of it; what was written knowing of it
    stays."""
    first, second = Simulated(b"a" * 8, 0.0), Simulated(b"b" * 8, 1e6)
    lesson = Lesson(Vote(b"", 1, {"pdf": (1.0, 1.0)}), 1)
    forget = first.write(Forgotten("lessons"), 1e9)
    second.write(lesson, 1e9 + 5)
    second.take([forget])
    assert lessons_of(that_count(list(second.held.values()))).n_pages == 0
    second.write(lesson, 1e9 + 6)
    second.write(Opened(b"", b"x" * 8, b"", b"", b""), 1e9 + 6)
    counting = that_count(list(second.held.values()))
    assert lessons_of(counting).n_pages == 1
    assert len(openings_of(counting)) == 1


def test_what_a_device_brings_along_counts_where_it_is_younger() -> None:
    """A device that joins did not know what was forgotten: its clock decides."""
    forget = Simulated(b"a" * 8, 0.0).write(Forgotten("picks"), 1e9)
    joining = Simulated(b"b" * 8, 0.0)
    joining.write(Opened(b"", b"o" * 8, b"", b"", b""), 1e9 - 5, is_brought=True)
    joining.write(Opened(b"", b"n" * 8, b"", b"", b""), 1e9 + 5, is_brought=True)
    joining.take([forget])
    assert [one.path for _, one in openings_of(that_count(list(joining.held.values())))] == [b"n" * 8]


def test_picks_follow_a_folder_that_was_moved() -> None:
    """Picks made before the move, below that folder."""
    device = Simulated(b"a" * 8, 0.0)
    old, new, name = (letter * 8 for letter in (b"o", b"n", b"f"))
    device.write(Opened(b"", old + name, b"", b"", b""), 1e9)
    device.write(Moved(old, new), 1e9 + 1)
    device.write(Opened(b"", old + name, b"", b"", b""), 1e9 + 2)
    found = openings_of(that_count(list(device.held.values())))
    assert [one.path for _, one in found] == [new + name, old + name]


def test_the_pick_memory_is_as_one_device_would_have_it() -> None:
    """One more for each opening, half left after 60 days; the query's other picks keep three quarters."""
    query, first, second = b"q" * 8, b"a" * 8, b"b" * 8
    device = Simulated(b"d" * 8, 0.0)
    device.write(Opened(query, first, b"", b"", b""), 1e9)
    device.write(Opened(query, first, b"", b"", b""), 1e9 + 60 * DAY)
    device.write(Opened(query, second, b"", b"", b""), 1e9 + 60 * DAY)
    openings = openings_of(that_count(list(device.held.values())))
    rows, cells = picks_of(openings, lambda one: PickedDocument(one.path, one.path, b"", b"", 0.0, 0.0))
    assert {row.document: row.n_opened for row in rows} == {first: 1.5, second: 1.0}
    assert {cell.document: cell.n_picks for cell in cells} == {first: 1.5 * 0.75, second: 1.0}
