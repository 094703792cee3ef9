"""What a person's devices tell each other about groups: the last record of each device counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from app.devices.record_log import RecordLog
from app.devices.records import DeviceRecord, GroupTold, bodies
from app.devices.sealing import DevicesError
from app.federation import answering_device, membership
from app.federation.adoption import consider_known
from app.settings import Settings
from foltr.errors import FoltrError

TOLD = "devices group"
"""a digest of what the others were told last"""


def note_group(log: RecordLog) -> None:
    """Make a record of what this device knows, if that differs from what it said last."""
    with log.store.transaction():
        view = msgspec.msgpack.encode(answering_device.view(log.store))
        if log.store.value(TOLD) != (digest := hashlib.blake2b(log.device + view, digest_size=16).digest()):
            log.add(GroupTold(log.device, view))
            log.store.set_value(TOLD, digest)


def views(counting: Sequence[DeviceRecord]) -> Mapping[bytes, answering_device.GroupView]:
    """What each device said last, by its name; what this version cannot read whole is passed over."""
    found = {}
    for told in bodies(counting, GroupTold):
        try:
            view = msgspec.msgpack.decode(told.value, type=answering_device.GroupView)
            view.check()
        except (msgspec.MsgspecError, FoltrError, ValueError):
            continue
        found[told.name] = view
    return found


def follow_group(log: RecordLog, counting: Sequence[DeviceRecord], settings: Settings, *, now: float) -> None:
    """Become the member that the others are, note what this device then knows, and test a ranker that has come."""
    store = log.store
    answering_device.follow(store, list(views(counting).values()))
    note_group(log)
    if not answering_device.holds(store) and membership.load(store) is not None:
        try:
            consider_known(store, settings, now=int(now))
        except FoltrError as error:  # from another version: shown at the next sync, and stops no exchange
            membership.note_standing(store, error=str(error))


def hand_pen(log: RecordLog, to: bytes) -> None:
    """Let another device answer from now on; DevicesError where it has not been heard of yet."""
    seat = next((view.seat for name, view in views(log.counting()).items() if name == to), None)
    if seat is None:
        raise DevicesError("nothing was received from that computer yet; run `foltr-search devices sync` on both")
    with log.store.transaction():
        answering_device.hand_over(log.store, seat)
        note_group(log)


def holder(log: RecordLog) -> bytes:
    """The device that answers for all, b"" where it is not a known one."""
    known = views(log.counting())
    seat = max((view.pen for view in known.values()), key=lambda one: one.rank, default=answering_device.Pen()).seat
    return next((name for name, view in known.items() if view.seat == seat), b"")
