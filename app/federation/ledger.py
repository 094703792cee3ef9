"""The privacy ledger: what every update has cost, written down before the update leaves this device, and never erased.

An update and its cost are written in one transaction; it is sent unchanged until the server has it. A round has one
update at most: noise drawn a second time would tell the server more than the ledger knows. An update written down but
not sent (a power cut, a missing server) counts as spent: nobody can know that its bytes stayed here. All groups count
together, because their servers could compare notes.

The budget: any window of `federation.budget_days` spends at most `federation.epsilon_budget`.

    spent at t = epsilon of all entries of the ledger with time > t - budget_days

An entry is written only if the window that ends with it stays within the budget, and times never decrease: if the clock
went back, the latest time seen counts. So every window of that length, wherever it begins, keeps within the budget: its
entries were all counted when its last one was written. When the budget is spent the group's ranker stays, nothing is
sent, and `opens` says when the oldest entries will have left the window.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Annotated, Literal

import msgspec

from app.federation.failures import FederationError, SpentError
from app.federation.terms import is_share, protection_of
from app.settings import FederationSettings
from app.store import Store
from console.wording import iso_day
from foltr.federated.wire import Terms
from foltr.privacy.accounting import Against, Ledger, Neighbours
from foltr.privacy.mechanisms import Gaussian, Mechanism

Number = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""a whole number within what the database can hold"""


class LedgerEntry(msgspec.Struct, frozen=True):
    """One round's update."""

    time: Number
    """seconds since 1970"""
    group_id: str
    lineage: Number
    round: Number
    n_params: Number
    """numbers sent"""
    mechanism: Mechanism
    exact_count: bool
    against: Against = "server"
    """ "sum" only in a sealed group: nobody sees more than the sum of at least `n_clients` honest shares"""


ENTRY = LedgerEntry.__struct_fields__
"""the columns of the table"""


def entries(store: Store) -> tuple[LedgerEntry, ...]:
    """All entries, oldest first."""
    rows = store.rows(f"SELECT {', '.join(ENTRY)} FROM privacy_ledger ORDER BY id")
    try:
        return tuple(
            LedgerEntry(time, group, lineage, number, n, msgspec.json.decode(how, type=Mechanism), bool(exact), against)
            for time, group, lineage, number, n, how, exact, against in rows
        )
    except msgspec.MsgspecError as error:
        raise FederationError(
            f"the privacy ledger in {store.path} is damaged, so nothing can be sent: {error}"
        ) from error


def plan_entry(terms: Terms, *, lineage: int, round: int, now: int, mechanism: Mechanism | None = None) -> LedgerEntry:
    """What one update under these terms would cost; `mechanism` is this device's part of a sealed round's noise."""
    protection = protection_of(terms)
    return LedgerEntry(
        time=now,
        group_id=terms.group_id,
        lineage=lineage,
        round=round,
        n_params=protection.n_params,
        mechanism=mechanism or protection.mechanism,
        exact_count=protection.exact_count,
        against="server" if terms.mode == "open" else "sum",
    )


def has(spent: tuple[LedgerEntry, ...], entry: LedgerEntry) -> bool:
    """Whether an update of the same group and round was written down before."""
    return any((e.group_id, e.lineage, e.round) == (entry.group_id, entry.lineage, entry.round) for e in spent)


def write_entry(db: sqlite3.Connection, entry: LedgerEntry) -> None:
    """Add an entry, inside the caller's transaction; the round must not have one already."""
    row = msgspec.structs.asdict(entry) | {"mechanism": msgspec.json.encode(entry.mechanism).decode()}
    db.execute(f"INSERT INTO privacy_ledger ({', '.join(ENTRY)}) VALUES (:{', :'.join(ENTRY)})", row)


def aside(entry: LedgerEntry, origin: bytes = b"") -> LedgerEntry:
    """The entry under a lineage below zero, which no group has: it can stand beside another member's of that round."""
    if entry.lineage < 0:
        return entry
    hashed = hashlib.blake2b(origin + msgspec.msgpack.encode(entry), digest_size=6).digest()
    return msgspec.structs.replace(entry, lineage=-1 - int.from_bytes(hashed, "big"))


def add_entries(store: Store, others: Iterable[LedgerEntry], known: Iterable[LedgerEntry]) -> None:
    """Add other devices' entries, each once; `known` is what this ledger holds, in the form in which they know it."""
    with store.transaction() as db:
        counted = {aside(entry) for entry in known}
        rounds = {(entry.group_id, entry.lineage, entry.round) for entry in entries(store)}
        for entry in others:
            if (beside := aside(entry)) not in counted:
                round = (entry.group_id, entry.lineage, entry.round)
                write_entry(db, beside if round in rounds else entry)
                counted.add(beside)
                rounds.add(round)


