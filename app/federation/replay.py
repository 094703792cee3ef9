"""What a round's update is learned from, and the update itself.

Every page teaches a lineage of the common ranker once: a round replays the pages that came after those of the last one,
the newest `n_local` at most. Where the group began a new lineage, what an abandoned round had learned is gone from the
common ranker, and all stored pages count as new. A round that helps to forget someone replays the newest `n_unlearn`,
whether they were used before or not; they then do not count as used.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.federation.terms import method_of
from app.store import Store
from foltr.arrays import FloatVector
from foltr.federated.envelope import seal
from foltr.federated.method import Model
from foltr.federated.payload import encode_message
from foltr.federated.wire import Announcement, Sealed, Update, encode
from foltr.privacy.noise import os_entropy_generator
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


def sealed_update(told: Announcement, theta: FloatVector, pages: ReplayPages, *, device: str) -> Sealed:
    """Begin from `theta`, learn from each page, report with noise from the operating system, seal for this round."""
    method = method_of(told.terms)
    rng = os_entropy_generator()
    local = method.begin(Model(theta, told.round - 1), rng)
    for interaction in pages.interactions:
        local = method.learn(local, interaction)
    update = Update(
        group_id=told.terms.group_id,
        lineage=told.lineage,
        round=told.round,
        device=device,
        model_hash=told.model_hash,
        manifest_hash=told.terms.manifest_hash,
        payload=encode_message(method, method.report(local, rng)),
    )
    return Sealed(round=told.round, lineage=told.lineage, box=seal(told.round_key, encode(update)))
