"""Replaying stored pages: the method's own steps, the newest pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sqlalchemy import select

from app.federation import group_ranker
from app.federation.replay import newest_pages
from federation_server.database import reading
from federation_server.settings import SHARED
from federation_server.tables import updates
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.federated.payload import decode_message
from foltr.ranking.rankers import Linear
from indexer.retrieval.features import MANIFEST_HASH
from tests.app.federation.groups import NAMES, OPEN, Person, pages, serving


def test_without_noise_the_update_is_the_methods_own(tmp_path: Path, person: Person) -> None:
    """With mechanism none, what the server opens is the common ranker after PDGD on the newest pages, oldest first."""
    person.set(allow_unprotected=True)
    person.see_pages(40, seed=5)  # 70 in all, of which a round takes 50
    with serving(tmp_path / "open", privacy=OPEN) as group:
        person.join(group)
        adopted = group_ranker.load(person.store)
        assert adopted is not None
        theta = np.frombuffer(adopted.record.theta)
        person.sync()
        with reading(group.installation.engine) as connection:
            payload = group.installation.vault.decrypt(
                bytes(connection.execute(select(updates.c.payload)).scalar_one())
            )
    method = FPDGD(
        Linear(len(NAMES)), learning_rate=0.5, update="batch", shared=tuple(map(NAMES.index, SHARED)),
        longest_step=0.15, longest_query=0.15,
    )  # fmt: skip
    local = method.begin(Model(theta), np.random.default_rng(0))
    manifest = adopted.record.manifest_hash
    for page in newest_pages(person.store, manifest, n=50).interactions:
        local = method.learn(local, page)
    message = decode_message(method, payload)
    np.testing.assert_array_equal(message.theta, method.sent(local.theta))
    assert message.n_interactions == 50


def test_stored_pages_are_taken_newest_last(person: Person) -> None:
    """Of 30 pages the newest 7 come oldest first; `after` leaves out those that were used."""
    made = pages(30)
    adopted = newest_pages(person.store, "none of this kind", n=7)
    assert adopted.interactions == ()
    newest = newest_pages(person.store, MANIFEST_HASH, n=7)
    for page, original in zip(newest.interactions, made[-7:], strict=True):
        np.testing.assert_array_equal(page.ranking, original.ranking)
    assert newest.last == 30
    assert len(newest_pages(person.store, MANIFEST_HASH, after=28, n=7).interactions) == 2
