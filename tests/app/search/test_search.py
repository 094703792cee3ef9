"""The one way a query is answered and learned from, on a small real folder."""

from __future__ import annotations

import os
import shutil
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.following.indexing import update_index
from app.learning import outcomes
from app.learning.prior import theta_prior
from app.search.results import ORDERS, Hit, ResultPage, SearchRequest
from app.search.search import Search
from app.search.shown_page import KEPT_PAGES, load_shown
from app.settings import IndexSettings, LearningSettings, Paths, SearchSettings, Settings
from indexer.retrieval.features import MANIFEST_HASH, NAMES, USAGE_NAMES
from indexer.storage.catalogue import Catalogue
from tests.columns import INDEX

INDEXING = Settings(index=IndexSettings(workers=1))
QUIET = LearningSettings(exploration=0.0)
DAY = 86_400.0

HERONS = {
    f"herons/note{i:02}.txt": f"Note {i}\n\n" + "heron " * (14 - i) + "reed water lake pond marsh shore " * (i + 1)
    for i in range(12)
}
"""twelve documents about herons, the first of them most"""
DOCUMENTS = {
    **HERONS,
    "birds/zanzibar.md": "# Zanzibar journey\n\nThe quetzal and the turaco were seen near the river.\n",
    "birds/copy one.txt": "A pangolin walks at night.\n",
    "other/copy two.txt": "A pangolin walks at night.\n",
    "other/page.html": "<html><title>Pangolin page</title><p>The pangolin eats ants; a heron looked on.</p></html>",
    "other/list.csv": "name,legs\nheron,2\npangolin,4\n",
    "other/offtopic.txt": "Umbrella repairs\n\nUmbrella, umbrella, handle. A heron is printed on one umbrella.\n",
}


