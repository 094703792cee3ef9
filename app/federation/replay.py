"""What a round's update is learned from (app.federation.answering makes it).

Every page teaches a lineage of the common ranker once: a round replays the pages that came after those of the last one,
the newest `n_local` at most. Where the group began a new lineage, what an abandoned round had learned is gone from the
common ranker, and all stored pages count as new. A round that helps to forget someone replays the newest `n_unlearn`,
whether they were used before or not; they then do not count as used.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.store import Store
from foltr.ranking.interaction import Interaction, decode


@dataclass(frozen=True, slots=True, eq=False)
class ReplayPages:
    """Stored interactions, oldest first."""

    interactions: tuple[Interaction, ...]
    last: int
    """the number of the newest, 0 for none"""


def newest_pages(store: Store, manifest_hash: str, *, after: int = 0, n: int) -> ReplayPages:
    """The newest `n` stored interactions with features of this meaning, of those numbered above `after`."""
    rows = store.rows(
        "SELECT id, record FROM interactions WHERE manifest_hash = ? AND id > ? ORDER BY id DESC LIMIT ?",
        (manifest_hash, after, n),
    )
    return ReplayPages(tuple(decode(record) for _, record in reversed(rows)), int(rows[0][0]) if rows else 0)
