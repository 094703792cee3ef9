"""A server that lies: it reaches no feature of a page, and whatever it announces, the caps hold and bad terms are told.

RAIFLE (NDSS 2025) reads clicks because the server chooses the features of what is shown. Here they come from the
device's own files; what a server can choose is the common ranker, the terms and the group's members.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from app.federation import group_ranker, membership
from app.federation.terms import method_of, protection_of
from app.following.indexing import update_index
from app.learning.model_versions import LARGEST_WEIGHT
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from app.store import StateError
from federation_server import setup
from federation_server.database import writing
from federation_server.forgetting import forgetting
from federation_server.group import group as the_group
from federation_server.settings import ServerSettings
from federation_server.setup import terms_of
from foltr.arrays import FloatVector
from foltr.federated.method import Model
from foltr.ranking.interaction import Interaction
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.app.federation.groups import Person, serving
from tests.app.federation.rankers import model

TERMS = terms_of(ServerSettings(), "group", features=NAMES, manifest_hash=MANIFEST_HASH)
METHOD, CAPS = method_of(TERMS), protection_of(TERMS).caps
K = 10


def hidden(theta: FloatVector, pages: Sequence[tuple[Interaction, bytes]]) -> FloatVector:
    """What the noise hides of a round that began with this ranker."""
    local = METHOD.begin(Model(theta), np.random.default_rng(0))
    for page, query in pages:
        local = METHOD.learn(local, page, query)
    return METHOD.hidden(local)


def opened(features: np.ndarray, place: int) -> Interaction:
    return Interaction(features, np.arange(K), np.arange(K) == place)


SCALES = st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 30.0, 1e3, LARGEST_WEIGHT])


@given(st.integers(0, 2**32 - 1), SCALES, SCALES, st.integers(1, 12))
@trying(max_examples=60, deadline=None)
def test_the_caps_hold_for_every_ranker_that_can_be_announced(
    seed: int, scale: float, tilt: float, n_pages: int
) -> None:
    """Random, steep, saturated and one-sided rankers up to the largest weight: pages and queries keep their bounds."""
    assert CAPS is not None
    rng = np.random.default_rng(seed)
    theta = np.clip(scale * rng.normal(size=len(NAMES)), -LARGEST_WEIGHT, LARGEST_WEIGHT)
    theta[rng.integers(len(NAMES))] = tilt
    known = [(opened(rng.random((K, len(NAMES))), int(rng.integers(K))), b"") for _ in range(3)]
    asked = rng.integers(0, 2, size=(K, len(NAMES))).astype(np.float64)
    one, other = (int(place) for place in rng.choice(K, size=2, replace=False))

    def habit(place: int) -> list[tuple[Interaction, bytes]]:
        return [*known, *[(opened(asked, place), b"q")] * n_pages]

    margin = 1e-6
    apart = np.linalg.norm(hidden(theta, habit(one)) - hidden(theta, habit(other)))
    assert apart <= CAPS.query("replace") + margin
    assert np.linalg.norm(hidden(theta, habit(one)) - hidden(theta, known)) <= CAPS.query("zero-out") + margin
    assert np.linalg.norm(hidden(theta, habit(one)[:4]) - hidden(theta, known)) <= CAPS.page("zero-out") + margin


@pytest.fixture
def steep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server begins with a ranker as steep as devices take, but for what a round adds."""
    shipped = setup.shipped_start()
    theta = tuple(LARGEST_WEIGHT / 2 * (-1) ** number for number in range(len(shipped.theta)))
    monkeypatch.setattr(setup, "shipped_start", lambda: msgspec.structs.replace(shipped, theta=theta))