def write(folder: Path) -> None:
    for age, (name, content) in enumerate(DOCUMENTS.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        moment = time.time() - 40 * DAY * age
        os.utime(path, (moment, moment))


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of notes and a data folder in which it is indexed."""
    base = tmp_path_factory.mktemp("master")
    write(base / "notes")
    update_index(INDEXING, Paths(base / "config", base / "data"), roots=[str(base / "notes")])
    return base / "notes", base / "data"


@pytest.fixture
def paths(master: tuple[Path, Path], tmp_path: Path) -> Paths:
    """A device of its own with the index of the notes."""
    shutil.copytree(master[1], tmp_path / "data")
    return Paths(tmp_path / "config", tmp_path / "data")


Open = Callable[..., Search]


@pytest.fixture
def open_search(paths: Paths) -> Iterator[Open]:
    """Opens searches on the device that are closed in the end; `learning` has no exploration unless it says so."""
    opened: list[Search] = []

    def make(learning: LearningSettings = QUIET, **search_settings: Any) -> Search:
        opened.append(Search(Settings(learning=learning, search=SearchSettings(**search_settings)), paths))
        return opened[-1]

    yield make
    for search in opened:
        search.close()


def names(page: ResultPage) -> list[str]:
    return [os.path.basename(hit.path) for hit in page.hits]


def ask(search: Search, text: str, **request: Any) -> ResultPage:
    return search.search(SearchRequest(text, **request))


def pick(search: Search, text: str, name: str) -> str | None:
    """Search, open the result of this name, leave."""
    page = ask(search, text)
    search.opened(page, page.hits[names(page).index(name)])
    return search.leave(page)


# Orders --------------------------------------------------------------------------------------------------------------


def test_bm25_order_counts_its_own_ranks(open_search: Open) -> None:
    """In the order of BM25 every result stands where BM25 puts it."""
    page = ask(open_search(), "heron", order="bm25")
    assert [hit.rank for hit in page.hits] == [hit.bm25_rank for hit in page.hits] == list(range(1, len(page.hits) + 1))
    assert page.n_matches == len(page.hits) == len(HERONS) + 3


def test_the_learned_order_without_exploration_is_that_of_the_scores(open_search: Open) -> None:
    """Best score first; before anything was learned the score is the prior's; twice the same."""
    search = open_search(LearningSettings(exploration=5.0))
    page = ask(search, "heron", explore=False)
    scores = [hit.score for hit in page.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx((page.features @ theta_prior()).tolist())
    assert names(ask(search, "heron", explore=False)) == names(page)
    assert page.features.shape == (len(page.hits), len(NAMES))


def test_newest_first_and_by_name(open_search: Open) -> None:
    """By modification and by file name; BM25 ranks stay BM25's, whatever the order."""
    search = open_search()
    ranks = {hit.doc_id: hit.bm25_rank for hit in ask(search, "heron", order="bm25").hits}
    newest, by_name = ask(search, "heron", order="modified"), ask(search, "heron", order="name")
    dates = [hit.modified for hit in newest.hits]
    assert dates == sorted(dates, reverse=True)
    assert names(by_name) == sorted(names(by_name))
    for page in (newest, by_name):
        assert {hit.doc_id: hit.bm25_rank for hit in page.hits} == ranks


def test_exploration_keeps_still_for_a_session(open_search: Open) -> None:
    """Shuffled, but twice the same in one session and in another process; the next session shuffles anew."""
    hot = LearningSettings(exploration=10.0)
    one, other = open_search(hot), open_search(hot)
    first = names(ask(one, "heron"))
    assert names(ask(one, "heron")) == names(ask(other, "heron")) == first
    assert first != names(ask(one, "heron", explore=False))
    assert sorted(first) == sorted(names(ask(one, "heron", explore=False)))
    seen = set()
    for _ in range(5):
        one.store.set_value("session", None)
        seen.add(tuple(names(ask(one, "heron"))))
    assert len(seen) > 1


def test_only_the_first_page_explores(open_search: Open) -> None:
    """Behind the results that one page shows the order is that of the scores."""
    search = open_search(LearningSettings(exploration=10.0), page_size=3)
    rest = [hit.score for hit in ask(search, "heron").hits][3:]
    assert rest == sorted(rest, reverse=True)


def test_a_query_of_conditions_lists_the_newest(open_search: Open) -> None:
    """There is nothing to rank by, to shuffle or to learn from."""
    search = open_search(LearningSettings(exploration=10.0))
    page = ask(search, "type:text")
    dates = [hit.modified for hit in page.hits]
    assert dates == sorted(dates, reverse=True)
    search.opened(page, page.hits[0])
    assert search.leave(page) is None


@pytest.mark.parametrize("text", ["AND AND", "()", '""', "!!!"])
def test_a_query_without_anything_to_look_for_finds_nothing(open_search: Open, text: str) -> None:
    """Only operators, brackets and marks: no document, rather than all of them."""
    assert ask(open_search(), text).hits == ()


def test_the_limit_cuts_the_page_and_nothing_else(open_search: Open) -> None:
    """Fewer hits, as many matches."""
    search = open_search()
    whole, cut = ask(search, "heron"), ask(search, "heron", limit=4)
    assert names(cut) == names(whole)[:4]
    assert (cut.n_matches, cut.features.shape[0]) == (whole.n_matches, 4)


# What a page says ----------------------------------------------------------------------------------------------------


def test_copies_are_one_result(open_search: Open) -> None:
    """Two files of the same content: one hit that names the other, and no hole in the ranks."""
    page = ask(open_search(), "pangolin night")
    (hit,) = [hit for hit in page.hits if hit.copies]
    assert {os.path.basename(path) for path in (hit.path, *hit.copies)} == {"copy one.txt", "copy two.txt"}
    assert [hit.rank for hit in page.hits] == list(range(1, len(page.hits) + 1))
    assert [hit.bm25_rank for hit in ask(open_search(), "pangolin", order="bm25").hits] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("hreon", "heron"), ("zanzibr journey", "zanzibar journey"), ('"the quetzla"', '"the quetzal"'), ("heron", ""),
     ("xqzw", ""), ("title:zanzibr", "title:zanzibar")],
)  # fmt: skip
def test_a_misspelt_word_is_replaced_where_it_stands(open_search: Open, text: str, suggestion: str) -> None:
    """Only the word, inside of its quotes or behind its field; nothing where nothing is amiss or known."""
    search = open_search()
    page, as_typed, typing = ask(search, text), ask(search, text, as_typed=True), ask(search, text, as_you_type=True)
    assert (page.searched, page.suggestion) == (suggestion, "")
    assert names(page) == names(ask(search, suggestion or text))
    assert (as_typed.searched, as_typed.suggestion) == ("", suggestion)
    assert (typing.searched, typing.suggestion) == ("", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [('where did a "walking pangolin" look on', "where did a walking pangolin look on"),
     ("the pangolin, NOT the umbrella, walks on", "the pangolin, not the umbrella, walks on"),
     ('pangolin "ant ant"', ""), ('did the pangolin walk at "night"', ""), ("pangolin -walks -eats -legs -x y", ""),
     ('"where did the pangolin look on"', ""), ("ants pangolin -on eats", "ants pangolin on eats")],
)  # fmt: skip
def test_a_sentence_that_finds_nothing_is_searched_for_by_its_words(open_search: Open, text: str, words: str) -> None:
    """Its quotes and capitals are prose, and the dash of an option; few words, other dashes, one phrase, and operators
    that leave some, are meant."""
    page, as_typed = ask(open_search(), text), ask(open_search(), text, as_typed=True)
    assert (page.searched, as_typed.searched) == (words, "")
    assert names(page) == names(ask(open_search(), words) if words else as_typed)
    assert (not as_typed.hits and page.hits) if words else page.hits == as_typed.hits


