"""Updates on their way: written in one transaction with what they cost, sent unchanged until the server has them.

A round has one update at most. Whatever happens between writing and the server's answer, it is the same bytes that are
sent again: noise drawn a second time would tell the server more than the ledger knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.federation import ledger
from app.federation.failures import FederationError
from app.federation.ledger import Entry
from app.store import Store

State = Literal["waiting", "sent", "late"]


@dataclass(frozen=True, slots=True)
class Upload:
    """One round's update."""

    lineage: int
    round: int
    body: bytes | None
    """the JSON of the Sealed record; None once it need not be sent any more"""
    state: State
    last_page: int
    """the newest interaction in it, 0 when its pages do not count as used"""
    n_interactions: int


def find(store: Store, lineage: int, round: int) -> Upload | None:
    """The update of a round, None when there is none."""
    return next(iter(_read(store, "WHERE lineage = ? AND round = ?", (lineage, round))), None)


def all_uploads(store: Store) -> tuple[Upload, ...]:
    """Oldest first."""
    return _read(store, "ORDER BY lineage, round")


def last_page_used(store: Store, lineage: int) -> int:
    """The newest interaction that an update of this lineage was learned from, 0 for none."""
    return max((upload.last_page for upload in all_uploads(store) if upload.lineage == lineage), default=0)


def write(store: Store, upload: Upload, cost: Entry) -> Upload:
    """Keep the update and what it costs, durably; gives the one that is there when another process was quicker."""
    with store.transaction() as db:
        present = find(store, upload.lineage, upload.round)
        if present is not None:
            return present
        ledger.write(db, cost)
        db.execute(
            "INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)",
            (upload.lineage, upload.round, upload.body, upload.state, upload.last_page, upload.n_interactions),
        )
    return upload


def settle(store: Store, upload: Upload, state: State) -> None:
    """The server has it ("sent"), or its round ended first ("late"); its bytes are not needed any more."""
    with store.transaction() as db:
        db.execute(
            "UPDATE uploads SET state = ?, body = NULL WHERE lineage = ? AND round = ?",
            (state, upload.lineage, upload.round),
        )


def _read(store: Store, rest: str, parameters: tuple[object, ...] = ()) -> tuple[Upload, ...]:
    rows = store.rows(f"SELECT lineage, round, body, state, last_page, n_interactions FROM uploads {rest}", parameters)
    found = tuple(Upload(*row) for row in rows)
    if any(upload.state not in ("waiting", "sent", "late") for upload in found):
        raise FederationError(f"an update in {store.path} is in a state that this program does not know")
    return found
