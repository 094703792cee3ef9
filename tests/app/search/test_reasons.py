"""Why a result ranks where it does: parts that add up, and causes without which it falls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from app.following.indexing import update_index
from app.learning.learner import Learner
from app.learning.prior import LearningRates, theta_prior
from app.learning.votes import Vote, Votes
from app.search.explanation import contrast, explanation
from app.search.reasons import LEAST, PARTS, Reasons, times
from app.search.results import Hit, ResultPage, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, LearningSettings, Paths, Settings
from app.store import Store
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.app.search.homes import searching
from tests.columns import INDEX


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("state") / "state.sqlite") as made:
        yield made


def learner_of(store: Store, *, ranker: str = "linear") -> Learner:
    return Learner(
        store, theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH,
        rates=LearningRates.shipped(NAMES), settings=LearningSettings(exploration=0.0, ranker=ranker),
    )  # fmt: skip


def page_of(reasons: Reasons) -> ResultPage:
    """A page of made-up documents that stand as they are shown."""
    hits = tuple(
        Hit(rank, int(i), f"/{i}", "", "", "text", "", 0.0, 1, "", float(reasons.scores[i]), rank)
        for rank, i in enumerate(reasons.shown, start=1)
    )
    return ResultPage(SearchRequest("x"), hits, len(hits), len(hits), 0.0, reasons=reasons)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 12), ranker=st.sampled_from(["linear", "neural"]))
@settings(max_examples=60, deadline=None)
def test_parts_add_up_to_scores_and_their_differences(store: Store, seed: int, n: int, ranker: str) -> None:
    """Whatever was learned, added or drawn by lot: to 1e-9, the score without luck and the row's distance with it."""
    rng = np.random.default_rng(seed)
    features = rng.uniform(size=(n, len(NAMES)))
    learner = learner_of(store, ranker=ranker)
    learner.learn(features, np.arange(n), np.arange(n) == n - 1)
    still = learner.as_it_is()
    alike = rng.normal(size=n)
    scores = still.scores(features) + alike
    shown = rng.permutation(n)[: max(2, n - 2)]
    reasons = Reasons(still, features, scores, shown, np.arange(len(shown)), extra={"alike": alike})
    learner.learn(features, np.arange(n), np.arange(n) == 0)  # later lessons change nothing
    page = page_of(reasons)
    luck = list(PARTS).index("luck")
    by_place = np.sort(scores[shown])[::-1]
    np.testing.assert_allclose(np.delete(reasons.parts, luck, axis=1).sum(axis=1), scores[shown], atol=1e-9)
    np.testing.assert_allclose(reasons.parts.sum(axis=1), by_place, atol=1e-9)
    np.testing.assert_allclose(reasons.parts[:, list(PARTS).index("alike")], alike[shown])
    for place, hit in enumerate(page.hits):
        told = contrast(page, hit)
        assert told is not None
        other = place - 1 if place else 1
        assert told.other == page.hits[other]
        assert sum(part.ahead for part in told.parts) == pytest.approx(by_place[place] - by_place[other], abs=1e-9)


def test_a_page_of_the_scores_has_no_luck(store: Store) -> None:
    """In the order of the scores the lot does nothing, and one result alone has no cause and no neighbour."""
    features = np.random.default_rng(1).uniform(size=(5, len(NAMES)))
    still = learner_of(store).as_it_is()
    scores = still.scores(features)
    reasons = Reasons(still, features, scores, np.argsort(-scores), np.arange(5))
    assert not reasons.parts[:, list(PARTS).index("luck")].any()
    alone = Reasons(still, features, scores, np.array([3]), np.array([0]))
    assert alone.words(0, "text") == ""
    assert contrast(page_of(alone), page_of(alone).hits[0]) is None


def test_a_cause_is_what_the_place_hangs_on(store: Store) -> None:
    """The part without which a result would stand elsewhere; one that all have, or that moves nothing, is none."""
    features = np.zeros((3, len(NAMES)))
    features[:, INDEX["bm25f"]] = (1.0, 0.9, 0.2)
    features[:, INDEX["title_share"]] = 1.0
    features[1, INDEX["title_exact"]] = 1.0
    features[2, INDEX["body_phrase"]] = 1.0
    still = learner_of(store).as_it_is()
    scores = still.scores(features)
    reasons = Reasons(still, features, scores, np.argsort(-scores), np.array([1, 0, 2]))
    assert reasons.shown.tolist() == [1, 0, 2]
    assert [reasons.causes(place) for place in range(3)] == [["title"], [], []]
    assert reasons.words(0, "text") == "exact title"
    assert Reasons(still, features, scores, reasons.shown, np.arange(3)).words(0, "text") == ""
    assert reasons.place_without(0, LEAST) == 0