def test_facets_count_all_matches_and_narrow_to_them(open_search: Open, master: tuple[Path, Path]) -> None:
    """Each value leaves as many documents as it said, among those that matched."""
    search = open_search()
    page = ask(search, "heron")
    counts = {facet.value: facet.n_documents for facet in page.facets.types}
    assert counts == {"text": len(HERONS) + 1, "html": 1, "data": 1}
    assert {facet.label: facet.n_documents for facet in page.facets.folders} == {"herons": len(HERONS), "other": 3}
    assert [facet.value for facet in page.facets.times] == ["today", "week", "month", "year"]
    for kind, facets in (("type", page.facets.types), ("folder", page.facets.folders), ("time", page.facets.times)):
        for facet in facets:
            narrowed = ask(search, "heron", **{kind: facet.value})
            assert narrowed.n_matches == len(narrowed.hits) == facet.n_documents
            assert {hit.doc_id for hit in narrowed.hits} <= {hit.doc_id for hit in page.hits}
    inside = ask(search, "heron", folder=str(master[0] / "herons"))
    assert inside.facets.folders == ()


@pytest.mark.parametrize("request_", [{"type": "none"}, {"folder": "/no/such"}, {"time": "never"}, {"folder": "~x"}])
def test_narrowing_to_what_there_is_not_finds_nothing(open_search: Open, request_: dict[str, str]) -> None:
    """An unknown value is no error."""
    assert ask(open_search(), "heron", **request_).hits == ()


@pytest.mark.parametrize("text", ["heron", "grey heron", "the pangolin", "umbrella handle", "lake pond", "ants night"])
def test_a_finished_word_gives_the_same_page_while_it_is_typed(open_search: Open, text: str) -> None:
    """The same results, scores and marked words, so that nothing moves once the hand rests."""
    typing, rested = ask(open_search(), text, as_you_type=True), ask(open_search(), text)
    assert [(hit.doc_id, hit.score) for hit in typing.hits] == [(hit.doc_id, hit.score) for hit in rested.hits]
    assert typing.words == rested.words


def test_the_last_word_is_a_prefix_while_typing(open_search: Open) -> None:
    """Half a word finds what the whole word finds, and is highlighted as a beginning."""
    search = open_search()
    typing = ask(search, "zanz", as_you_type=True)
    assert names(typing) == ["zanzibar.md"]
    assert typing.words == ("zanz*",)
    assert ask(search, "zanz", as_typed=True).hits == ()