def epsilon(spent: tuple[LedgerEntry, ...], delta: float, neighbours: Neighbours) -> float:
    """What all entries together guarantee against the best-placed observer: exact composition, user level.

    That is a server that opens each update or, in a sealed round, the sum with the noise of all honest shares.
    """
    seen = Counter[Mechanism]()
    for (mechanism, against), n_rounds in Counter((entry.mechanism, entry.against) for entry in spent).items():
        seen[_seen(mechanism, against)] += n_rounds
    if any(entry.exact_count for entry in spent) or any(map(is_share, seen)):
        return math.inf
    if not spent:
        return 0.0
    ledger = Ledger(max(entry.n_params for entry in spent))
    for mechanism, n_rounds in seen.items():
        ledger = ledger.spend(mechanism, n_rounds)
    return ledger.epsilon(delta, neighbours=neighbours, against="server")


def _seen(mechanism: Mechanism, against: str) -> Mechanism:
    """The mechanism as if a device had added all the noise that can be seen.

    Only for Gaussian shares: shares of Laplace noise protect only if every one of them arrives.
    """
    if against == "sum" and isinstance(mechanism, Gaussian):
        return msgspec.structs.replace(mechanism, distributed=False, n_clients=1, coins=0)
    return mechanism


def write_missing(store: Store, planned: LedgerEntry, *, known: int, counted: int, most: int) -> int:
    """Charge the rounds that the group's server has counted but this ledger does not know; returns how many.

    As after the state folder was restored: `planned` is what a round costs now, `known` how many of this membership the
    ledger has, `counted` how many the server has. Never removes an entry, and writes at most `most`: a lying server can
    use up the budget, but not the disk. These entries stand under lineage 0, which no group has.
    """
    missing = min(counted - known, most)
    if missing <= 0:
        return 0
    with store.transaction() as db:
        before = sum((e.group_id, e.lineage) == (planned.group_id, 0) for e in entries(store))
        for number in range(before + 1, before + 1 + missing):
            write_entry(db, msgspec.structs.replace(planned, lineage=0, round=number))
    return missing


State = Literal["drafted", "waiting", "sent", "late"]
COLUMNS = "lineage, round, body, state, last_page, n_interactions"
"""columns of an Upload, in the order of its fields"""


class Upload(msgspec.Struct, frozen=True):
    """One round's update."""

    lineage: int
    round: int
    body: bytes | None
    """the JSON of the record to send; while drafted, the change that it will hold; None once it is not needed"""
    state: State
    last_page: int
    """the newest interaction in it, 0 when its pages do not count as used"""
    n_interactions: int


def find_upload(store: Store, lineage: int, round: int) -> Upload | None:
    return next(iter(_read(store, "WHERE lineage = ? AND round = ?", (lineage, round))), None)


def all_uploads(store: Store) -> tuple[Upload, ...]:
    """All uploads, oldest first."""
    return _read(store, "ORDER BY lineage, round")


def last_page_used(store: Store, lineages: Collection[int]) -> int:
    """The newest interaction that an update of these lineages was learned from, 0 for none."""
    return max((upload.last_page for upload in all_uploads(store) if upload.lineage in lineages), default=0)


def settle_past(store: Store, lineage: int, round: int) -> None:
    """Mark updates that wait for another round than the present one as late; what they cost stays spent."""
    for upload in all_uploads(store):
        if upload.body is not None and (upload.lineage, upload.round) != (lineage, round):
            settle_upload(store, upload, "late")


def write_upload(store: Store, upload: Upload, cost: LedgerEntry) -> Upload:
    """Store the update and its cost, durably; returns the one stored before if another process was quicker."""
    with store.transaction() as db:
        present = find_upload(store, upload.lineage, upload.round)
        if present is not None:
            return present
        write_entry(db, cost)
        db.execute(f"INSERT INTO uploads ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", msgspec.structs.astuple(upload))
    return upload


def finish_upload(store: Store, upload: Upload, body: bytes) -> Upload:
    """Replace the draft by what is to be sent; returns what is stored, which another process may have written."""
    with store.transaction() as db:
        key = (upload.lineage, upload.round)
        finished = (
            "UPDATE uploads SET body = ?, state = 'waiting' WHERE lineage = ? AND round = ? AND state = 'drafted'"
        )
        db.execute(finished, (body, *key))
        return find_upload(store, *key) or upload


