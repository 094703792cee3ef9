"""One member, several devices: which of them answers the group, and what each tells the others about it.

A person has one privacy budget and one membership, however many devices. So only one device spends: the one that holds
the pen. Only its holder gives the pen away, in the transaction that writes down all that was spent and seen until then;
the next holder reads both as one record. No other device can spend, whatever clocks or late messages say.

    pen     a number, one more each time it changes hands; the seat that holds it; from when on it may be used
    seat    a random name of one state, never restored from nothing: a pen that was used since is not taken up again

What was spent and which memberships ended are sets that only grow. All else that is known of a group comes from
the holder of the pen. If the pen is lost with its holder, another device takes it, and sends nothing until all that the
lost one could have sent meanwhile has left the budget's window.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import msgspec

from app.federation import ledger, membership
from app.federation.failures import FederationError, SpentError
from app.federation.membership import KeptReceipt, Membership, Standing
from app.settings import FederationSettings
from app.store import Store, decode_record
from foltr.privacy.noise import NOISE_KEY_BYTES

PEN, SEAT = "federation pen", "federation seat"
"""both unset on a device alone, which needs nobody's permission"""
BROUGHT = "federation brought"
"""how many entries the ledger had when this device first joined others, and a random name that marks them as its own"""
SEAT_BYTES = 16
TAKEN = -1
MOST_AHEAD = 1_000
"""handovers that a device may have missed; one further ahead is refused: none could follow the greatest number"""


class Pen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who answers for all devices of a person."""

    number: ledger.Number = -1
    seat: bytes = b""
    """b"" where this device has not heard of any holder yet"""
    begins: ledger.Number = 0
    """seconds since 1970 before which nothing is sent; TAKEN until that is known"""

    @property
    def rank(self) -> tuple[int, bytes]:
        """Orders pens: of two taken at the same time, all devices believe the same one."""
        return self.number, self.seat


class GroupView(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one device knows, as it tells the others."""

    v: Literal[1] = 1
    seat: bytes
    pen: Pen
    spent: Sequence[ledger.LedgerEntry]
    ended: Sequence[str]
    """pseudonyms of this person's memberships that have ended"""
    receipts: Sequence[KeptReceipt]
    membership: Membership | None
    """without its noise key: who steals one device learns nothing that another one's notes hide"""
    standing: Standing
    roster: Sequence[tuple[ledger.Number, bytes]]
    lists: Sequence[tuple[ledger.Number, ledger.Number, ledger.Number, bytes]]
    """the lists of the newest round that has one, and those that prove something against the server"""
    values: tuple[bytes | None, bytes | None]
    """where the verified roster ends, and the newest ranker, as the server signed them"""

    @property
    def member(self) -> str:
        """ "" where there is none, and where it ended"""
        found = self.membership
        return "" if found is None or found.device in self.ended else found.device

    def check(self) -> None:
        """Raises an error of some kind where a part of it cannot be used."""
        _ = self.member, [kept.receipt for kept in self.receipts]


SIGNED = (membership.ROSTER_SEEN, membership.RANKER_SEEN)


def _pen(store: Store) -> Pen | None:
    stored = store.value(PEN)
    return None if stored is None else decode_record(stored, Pen, FederationError, f"the pen in {store.path}")


def holds(store: Store) -> bool:
    """Whether this device answers its group: as the one of several that does, or as the only one."""
    pen = _pen(store)
    return pen is None or pen.seat == store.value(SEAT)


def require(store: Store) -> None:
    """SpentError unless this device holds the pen; call it in the transaction that writes what needs the pen."""
    if not holds(store):
        raise SpentError(
            "nothing was sent: another of your computers answers for all of them (`foltr-search devices pen`)"
        )


def speaker(store: Store) -> Membership:
    """The membership, on the device that talks to the group's server; FederationError on the others."""
    if not holds(store):
        raise FederationError(
            "another of your computers talks to the group for all of them (`foltr-search devices pen`): run this there"
        )
    return membership.member(store)


def be_one_of_several(store: Store, *, is_first: bool) -> None:
    """Send nothing without the pen from now on; the first device has it."""
    with store.transaction():
        seat = os.urandom(SEAT_BYTES)
        store.set_value(SEAT, seat)
        _keep(store, Pen(0, seat) if is_first else Pen())


def bring_along(store: Store) -> None:
    """Mark what was spent here before joining, as the others' rounds may look the same: each was its own member."""
    with store.transaction():
        if store.value(BROUGHT) is None:
            is_first = store.value(PEN) is not None
            brought = 0 if is_first else len(ledger.entries(store)), os.urandom(SEAT_BYTES)
            store.set_value(BROUGHT, msgspec.msgpack.encode(brought))


def _spent(store: Store) -> Sequence[ledger.LedgerEntry]:
    """The ledger as all devices know it."""
    n, origin = msgspec.msgpack.decode(store.value(BROUGHT) or b"\x92\x00\xc4\x00", type=tuple[int, bytes])
    return [ledger.aside(entry, origin) if i < n else entry for i, entry in enumerate(ledger.entries(store))]