def test_problems_are_pointed_at_and_the_rest_is_answered(open_search: Open) -> None:
    """A line and a place; few matches are relaxed and say so."""
    page = ask(open_search(), "zanzibar size:big")
    assert names(page) == ["zanzibar.md"]
    assert [(p.position, p.length) for p in page.problems] == [(len("zanzibar size:"), len("big"))]
    assert ask(open_search(), "zanzibar pangolin").relaxed


def test_snippet_preview_and_status(open_search: Open, master: tuple[Path, Path]) -> None:
    """The text comes from the catalogue, with the places of the words."""
    search = open_search()
    page = ask(search, "quetzal")
    snippet, preview = search.snippet(page, page.hits[0]), search.preview(page, page.hits[0])
    assert "quetzal" in snippet.text
    assert [preview.text[a:b] for a, b in preview.spans] == ["quetzal"]
    status = search.status()
    assert (status.n_documents, status.n_failures, status.writer) == (len(DOCUMENTS), 0, "")
    assert status.roots == (str(master[0]),)
    assert status.index_bytes > 0


def test_the_preview_begins_where_the_snippet_is(tmp_path: Path) -> None:
    """At the passage with most of the words, not at the first match of any."""
    own = Paths(tmp_path / "config", tmp_path / "data")
    (tmp_path / "notes").mkdir()
    far = "heron\n" * 300 + "The heron met a pangolin.\n"
    (tmp_path / "notes" / "a.txt").write_text(far)
    update_index(INDEXING, own, roots=[str(tmp_path / "notes")])
    search = Search(Settings(learning=QUIET), own)
    page = ask(search, "heron pangolin")
    snippet, preview = search.snippet(page, page.hits[0]), search.preview(page, page.hits[0])
    start, _ = preview.spans[preview.best]
    assert preview.text.count("\n", 0, start) + 1 == snippet.line
    assert "pangolin" in [preview.text[a:b] for a, b in preview.spans]
    assert list(preview.spans) == sorted(preview.spans)
    search.close()


def test_who_wrote_it_is_no_passage(tmp_path: Path) -> None:
    """Asked for by its sender a mail shows its text and not the signature; with a word beside it, that word."""
    folder, paths = tmp_path / "mail", Paths(tmp_path / "config", tmp_path / "data")
    folder.mkdir()
    head = "From: Anna Berg <anna@example.org>\nSubject: Roof\nDate: Mon, 02 Nov 2026 10:00:00 +0000\n\n"
    (folder / "a.eml").write_text(f"{head}The tiles come on Friday.\n\n{'Nothing else is new. ' * 40}\n\nAnna Berg\n")
    update_index(INDEXING, paths, roots=[str(folder)])
    with closing(Search(INDEXING, paths)) as search:
        for text, begins, marked in (
            ("from:anna", "The tiles come", []),
            ("from:anna friday", "The tiles", ["Friday"]),
        ):
            page = ask(search, text)
            found = search.snippet(page, page.hits[0])
            assert found.text.startswith(begins)
            assert [found.text[start:end] for start, end in found.spans] == marked
            assert search.preview(page, page.hits[0]).best == 0


def test_an_archive_is_one_row_of_what_changed_lately(tmp_path: Path) -> None:
    """And not one for each file in it; these are found by their own names. A date to come is none of lately."""
    folder, paths = tmp_path / "files", Paths(tmp_path / "config", tmp_path / "data")
    folder.mkdir()
    with zipfile.ZipFile(folder / "notes.zip", "w") as archive:
        for name in ("one.txt", "two.txt", "three.txt"):
            archive.writestr(name, f"a heron in {name}")
    (folder / "plain.txt").write_text("a heron")
    (folder / "to come.txt").write_text("a heron of a clock that was wrong")
    os.utime(folder / "to come.txt", (4_102_444_800, 4_102_444_800))  # 2100
    update_index(INDEXING, paths, roots=[str(folder)])
    with closing(Search(INDEXING, paths)) as search:
        assert sorted(names(search.recent())) == ["notes.zip", "plain.txt"]
        assert len(ask(search, "heron").hits) == 5