def test_extras_bring_their_own_words(store: Store) -> None:
    """What another part of the program adds to the scores is named as it says; luck is named as luck."""
    features = np.zeros((3, len(NAMES)))
    features[:, INDEX["bm25f"]] = (1.0, 0.99, 0.5)
    still = learner_of(store).as_it_is()
    alike = np.array([0.0, 1.0, 0.0])
    notes = {"alike": ["older of 2 alike", "newest of 2 alike", ""]}
    scores = still.scores(features) + alike
    places = np.array([1, 0, 2])
    first = Reasons(still, features, scores, np.argsort(-scores), places, extra={"alike": alike}, notes=notes)
    assert [first.words(place, "text") for place in range(3)] == ["newest of 2 alike", "", ""]
    drawn = Reasons(still, features, still.scores(features), np.array([2, 0, 1]), np.array([2, 0, 1]))
    assert drawn.words(0, "text") == "drawn by lot"


def test_what_the_nearest_are_worth_is_held_against_the_others(store: Store) -> None:
    """All have some of it: where each lost as much, nobody was moved by it, though one fell."""
    features = np.zeros((3, len(NAMES)))
    features[:, INDEX["bm25f"]] = (1.0, 0.9, 0.5)
    features[1, INDEX["body_phrase"]] = 1.0
    still = learner_of(store).as_it_is()
    for near, words in ((-1.0, ["", "", ""]), (2.0, ["", "texts like it fit less", "texts like it fit, too"])):
        extra = {"nearest": np.array([-1.0, -1.0, near])}
        scores = still.scores(features) + extra["nearest"]
        shown = np.argsort(-scores)
        reasons = Reasons(still, features, scores, shown, shown, extra=extra)
        assert [reasons.words(place, "text") for place in np.argsort(shown)[[1, 0, 2]]] == words


def test_who_is_passed_by_what_was_named_did_not_fall_by_itself(store: Store) -> None:
    """What an extra or the lot puts first lowers each other by a place; that two of them lack a title did not."""
    features = np.zeros((4, len(NAMES)))
    features[:, INDEX["bm25f"]] = (1.0, 0.99, 0.5, 0.2)
    features[2:, INDEX["title_exact"]] = 1.0
    still = learner_of(store).as_it_is()
    scores = still.scores(features)
    assert np.argsort(-scores).tolist() == [0, 1, 2, 3]
    named, shown = np.array([0.0, 0.0, 0.0, 9.0]), np.array([3, 0, 1, 2])
    reasons = Reasons(still, features, scores + named, shown, shown, extra={"named": named})
    assert [reasons.causes(place) for place in range(4)] == [["named"], [], [], []]
    page = page_of(reasons)
    hit = structs.replace(page.hits[2], bm25_rank=2)
    assert explanation(page, hit).summary == "Its words alone would put it at 2; it stands at 3: others rose past it."
    drawn = Reasons(still, features, scores, shown, shown)
    assert [drawn.causes(place) for place in range(4)] == [["luck"], ["luck"], [], []]


@pytest.mark.parametrize(
    ("liked", "days", "words"),
    [
        ("pdf", 3, "you often open PDFs"),
        ("pdf", 2, "you like to open PDFs"),
        ("folder own", 3, "you often open this folder"),
        ("folder above", 3, "you often open a folder above it"),
        ("new", 3, "you often open newer files"),
        ("long", 1, "you like to open longer files"),
    ],
)
def test_a_habit_is_told_as_it_is(tmp_path: Path, liked: str, days: int, words: str) -> None:
    """By what is liked, and "often" after five queries on three days; who is passed by it is not said to be seldom."""
    learner = learner_of(Store(tmp_path / "state.sqlite"))
    votes = Votes(tuple(Vote(b"%d" % i, i % days, {liked: (3.0, 0.1)}) for i in range(9)))
    learner._save(structs.replace(learner.model, votes=votes), 1.0)
    features = np.zeros((4, len(NAMES)))
    features[:, INDEX["bm25f"]] = (1.0, 0.9, 0.5, 0.4)
    features[:, INDEX["recent_year"]] = features[:, INDEX["body_length"]] = (0.0, 1.0, 0.0, 0.0)
    marks = [("html", "folder x"), ("pdf", "folder own", "folder above"), ("html", "folder x"), ("html", "folder x")]
    scores = learner.scores(features, marks)
    shown = np.argsort(-scores)
    reasons = Reasons(learner.as_it_is(), features, scores, shown, shown.copy(), marks)
    assert shown[0] == 1
    assert (reasons.words(0, "pdf"), reasons.words(1, "html")) == (words, "")
    np.testing.assert_allclose(reasons.parts.sum(axis=1), scores[shown], atol=1e-9)


def test_times() -> None:
    """What is left of picks is rounded up: they were at least as many."""
    assert [times(n) for n in (0.4, 1.0, 1.2, 2.9, 3.0)] == ["once", "once", "twice", "3 times", "3 times"]


# Real searches: take the cause away, and the result falls ------------------------------------------------------------