@pytest.mark.usefixtures("steep")
def test_nothing_that_a_server_sends_reaches_a_stored_page(tmp_path: Path, make_person: Callable[..., Person]) -> None:
    """Joining and syncing write no page and change none: the database would refuse it, and the bytes are the same."""
    person = make_person(epsilon_budget=1000)
    person.see_pages(30)
    before = person.store.rows("SELECT * FROM interactions ORDER BY id")
    with person.store.transaction() as db:
        for what in ("INSERT", "UPDATE", "DELETE"):
            db.execute(f"CREATE TRIGGER no_{what} BEFORE {what} ON interactions BEGIN SELECT RAISE(ABORT, 'page'); END")
    with serving(tmp_path / "lying", quorum=1) as group:
        person.join(group)
        for _ in range(2):
            assert person.sync().sent
    assert person.store.rows("SELECT * FROM interactions ORDER BY id") == before
    with pytest.raises(StateError):
        person.see_pages(1)


def index_of(folder: Path) -> Paths:
    for age, name in enumerate(("heron.txt", "marsh.md", "reed.html", "notes/old.txt")):
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"A heron stands in the reed. {name} " + "heron " * age, encoding="utf-8")
        os.utime(path, (1.6e9 + 1e7 * age, 1.6e9 + 1e7 * age))
    paths = Paths(folder / "config", folder / "data")
    update_index(Settings(index=IndexSettings(workers=1)), paths, roots=[str(folder / "files")])
    return paths


def test_features_are_those_of_the_files_whatever_the_group_ranks_by(tmp_path: Path) -> None:
    """Under no ranker and two opposite ones of a group, each file has the same numbers; the order alone differs."""
    search = Search(Settings(learning=LearningSettings(exploration=0.0)), index_of(tmp_path))

    def page() -> ResultPage:
        return search.search(SearchRequest("heron"))

    def numbers(found: ResultPage) -> dict[str, list[float]]:
        return {hit.path: row.tolist() for hit, row in zip(found.hits, found.features, strict=True)}

    pages = [page()]
    for sign in (1.0, -1.0):
        theta = np.full(len(NAMES), sign * LARGEST_WEIGHT)
        group_ranker.save(search.store, model(theta), alpha=0.0, now=1)
        pages.append(page())
    search.close()
    assert len(pages[0].hits) == 4
    assert numbers(pages[0]) == numbers(pages[1]) == numbers(pages[2])
    assert [hit.path for hit in pages[1].hits] != [hit.path for hit in pages[2].hits]


@pytest.mark.parametrize(
    "method",
    [
        'privacy = { mechanism = "gaussian", clip = 0.8, noise_multiplier = 0.05 }',
        'privacy = { mechanism = "gaussian", clip = 0.8, noise_multiplier = 1.0 }\nlongest_step = 0\nlongest_query = 0',
    ],
)
def test_bad_terms_are_told_before_anything_is_agreed_to(
    tmp_path: Path, make_person: Callable[..., Person], method: str
) -> None:
    """Next to no noise, or no caps: whoever is asked reads that a habit can be read."""
    told: list[str] = []

    def refuse(lines: Sequence[str]) -> bool:
        told.extend(lines)
        return True

    with serving(tmp_path / "bad", privacy=method) as group:
        make_person().joining().join(group.invite(), agrees=refuse)
    assert "again and again can be read" in " ".join(told)


def test_a_servers_words_stay_within_their_line(
    tmp_path: Path, make_person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group's name and a receipt that hold line ends and what a terminal obeys: the terms that a user is asked about,
    and what forget-me says, show them as marks, so that they can neither hide nor add a line."""
    bad = "five\n\x1b[2J\x1b[HNothing leaves this device.\n\u202e"
    person, asked = make_person(), list[str]()
    with serving(tmp_path / "lying", quorum=2) as group:
        with writing(group.made.engine) as connection:
            the_group.set_fact(connection, "group", bad)
        person.joining().join(group.invite(), agrees=lambda lines: not asked.extend(lines))
        monkeypatch.setitem(forgetting.PROGRESS, "done", bad)
        kept = person.joining().leave(forget=True)
    assert kept is not None
    waiting = msgspec.structs.replace(kept.receipt, state="waiting", erased={bad: 1})
    said = [*asked, membership.receipt_in_words(waiting), membership.receipt_in_words(kept.receipt), kept.group]
    assert asked[0].startswith("Group five ")
    assert [line for line in said if not line.isprintable()] == []