def test_the_explanation_adds_up_to_the_score(open_search: Open) -> None:
    """Contributions are the score but for those too small to be shown."""
    search = open_search()
    for _ in range(3):
        pick(search, "heron", "note09.txt")
    page = ask(search, "heron")
    explained = search.explain(page, page.hits[0])
    total = sum(c.prior + c.learned for c in explained.contributions)
    assert total == pytest.approx(page.hits[0].score, abs=0.005 * len(NAMES))
    assert any(c.feature in USAGE_NAMES for c in explained.contributions) == (names(page)[0] == "note09.txt")


# Files come and go ---------------------------------------------------------------------------------------------------


def test_a_missing_file_is_marked_and_purged(tmp_path: Path) -> None:
    """A hit whose file is gone says so, the next update removes it, even from an index that was opened before, and a
    refresh shows what is new."""
    notes, own = tmp_path / "notes", Paths(tmp_path / "config", tmp_path / "data")
    notes.mkdir()
    for name in ("a", "b"):
        (notes / f"{name}.txt").write_text(f"heron {name}")
    update_index(INDEXING, own, roots=[str(notes)])
    search = Search(Settings(), own)
    (notes / "a.txt").unlink()
    page = ask(search, "heron")
    assert {os.path.basename(hit.path): hit.missing for hit in page.hits} == {"a.txt": True, "b.txt": False}
    catalogue = Catalogue.open(own.catalogue)
    assert catalogue.suspects() == [str(notes / "a.txt")]
    catalogue.close()
    assert search.preview(page, next(hit for hit in page.hits if hit.missing)).note == "the file is gone"
    (notes / "c.txt").write_text("heron c")
    assert not search.refresh()
    update_index(INDEXING, own, roots=[str(notes)])
    assert names(ask(search, "heron")) == ["b.txt"]
    assert search.refresh()
    assert set(names(ask(search, "heron"))) == {"b.txt", "c.txt"}
    rebuilt_at_the_same_generation(search, own, notes)
    search.close()


def rebuilt_at_the_same_generation(search: Search, own: Paths, notes: Path) -> None:
    """Made anew by another process while this one looks away, the index comes to the generation it had: still seen."""
    generation = search.status().generation
    (notes / "b.txt").write_text("heron quetzal")
    update_index(INDEXING, own, roots=[str(notes)], rebuild=True)
    n = 0
    while Catalogue.open(own.catalogue).generation < generation:
        (notes / f"n{n}.txt").write_text(f"stork {n}")
        update_index(INDEXING, own, roots=[str(notes)])
        n += 1
    assert search.refresh()
    assert search.status().generation == generation
    assert names(ask(search, "quetzal")) == ["b.txt"]


def test_a_damaged_index_is_empty_and_says_why(paths: Paths, open_search: Open, master: tuple[Path, Path]) -> None:
    """Searching goes on with nothing to find; rebuilt, it is found again."""
    before = {path: path.read_bytes() for path in paths.index.glob("*.toc")}
    for path in before:
        path.write_bytes(b"garbage")
    search = open_search()
    page = ask(search, "heron")
    assert (page.hits, page.n_documents) == ((), 0)
    assert "cannot be read" in search.trouble
    assert not search.refresh()
    for path, content in before.items():
        path.write_bytes(content)
    assert search.refresh()
    assert (search.trouble, len(ask(search, "zanzibar").hits)) == ("", 1)


# Learning ------------------------------------------------------------------------------------------------------------


def test_a_page_is_learned_from_exactly_once(open_search: Open) -> None:
    """Opened twice and left twice, there is one interaction with one click, and its page is what was shown."""
    search = open_search()
    page = ask(search, "heron")
    for _ in range(2):
        search.opened(page, page.hits[3])
    sentence = search.leave(page)
    assert sentence is not None
    assert sentence.startswith("learned from 1 pick")
    assert search.leave(page) is None
    (interaction,) = search.store.interactions(MANIFEST_HASH)
    assert interaction.clicks.tolist() == [i == 3 for i in range(10)]
    shown = interaction.features[interaction.ranking]
    assert shown == pytest.approx(page.features[: len(shown)], abs=1e-3)
    assert (search.learner.model.n_pages, search.learner.model.n_picks) == (1, 1)


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "learned"])
def test_other_orders_remember_picks_and_teach_nothing(open_search: Open, order: str) -> None:
    """Their ranks say nothing about the ranker; nor do they enter the comparison with BM25."""
    search = open_search()
    page = ask(search, "heron", order=order)
    search.opened(page, page.hits[2])
    assert search.leave(page) is None
    assert search.picks.count() == 1
    assert (search.store.count_interactions(), outcomes.read(search.store)) == (0, ())


