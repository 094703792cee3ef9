"""Replaying stored pages: the method's own steps, the newest pages."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from sqlalchemy import select

from app.federation.round_answer import newest_pages, rounds_left
from app.learning.prior import theta_prior
from app.store import StateError
from federation_server.database import reading
from federation_server.settings import SHARED, ServerSettings
from federation_server.setup import terms_of
from federation_server.tables import updates
from foltr.federated.fpdgd import FPDGD, decode_message
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear
from indexer.retrieval.features import MANIFEST_HASH
from tests.app.federation.groups import NAMES, OPEN, Person, pages, serving


def test_without_noise_the_update_is_the_methods_own(tmp_path: Path, person: Person) -> None:
    """With mechanism none, what the server opens is the common ranker after PDGD on the newest pages, oldest first."""
    person.set(allow_unprotected=True)
    person.see_pages(40, seed=5)  # 70 in all, of which a round takes 50
    with serving(tmp_path / "open", privacy=OPEN) as group:
        person.join(group)
        theta = theta_prior()  # the group begins with it
        person.sync()
        with reading(group.made.engine) as connection:
            payload = group.made.vault.decrypt(bytes(connection.execute(select(updates.c.payload)).scalar_one()))
    method = FPDGD(
        Linear(len(NAMES)), learning_rate=0.5, update="batch", shared=tuple(map(NAMES.index, SHARED)),
        longest_step=0.15, longest_query=0.15,
    )  # fmt: skip
    local = method.begin(Model(theta), np.random.default_rng(0))
    for page in newest_pages(person.store, MANIFEST_HASH, n=50).interactions:
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


def test_pages_come_with_what_their_documents_are_known_by(person: Person) -> None:
    """Types and folders as they were noted; () for pages of before; damaged ones are named."""
    page = pages(1)[0]
    marks = [("pdf", "folder 3f")] * page.n_docs
    person.store.add_interaction(page, manifest_hash=MANIFEST_HASH, cap=99, marks=marks)
    assert newest_pages(person.store, MANIFEST_HASH, n=2).marks == ((), tuple(marks))
    with person.store.transaction() as db:
        db.execute("UPDATE interactions SET marks = x'c1' WHERE marks != x''")
    with pytest.raises(StateError, match="known by"):
        newest_pages(person.store, MANIFEST_HASH, n=1)


def test_pages_are_spread_over_the_rounds_left(person: Person) -> None:
    """30 pages, 4 rounds of at most 5: the newest 20, oldest first, 5 a round; of 6 new ones 2, 2, 1 and 1."""
    made, after, taken = pages(30), 0, []
    for left in (4, 3, 2, 1):
        share = newest_pages(person.store, MANIFEST_HASH, after=after, n=5, n_rounds=left)
        taken.append((len(share.interactions), share.last))
        np.testing.assert_array_equal(share.interactions[0].ranking, made[share.last - 5].ranking)
        after = share.last
    assert taken == [(5, 15), (5, 20), (5, 25), (5, 30)]
    after, counts = 24, []
    for left in (4, 3, 2, 1):
        share = newest_pages(person.store, MANIFEST_HASH, after=after, n=5, n_rounds=left)
        counts.append(len(share.interactions))
        after = share.last
    assert counts == [2, 2, 1, 1]


def test_how_many_rounds_are_left() -> None:
    """Four in a period: 4, 3, 2, 1, and again 4 in the next one; without an end each round is alone."""
    terms = terms_of(ServerSettings(), "group", features=NAMES, manifest_hash="")
    assert [rounds_left(terms, number) for number in (1, 2, 3, 4, 5)] == [4, 3, 2, 1, 4]
    assert rounds_left(msgspec.structs.replace(terms, n_rounds=0), 7) == 1


def test_a_page_keeps_the_query_that_it_answered(person: Person) -> None:
    """The hash beside a page comes with it, b"" for a page without one."""
    page = pages(1, seed=9)[0]
    person.store.add_interaction(page, manifest_hash=MANIFEST_HASH, cap=100, query=b"hashed words")
    assert newest_pages(person.store, MANIFEST_HASH, n=2).queries == (b"", b"hashed words")
