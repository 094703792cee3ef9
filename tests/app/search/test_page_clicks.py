"""Clicks on a shown page: one lesson from it, outcomes, and how far down results were passed over."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from app.learning import outcomes
from app.learning.learner import Learner
from app.learning.picks import Picks
from app.search.page_clicks import PageClicks
from app.search.results import Hit
from app.search.shown_page import ShownPage, load_shown, save_shown
from app.settings import LearningSettings
from app.store import StateError, Store
from foltr.online.interleaving import FIRST, SECOND
from indexer.retrieval.features import MANIFEST_HASH, NAMES

PAGE_SIZE = 4
N = 9


class Room:
    """A store with its picks, learner and clicks."""

    def __init__(self, path: Path, **learning: object) -> None:
        settings = LearningSettings(**{"exploration": 0.0, **learning})
        self.store = Store(path / "state.sqlite")
        self.picks = Picks(self.store, b"k" * 32, enabled=settings.enabled)
        self.learner = Learner(
            self.store, theta0=np.ones(len(NAMES)), feature_names=NAMES, manifest_hash=MANIFEST_HASH, settings=settings
        )
        self.clicks = PageClicks(self.store, self.picks, self.learner, page_size=PAGE_SIZE)

    def visit(self, *places: int, **changes: object) -> ShownPage:
        """A page of nine results on which these were opened."""
        features = np.random.default_rng(3).uniform(size=(N, len(NAMES)))
        page = ShownPage(
            doc_ids=tuple(range(100, 100 + N)), features=features, scores=features.sum(axis=1), n_shown=N,
            learned_ranks=tuple(range(1, N + 1)), bm25_ranks=tuple(range(N, 0, -1)),
            query=self.picks.query_key(["heron"]), manifest_hash=MANIFEST_HASH, time=time.time(),
        )  # fmt: skip
        page = replace(page, **changes)  # type: ignore[arg-type]
        for place in places:
            page = self.clicks.opened(page, hit(place + 1))
        return page

    def learned(self) -> list[list[bool]]:
        return [interaction.clicks.tolist() for interaction in self.store.interactions(MANIFEST_HASH)]


def hit(rank: int) -> Hit:
    return Hit(rank, 99 + rank, f"/notes/{rank}.txt", "", "", "text", "", 0.0, 1, "", 0.0, rank)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_opening_is_a_pick_at_once_and_counts_once(room: Room) -> None:
    """Opened again, nothing more is recorded; what is not on the page is not opened."""
    page = room.visit(2)
    assert (page.opened, room.picks.count()) == ((2,), 1)
    assert room.clicks.opened(page, hit(3)) is page
    assert room.clicks.opened(page, hit(N + 1)) is page
    assert room.clicks.opened(page, hit(1)).opened == (2, 0)
    assert room.learned() == []


@pytest.mark.parametrize(
    ("places", "clicks"),
    [((1,), [0, 1, 0, 0]), ((2, 0), [1, 0, 1, 0]), ((3,), [0, 0, 0, 1, 0]), ((6,), [0, 0, 0, 0, 0, 0, 1, 0]),
     ((8,), [0, 0, 0, 0, 0, 0, 0, 0, 1])],
)  # fmt: skip
def test_a_page_is_as_long_as_what_was_looked_at(room: Room, places: tuple[int, ...], clicks: list[int]) -> None:
    """One page of four results, or down to the one after the last that was opened."""
    assert room.clicks.leave(room.visit(*places), source="screen") is not None
    assert room.learned() == [[bool(click) for click in clicks]]


def test_nothing_opened_nothing_learned(room: Room) -> None:
    """No lesson, no outcome, no pick."""
    assert room.clicks.leave(room.visit(), source="screen") is None
    assert (room.learned(), outcomes.read(room.store), room.picks.count()) == ([], (), 0)


@pytest.mark.parametrize("manifest_hash", ["", "another version"])
def test_a_page_in_another_order_or_of_another_version_is_no_lesson(room: Room, manifest_hash: str) -> None:
    """Its ranks do not come from this ranker; the pick is remembered all the same."""
    assert room.clicks.leave(room.visit(1, manifest_hash=manifest_hash), source="screen") is None
    assert (room.learned(), outcomes.read(room.store), room.picks.count()) == ([], (), 1)


def test_outcomes_say_where_each_opened_result_stood(room: Room) -> None:
    """In the learned order and in BM25's, with where it was opened."""
    room.clicks.leave(room.visit(4, 0), source="command")
    found = [(o.rank_learned, o.rank_bm25, o.source, o.winner) for o in outcomes.read(room.store)]
    assert found == [(5, N - 4, "command", None), (1, N, "command", None)]


@pytest.mark.parametrize(
    ("places", "winner"),
    [((0,), outcomes.LEARNED), ((1,), outcomes.BM25), ((0, 1), None), ((0, 2, 1), outcomes.LEARNED), ((7,), None)],
)
def test_an_interleaved_page_has_one_winner(room: Room, places: tuple[int, ...], winner: str | None) -> None:
    """The team with more opened results on the first page; a tie, and results further down, decide nothing."""
    owners = (FIRST, SECOND, FIRST, SECOND, *[FIRST] * (N - 4))
    room.clicks.leave(room.visit(*places, owners=owners), source="screen")
    winners = [outcome.winner for outcome in outcomes.read(room.store)]
    assert winners == [winner] + [None] * (len(places) - 1)


def test_a_kept_page_is_settled_once(room: Room) -> None:
    """What was kept comes back from the store, is left when something else is searched, and is gone then."""
    save_shown(room.store, room.visit(1))
    kept = load_shown(room.store)
    assert kept is not None
    assert kept.opened == (1,)
    room.clicks.exchange(None)
    room.clicks.exchange(None)
    assert (len(room.learned()), load_shown(room.store)) == (1, None)
    assert [outcome.source for outcome in outcomes.read(room.store)] == ["command"]


def test_a_lesson_and_the_end_of_its_page_are_one(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lesson cannot be kept the page stays, and teaches when it is left again."""
    save_shown(room.store, room.visit(1))

    def learn(*_: object, **__: object) -> None:
        raise StateError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(room.learner, "learn", learn)
        with pytest.raises(StateError, match="gone"):
            room.clicks.exchange(None)
    assert outcomes.read(room.store) == ()
    room.clicks.exchange(None)
    assert (len(room.learned()), len(outcomes.read(room.store))) == (1, 1)