def test_outcomes_hold_both_ranks(open_search: Open) -> None:
    """Where the opened result stood in the learned order and where in BM25's."""
    search = open_search()
    page = ask(search, "heron")
    search.opened(page, page.hits[4])
    search.leave(page)
    (outcome,) = outcomes.read(search.store)
    assert (outcome.rank_learned, outcome.rank_bm25) == (5, page.hits[4].bm25_rank)
    assert (outcome.source, outcome.winner) == ("screen", None)


def test_a_wanted_file_rises_and_drifts_back(open_search: Open) -> None:
    """From rank 8 to the top 3 after three picks, to rank 1 after a few more; others picked instead, it sinks again."""
    search = open_search(LearningSettings())

    def rank(name: str) -> int:
        return names(ask(search, "heron", explore=False)).index(name) + 1

    wanted = names(ask(search, "heron", explore=False))[7]
    pick(search, "heron", wanted)
    after_one = rank(wanted)
    for _ in range(2):
        pick(search, "heron", wanted)
    assert rank(wanted) <= 3 <= after_one
    for _ in range(4):
        pick(search, "heron", wanted)
    assert rank(wanted) == 1
    rival = "note00.txt" if wanted != "note00.txt" else "note01.txt"
    for _ in range(8):
        pick(search, "heron", rival)
    assert (rank(rival), rank(wanted)) == (1, rank(wanted))
    assert rank(wanted) > 1


def test_what_is_clicked_for_one_query_is_not_lifted_in_others(open_search: Open) -> None:
    """Fifty clicks on the umbrella page for "umbrella": for "heron" it passes only results within the bound.

    The bound of learning, and the weights of the pick features that do not depend on the query.
    """
    learning = LearningSettings(exploration=0.0)
    search = open_search(learning)
    before = ask(search, "heron", explore=False)
    for _ in range(50):
        pick(search, "umbrella", "offtopic.txt")
    after = ask(search, "heron", explore=False)
    prior, usage = theta_prior(), [INDEX[name] for name in USAGE_NAMES]
    of_queries = [INDEX["same_query"], INDEX["similar_query"]]
    assert not after.features[:, of_queries].any()
    reach = learning.strength * learning.bound + float(prior[usage].sum() - prior[of_queries].sum())
    prior[usage] = 0
    text_scores = after.features @ prior
    place = names(after).index("offtopic.txt")
    assert (text_scores[place:] - text_scores[place] <= reach).all()
    assert names(before).index("offtopic.txt") - place <= 3
    assert names(after)[0] == names(before)[0]
    assert names(ask(search, "quetzal", explore=False)) == ["zanzibar.md"]


def test_one_opening_changes_no_other_page(open_search: Open) -> None:
    """Opened once, or again and again for one query: pages of other words keep every score to the last bit."""
    search = open_search(LearningSettings())
    before = [ask(search, text).hits for text in ("umbrella", "quetzal")]
    for _ in range(5):
        pick(search, "heron", names(ask(search, "heron"))[-1])
    after = [ask(search, text).hits for text in ("umbrella", "quetzal")]
    assert [[(hit.doc_id, hit.score) for hit in hits] for hits in after] == [
        [(hit.doc_id, hit.score) for hit in hits] for hits in before
    ]