def be_alone(store: Store) -> None:
    """Need nobody's permission to send from now on."""
    with store.transaction():
        store.set_value(SEAT, None)
        store.set_value(PEN, None)


def _keep(store: Store, pen: Pen) -> None:
    store.set_value(PEN, msgspec.msgpack.encode(pen), durable=True)


def hand_over(store: Store, seat: bytes) -> None:
    """Let the device of this seat answer from now on; call it in the transaction that writes this device's view."""
    with store.transaction():
        require(store)
        pen = _pen(store) or Pen()
        _keep(store, Pen(pen.number + 1, seat, pen.begins))


def take(store: Store) -> None:
    """Take the pen without the former holder, whose device is lost."""
    with store.transaction():
        seat = view(store).seat
        _keep(store, Pen((_pen(store) or Pen()).number + 1, seat, TAKEN))


def begin(store: Store, settings: FederationSettings, *, now: int) -> int:
    """When this device may send: if it took the pen, once what a lost device could have sent has left the window.

    That is counted from its first sync, `now`, because there alone the server's clock agrees with its own.
    """
    with store.transaction():
        pen = _pen(store)
        if pen is not None and pen.begins == TAKEN:
            pen = msgspec.structs.replace(pen, begins=now + settings.budget_days * ledger.DAY)
            _keep(store, pen)
    return pen.begins if pen else 0


def view(store: Store) -> GroupView:
    """What this device knows; it has a seat from then on, even if it was restored without one."""
    with store.transaction():
        if _pen(store) is None or store.value(SEAT) is None:
            pen = _pen(store) or Pen()
            be_one_of_several(store, is_first=False)
            _keep(store, pen)
        present, standing = membership.load(store), membership.load_standing(store)
        return GroupView(
            seat=store.value(SEAT) or b"",
            pen=_pen(store) or Pen(),
            spent=_spent(store),
            ended=membership.ended(store),
            receipts=membership.all_receipts(store),
            membership=msgspec.structs.replace(present, noise_key=b"") if present and present.agreed else None,
            standing=msgspec.structs.replace(standing, tested="", verdict="", synced=0, error=""),
            roster=store.rows("SELECT number, record FROM roster ORDER BY number"),
            lists=store.rows(_LISTS),
            values=(store.value(SIGNED[0]), store.value(SIGNED[1])),
        )


_LISTS = """SELECT * FROM round_lists WHERE place > 0 OR (lineage, round) =
    (SELECT lineage, round FROM round_lists ORDER BY lineage DESC, round DESC LIMIT 1) ORDER BY lineage, round, place"""


def follow(store: Store, views: Sequence[GroupView]) -> None:
    """Take over what this person's devices know; this one's own former views are among them."""
    with store.transaction():
        former, seat = _pen(store) or Pen(), store.value(SEAT)
        near = (one.pen for one in views if one.pen.number < former.number + MOST_AHEAD)
        _keep(store, max((former, *near), key=lambda pen: pen.rank))
        ledger.add_entries(store, [entry for one in views for entry in one.spent], _spent(store))
        _add_receipts(store, [kept for one in views for kept in one.receipts])
        membership.note_ended(store, [member for one in views for member in one.ended])
        present = membership.load(store)
        if present is not None and present.device in membership.ended(store):
            membership.erase(store)
            present = None
        present = present if present and present.group_id else None  # else it was applied for and never granted
        if present is None or former.seat != seat:
            _follow_holder(store, present, [one for one in views if one.seat != seat])


def _follow_holder(store: Store, present: Membership | None, others: Sequence[GroupView]) -> None:
    """Become the member that the others are, and take over what the holder of the pen knows of the group."""
    over = membership.ended(store)
    there = [one for one in others if one.member and one.member not in over]
    first = min(((one.membership.joined, one.member) for one in there if one.membership), default=(0, ""))[1]
    theirs = [one for one in there if one.member == (present.device if present else first)]
    told = max(theirs, key=lambda one: (one.pen.rank, one.seat == one.pen.seat), default=None)
    if told is None or told.membership is None:
        return
    own = membership.load_standing(store)
    noise_key = present.noise_key if present else os.urandom(NOISE_KEY_BYTES)
    membership.save(store, msgspec.structs.replace(told.membership, noise_key=noise_key))
    membership.save_standing(
        store,
        msgspec.structs.replace(
            told.standing, tested=own.tested, verdict=own.verdict, synced=own.synced, error=own.error
        ),
    )
    with store.transaction() as db:
        db.execute("DELETE FROM roster")
        db.executemany("INSERT INTO roster VALUES (?, ?)", told.roster)
        db.executemany("INSERT OR IGNORE INTO round_lists VALUES (?, ?, ?, ?)", told.lists)
        for name, value in zip(SIGNED, told.values, strict=True):
            store.set_value(name, value)


def _add_receipts(store: Store, found: Sequence[KeptReceipt]) -> None:
    known = {(kept.device, kept.receipt.request) for kept in membership.all_receipts(store)}
    for kept in found:
        if (key := (kept.device, kept.receipt.request)) not in known:
            known.add(key)
            membership.save_receipt(store, kept)