def settle_upload(store: Store, upload: Upload, state: State) -> None:
    """Mark it as received ("sent"), or overtaken by the round's end ("late"), and drop its bytes."""
    with store.transaction() as db:
        db.execute(
            "UPDATE uploads SET state = ?, body = NULL WHERE lineage = ? AND round = ?",
            (state, upload.lineage, upload.round),
        )


def _read(store: Store, rest: str, parameters: tuple[object, ...] = ()) -> tuple[Upload, ...]:
    return tuple(Upload(*row) for row in store.rows(f"SELECT {COLUMNS} FROM uploads {rest}", parameters))


DAY = 86_400
Spent = tuple[LedgerEntry, ...]


def latest_moment(spent: Spent, now: int) -> int:
    """The present, in seconds since 1970: not before anything that was written down."""
    return max((now, *(entry.time for entry in spent)))


def in_period(spent: Spent, settings: FederationSettings, now: int) -> Spent:
    """The entries that still count against the budget."""
    began = latest_moment(spent, now) - settings.budget_days * DAY
    return tuple(entry for entry in spent if entry.time > began)


def epsilon_with(spent: Spent, more: Spent, settings: FederationSettings, now: int) -> float:
    """What the period will have spent once these are written, too."""
    return epsilon((*in_period(spent, settings, now), *more), settings.delta, "zero-out")


def check_budget(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> None:
    """SpentError when one more update that costs this would go past the budget, or is not protected at all.

    Rounds without protection are outside of all budgets: a user who allows them has given up on counting.
    """
    after = epsilon_with(spent, (entry,), settings, entry.time)
    if math.isinf(after) and settings.allow_unprotected:
        return
    if math.isinf(epsilon_with((), (entry,), settings, entry.time)):
        raise SpentError(
            "nothing was sent: under the group's terms the server could read what you opened (infinite epsilon); "
            "federation.allow_unprotected = true sends all the same"
        )
    if after > settings.epsilon_budget:
        raise SpentError(
            f"nothing was sent: one more round would bring this device to epsilon {after:.2f} (delta "
            f"{settings.delta:g}) within {settings.budget_days:,} days, past its budget of {settings.epsilon_budget:g} "
            f"(federation.epsilon_budget); {_when(opens(spent, entry, settings))}"
        )


def check_period(spent: Spent, entry: LedgerEntry, terms: Terms) -> None:
    """SpentError when the group has had all the rounds that its terms allow in a period: the device enforces them.

    Rounds of abandoned lineages count too: what was sent was sent.
    """
    left, again = in_terms(spent, entry, terms)
    if left == 0:
        raise SpentError(
            f"nothing was sent: this device has answered the {terms.n_rounds:,} rounds that the group's terms allow in "
            f"{terms.period_days:,} days; {_when(again)}"
        )


def in_terms(spent: Spent, entry: LedgerEntry, terms: Terms) -> tuple[int | None, int]:
    """How many more updates the terms allow at the time of `entry` (None: no limit), and when the next may be sent."""
    if not terms.n_rounds:
        return None, entry.time
    began = latest_moment(spent, entry.time) - terms.period_days * DAY
    times = sorted(e.time for e in spent if e.group_id == terms.group_id and e.time > began)
    left = max(terms.n_rounds - len(times), 0)
    return left, entry.time if left else times[-terms.n_rounds] + terms.period_days * DAY


def rounds_left(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int:
    """How many more such updates the budget allows at the time of `entry`, counted up to 10,000."""

    def fits(n: int) -> bool:
        return epsilon_with(spent, (entry,) * n, settings, entry.time) <= settings.epsilon_budget

    low, high = 0, 10_000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def most_missing(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int:
    """How many rounds unknown to the ledger a server may add: up to the first beyond the budget, none after it."""
    within = epsilon_with(spent, (), settings, entry.time) <= settings.epsilon_budget
    return rounds_left(spent, entry, settings) + 1 if within else 0


def opens(spent: Spent, entry: LedgerEntry, settings: FederationSettings) -> int | None:
    """When one more such update fits, in seconds since 1970: the time of `entry` or later; None for never."""
    present = latest_moment(spent, entry.time)
    leaving = sorted(e.time + settings.budget_days * DAY for e in in_period(spent, settings, present))
    return next(
        (t for t in (present, *leaving) if epsilon_with(spent, (entry,), settings, t) <= settings.epsilon_budget), None
    )


def _when(opens: int | None) -> str:
    if opens is None:
        return "the group's ranker stays"
    return f"the group's ranker stays, and the next may leave on {iso_day(opens)}"