@pytest.mark.parametrize("learning", [LearningSettings(enabled=False), LearningSettings(strength=0.0, exploration=0.0)])
def test_learning_off_or_without_strength_is_the_shipped_ranker(open_search: Open, learning: LearningSettings) -> None:
    """However often something is opened, the order stays; switched off, nothing is stored at all."""
    search = open_search(learning)
    before = names(ask(search, "heron", explore=False))
    for _ in range(6):
        pick(search, "heron", before[9])
    assert names(ask(search, "heron", explore=False)) == before
    if not learning.enabled:
        assert (search.picks.count(), search.store.count_interactions(), outcomes.read(search.store)) == (0, 0, ())
        assert names(ask(search, "heron")) == before
        assert search.learner.model.n_pages == 0


def test_picks_may_be_forgotten_while_the_ranker_learns(open_search: Open) -> None:
    """`remember_picks` off: usage features are 0, lessons go on."""
    search = open_search(LearningSettings(remember_picks=False, exploration=0.0))
    assert pick(search, "heron", "note05.txt") is not None
    page = ask(search, "heron")
    assert not page.features[:, [INDEX[name] for name in USAGE_NAMES]].any()
    assert (search.picks.count(), search.store.count_interactions()) == (0, 1)


def test_nothing_of_queries_texts_and_paths_is_in_the_state(paths: Paths, open_search: Open) -> None:
    """The bytes of the state - database, log and all - hold no word of a query, a title, a text or a path."""
    search = open_search(LearningSettings())
    pick(search, "zanzibar journey", "zanzibar.md")
    pick(search, "umbrella handle", "offtopic.txt")
    pick(search, "heron", "note03.txt")
    page = ask(search, "quetzal turaco")
    search.keep(page)
    open_kept(search, 1)
    stored = b"".join(path.read_bytes() for path in paths.data_dir.glob(f"{paths.state.name}*")).lower()
    assert len(stored) > 1_000
    for word in ("zanzibar", "journey", "umbrella", "offtopic", "quetzal", "turaco", "heron", "note03", ".md", ".txt",
                 "birds", "herons", "/notes", "master", paths.data_dir.parent.name):  # fmt: skip
        assert word.encode() not in stored
        assert word.encode("utf-16-le") not in stored


# Pages that outlive the process --------------------------------------------------------------------------------------


def open_kept(search: Search, rank: int) -> Hit | None:
    """Open a result of the page that was kept last, as the command does."""
    page = load_shown(search.store)
    assert page is not None
    return search.open_shown(page, rank)


def test_the_kept_page_is_opened_from_in_another_process(paths: Paths) -> None:
    """One search prints a page, the next one opens its second result, a third one leaves it: learned from once."""
    config = Settings(learning=QUIET)
    first = Search(config, paths)
    page = ask(first, "heron", limit=3)
    first.keep(page)
    first.close()
    second = Search(config, paths)
    hit = open_kept(second, 2)
    assert hit is not None
    assert (hit.doc_id, hit.rank, hit.path) == (page.hits[1].doc_id, 2, page.hits[1].path)
    assert [open_kept(second, rank) for rank in (0, 4, -1)] == [None, None, None]
    assert (second.picks.count(), second.store.count_interactions()) == (1, 0)
    second.close()
    third = Search(config, paths)
    third.keep(ask(third, "quetzal"))
    (interaction,) = third.store.interactions(MANIFEST_HASH)
    assert interaction.clicks.tolist() == [False, True, False]
    assert [outcome.source for outcome in outcomes.read(third.store)] == ["command"]
    third.keep(ask(third, "pangolin"))
    assert third.store.count_interactions() == 1
    third.close()


