"""What a round's update is learned from (app.federation.answering makes it).

Every page teaches a lineage of the common ranker once: a round replays pages that came after those of the last one,
oldest first. Those that would not find a place in the rounds left, `n_local` in each, are passed over, the oldest of
all; the others are spread evenly over those rounds, for an update beyond the clip says no more than one that fills it.
Where the group began a new lineage, what an abandoned round had learned is gone from the common ranker, and all stored
pages count as new. A round that helps to forget someone replays the newest `n_unlearn`, whether they were used before
or not; they then do not count as used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.learning.traits import Marks
from app.store import StateError, Store, decode_record
from foltr.federated.wire import Terms
from foltr.ranking.interaction import Interaction, decode


@dataclass(frozen=True, slots=True, eq=False)
class ReplayPages:
    """Stored interactions, oldest first."""

    interactions: tuple[Interaction, ...]
    queries: tuple[bytes, ...]
    """the hashed query of each, b"" for one of its own"""
    marks: tuple[Marks, ...]
    """type and hashed folders of the documents of each, () where they were not noted"""
    last: int
    """the number of the newest, 0 for none"""


def newest_pages(store: Store, manifest_hash: str, *, after: int = 0, n: int, n_rounds: int = 1) -> ReplayPages:
    """At most `n` stored interactions with features of this meaning, of those numbered above `after`.

    The share of one round where the newest ones are spread over the next `n_rounds`: for 1 the newest `n`.
    """
    rows = store.rows(
        "SELECT id, record, query, marks FROM interactions WHERE manifest_hash = ? AND id > ? ORDER BY id DESC LIMIT ?",
        (manifest_hash, after, n * n_rounds),
    )
    taken = rows[::-1][: math.ceil(len(rows) / n_rounds)]
    return ReplayPages(
        tuple(decode(record) for _, record, _, _ in taken),
        tuple(bytes(query) for _, _, query, _ in taken),
        tuple(_marks(stored, store) for *_, stored in taken),
        int(taken[-1][0]) if taken else 0,
    )


def _marks(stored: bytes, store: Store) -> Marks:
    what = f"what a page's documents are known by in {store.path}"
    return decode_record(stored, tuple[tuple[str, ...], ...], StateError, what) if stored else ()


def rounds_left(terms: Terms, number: int) -> int:
    """The rounds of a period from round `number` of a lineage on, that one too; 1 where they have no end."""
    return terms.n_rounds - (number - 1) % terms.n_rounds if terms.n_rounds else 1