LINES = "The ferry leaves at {hour}. Tickets are sold on board, bicycles are free, dogs on a lead.\n"
TEXTS = {
    **{f"log/day{i}.txt": LINES.format(hour=i) + "ferry ferry timetable " * 2 + "water " * i for i in range(8)},
    "plan.md": "# Ferry timetable\n\n" + "Nothing else is said here about boats. " * 30,
    "old.html": "<html><title>Harbour</title><p>" + LINES.format(hour=9) + "timetable " + "quay " * 40 + "</p></html>",
}
Open = Callable[..., Search]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Callable[..., Search]]:
    """Opens a search over TEXTS, changed as a test wants."""
    opened: list[Search] = []

    def make(*, name: str = "a", **changed: str) -> Search:
        base = tmp_path / name
        for path, text in {**TEXTS, **changed}.items():
            file = base / "files" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            moment = time.time() - 400 * 86_400
            os.utime(file, (moment, moment))
        paths = Paths(base / "config", base / "data")
        chosen = Settings(index=IndexSettings(workers=1), learning=LearningSettings(exploration=0.0))
        update_index(chosen, paths, roots=[str(base / "files")])
        opened.append(Search(chosen, paths))
        return opened[-1]

    yield make
    for search in opened:
        search.close()


def place(search: Search, text: str, name: str) -> tuple[int, str]:
    """The rank of a document, and why it stands there."""
    page = search.search(SearchRequest(text))
    (hit,) = [hit for hit in page.hits if hit.path.endswith(name)]
    return hit.rank, search.why(page, hit)


def test_without_its_title_it_falls(device: Open) -> None:
    """A document that has exactly the words as its title stands first for that."""
    rank, why = place(device(), "ferry timetable", "plan.md")
    assert (rank, why) == (1, "exact title")
    text = TEXTS["plan.md"].replace("# Ferry timetable", "# Plan of the ferry, and timetable")
    untitled = device(name="b", **{"plan.md": text})
    fallen, why = place(untitled, "ferry timetable", "plan.md")
    assert fallen > 1
    assert why != "exact title"


def test_without_its_picks_it_falls(device: Open) -> None:
    """Opened again and again for a search it rises there, says so, and falls when that is forgotten."""
    search = device()
    before, _ = place(search, "ferry timetable", "old.html")
    for _ in range(3):
        page = search.search(SearchRequest("ferry timetable"))
        search.opened(page, next(hit for hit in page.hits if hit.path.endswith("old.html")))
    rank, why = place(search, "ferry timetable", "old.html")
    assert rank < before
    assert why == "opened 3 times for this"
    search.picks.clear()
    fallen, why = place(search, "ferry timetable", "old.html")
    assert (fallen, why.startswith("opened")) == (before, False)


def test_without_its_habit_it_falls(device: Open) -> None:
    """Web pages opened for seven other words rise for an eighth, say so, and fall when the model is reset."""
    search = device()
    before, _ = place(search, "dogs", "old.html")
    for word in ("leaves", "tickets", "sold", "board", "bicycles", "free", "lead"):
        page = search.search(SearchRequest(word))
        search.opened(page, next(hit for hit in page.hits if hit.path.endswith("old.html")))
        assert (search.leave(page) or "").startswith("learned from 1 pick")
    rank, why = place(search, "dogs", "old.html")
    assert rank < before
    assert why in ("you like to open web pages", "you like to open a folder above it")
    search.learner.reset()
    assert place(search, "dogs", "old.html")[0] == before


def test_without_its_name_it_falls(device: Open) -> None:
    """A file that is named like the query stands higher for that."""
    text = "Notes\n\nThe ferry takes tickets of paper only.\n" + " ".join(f"gull{i} rope{i}" for i in range(300))
    named = device(**{"ferry tickets.txt": text})
    other = device(name="b", **{"notes.txt": text})
    rank, why = place(named, "ferry tickets", "ferry tickets.txt")
    assert why == "exact file name"
    assert place(other, "ferry tickets", "notes.txt")[0] > rank


def test_a_row_that_another_copy_earned_says_so(tmp_path: Path) -> None:
    """The plain file leads the row of its backup, whose name fits; nothing on the page was drawn by lot."""
    text = "some words about the wind turbine and the report of the year with many other things in it"
    files = {"old backup wind/turbine wind notes.txt": text, "misc/zzz.txt": text}
    files |= {f"misc/k{i}.txt": f"wind turbine wind turbine {i} blades wind report turbine" for i in range(4)}
    with searching(tmp_path, files) as search:
        page = search.search(SearchRequest("wind turbine"))
        assert [os.path.basename(hit.path) for hit in page.hits[:1]] == ["zzz.txt"]
        assert page.reasons is not None
        assert [search.why(page, hit) for hit in page.hits] == ["its copy fits better", *[""] * 4]
        assert np.abs(page.reasons.parts[:, list(PARTS).index("luck")]).max() < 1e-9
        search.opened(page, page.hits[0])
        assert [one.rank_learned for one in search.pending_outcomes()] == [1]


def test_a_forced_order_has_no_reasons(device: Open) -> None:
    """Newest first, by name and BM25 alone: nothing was moved, and the explanation says by what the order is."""
    search = device()
    for order, words in (("bm25", "by their words alone"), ("modified", "newest first"), ("name", "by name")):
        page = search.search(SearchRequest("ferry timetable", order=order))
        assert {search.why(page, hit) for hit in page.hits} == {""}
        explained = search.explain(page, page.hits[0])
        assert words in explained.summary
        assert (explained.contributions, explained.contrast) == ((), None)