def test_results_opened_at_once_are_all_on_their_page(paths: Paths) -> None:
    """Six commands open a result each of one page at the same moment: all six clicks are learned from."""
    config = Settings(learning=QUIET)
    engines = [Search(config, paths) for _ in range(6)]
    page = ask(engines[0], "heron", limit=6)
    engines[0].keep(page)
    together = threading.Barrier(6)

    def open_one(rank: int) -> None:
        together.wait()
        open_kept(engines[rank - 1], rank)

    threads = [threading.Thread(target=open_one, args=(rank,)) for rank in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engines[0].keep(ask(engines[0], "quetzal"))
    assert len(outcomes.read(engines[0].store)) == 6
    for engine in engines:
        engine.close()


def test_places_are_those_of_the_page_that_is_kept(open_search: Open) -> None:
    """Another command that searched meanwhile does not get the lines of this one's passages."""
    one, other = open_search(), open_search()
    kept = one.keep(ask(one, "heron"))
    other.keep(ask(other, "pangolin"))
    one.keep_places(kept, [(7, 0)])
    page = load_shown(one.store)
    assert page is not None
    assert page.places == ()
    other.keep_places(page, [(3, 0)])
    assert load_shown(one.store).places == ((3, 0),)


def test_old_pages_are_forgotten(open_search: Open) -> None:
    """Only so many pages can still be learned from; opening from an older one is a pick all the same."""
    search = open_search()
    old = ask(search, "heron")
    for _ in range(KEPT_PAGES):
        ask(search, "quetzal")
    search.opened(old, old.hits[0])
    assert search.leave(old) is None
    assert search.picks.count() == 1


def test_an_interleaved_page_has_a_winner(open_search: Open) -> None:
    """Both orders place results in turns; who placed the one that was opened wins."""
    search = open_search(LearningSettings(interleave=True, exploration=0.0))
    for _ in range(6):
        pick(search, "heron", "note09.txt")
    page = ask(search, "heron")
    assert sorted(names(page)) == sorted(names(ask(search, "heron", explore=False)))
    search.opened(page, page.hits[0])
    search.leave(page)
    winners = {outcome.winner for outcome in outcomes.read(search.store)}
    assert winners <= {outcomes.LEARNED, outcomes.BM25, None}
    assert winners != {None}


# Many at once, and anything at all -----------------------------------------------------------------------------------


def test_many_threads_search_open_and_leave_at_once(open_search: Open) -> None:
    """No error, every answer whole, every page learned from once."""
    search = open_search()
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(4):
                page = ask(search, ["heron", "pangolin", "quetzal her"][(number + turn) % 3], as_you_type=turn % 2 == 0)
                assert page.hits
                search.opened(page, page.hits[0])
                search.snippet(page, page.hits[0])
                search.refresh()
                search.leave(page)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert search.store.count_interactions() == 4 * 4


SCRAPS = st.sampled_from([
    "heron", "zanz*", "(", ")", '"', "OR", "NOT", "-", "dir:", "~nobody/x", "/", "size:", ">1", "ext:", "title:",
    "\udce4", "\ud800", "\0", "東", "type:mail", "modified:", "last-week", "=", "*",
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    text=st.lists(SCRAPS, max_size=8).map(" ".join) | st.lists(SCRAPS, max_size=8).map("".join) | st.text(max_size=30),
    order=st.sampled_from(ORDERS), typing=st.booleans(),
)  # fmt: skip
def test_whatever_is_typed_is_answered(fuzzed: Search, text: str, order: str, typing: bool) -> None:
    """Brackets, quotes, half a field, lone surrogates, a home that nobody has: a page, never an exception."""
    page = ask(fuzzed, text, order=order, as_you_type=typing)
    assert page.features.shape == (len(page.hits), len(NAMES))
    assert np.isfinite(page.features).all()
    if page.hits:
        fuzzed.opened(page, page.hits[-1])
        fuzzed.leave(page)
    fuzzed.keep(page)


@pytest.fixture(scope="module")
def fuzzed(master: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    base = tmp_path_factory.mktemp("fuzzed")
    shutil.copytree(master[1], base / "data")
    search = Search(msgspec.structs.replace(Settings(), learning=QUIET), Paths(base / "config", base / "data"))
    yield search
    search.close()


def test_no_opening_is_lost_on_a_page_that_was_left_or_stood_long(open_search: Open) -> None:
    """What is opened on a page after it was left is a pick for its query; the lists of recent files end no page."""
    search = open_search()
    page = ask(search, "pangolin")
    for _ in range(KEPT_PAGES):
        search.recent()
    search.opened(page, page.hits[0])
    assert search.leave(page) is not None
    search.opened(page, page.hits[1])
    assert search.picks.count() == 2
    again = ask(search, "pangolin")
    assert again.features[:, NAMES.index("same_query")].astype(bool).sum() == 2
