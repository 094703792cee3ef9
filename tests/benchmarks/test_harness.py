"""The benchmark harness: files that mean what the collection means, and arrays that agree with the plain metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.search.results import SearchRequest
from app.settings import Settings
from benchmarks import collections
from benchmarks.collections import Collection, Document, file_text, plain, shared_folder
from benchmarks.devices import device, lay_out, new_session
from benchmarks.held_out import interact, judge
from benchmarks.judged import Batch, JudgedPage, judged_pages
from benchmarks.refinding import mrr, pick, rank_of
from benchmarks.tables import Table, change
from foltr.ranking.metrics import ndcg_at_k, reciprocal_rank
from indexer.retrieval.features import NAMES
from simulation.rounds.click_models import make_users

SMALL = Collection(
    "small",
    (
        Document("1", "Growing tomatoes", "Tomatoes want sun and water.\n\nTie the plants to a pole."),
        Document("2", "Pruning roses", "Roses are pruned in spring. Water them well."),
        Document("3", "", "A watering can without a title: water for tomatoes."),
    ),
    {"a": "water for tomatoes", "b": "prune roses"},
    {"a": {"1": 1, "3": 1}, "b": {"2": 1}},
)


def test_a_question_becomes_plain_words() -> None:
    """No operators, quotes, fields or brackets are left of a sentence."""
    assert plain('What IS "U.S . policy" (NOT -war): size:>1mb?') == "what is u.s policy not war size 1mb"


def test_a_title_stands_once_in_each_format() -> None:
    """A text that begins with its title does not repeat it below the heading."""
    document = Document("1", "Growing tomatoes", "growing\n tomatoes".title() + "\nWater them.")
    document = Document("1", "Growing Tomatoes", document.text)
    assert file_text(document, ".md").count("Tomatoes") == 1
    assert file_text(document, ".html").split("<body>")[1].count("Tomatoes") == 1
    assert file_text(document, ".txt").splitlines()[:2] == ["Growing Tomatoes", "=" * 72]


def test_a_collection_goes_through_the_whole_program(tmp_path: Path) -> None:
    """Files, index, search, clicks: relevant documents are found, and picking one three times puts it first."""
    settings = Settings()
    library = lay_out(SMALL, tmp_path, settings)
    users, rng = make_users("perfect", top_grade=1), np.random.default_rng(0)
    with device(library.paths, settings) as search:
        values = judge(search, library, ["a", "b"], order="bm25")
        assert values[1].tolist() == [1.0, 1.0]
        page = search.search(SearchRequest("water", order="bm25"))
        last = page.hits[-1].doc_id
        for _ in range(3):
            pick(search, "water", last)
        assert rank_of(search.search(SearchRequest("water", explore=False)), last) == 1
        new_session(search)
        interact(search, library, "a", users, rng)
        assert search.picks.count() >= 2


def test_a_batch_agrees_with_the_metrics(tmp_path: Path) -> None:
    """nDCG@10 and reciprocal rank of many pages at once are those of each page by itself."""
    settings = Settings()
    library = lay_out(SMALL, tmp_path, settings)
    with device(library.paths, settings) as search:
        pages = judged_pages(search, library)
    theta = np.random.default_rng(2).standard_normal(len(NAMES))
    ranked = [(page, page.grades[np.argsort(-(page.features @ theta), kind="stable")]) for page in pages]
    batch = Batch(pages)
    assert batch.ndcg(theta) == pytest.approx([ndcg_at_k(g, 10, judged=page.judged) for page, g in ranked])
    assert batch.reciprocal_rank(theta) == pytest.approx([reciprocal_rank(g) for _, g in ranked])


def test_what_was_never_retrieved_counts_as_missed() -> None:
    """One of two relevant documents at rank 1: 1 / (1 + 1 / log2(3))."""
    page = JudgedPage("q", np.ones((1, len(NAMES))), np.ones(1), (1, 1))
    assert Batch([page]).ndcg(np.ones(len(NAMES)))[0] == pytest.approx(1 / (1 + 1 / np.log2(3)))


def test_ranks_below_ten_are_worth_nothing() -> None:
    """(1 + 1/2 + 0) / 3."""
    assert mrr([1, 2, 11]) == pytest.approx((1 + 0.5) / 3)


def test_tables_line_up() -> None:
    """Every line of a table is equally long, numbers have three decimals."""
    table = Table(("what", "value"))
    table.add("nDCG", 0.5)
    assert str(table).splitlines() == ["| what | value |", "| ---- | ----- |", "| nDCG | 0.500 |"]
    assert change(1.02, 1.0) == "+2.0 %"


def test_the_shared_collections_are_read() -> None:
    """cranfield: 1,400 documents, 225 judged queries, grades up to 3."""
    try:
        shared_folder()
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    cranfield = collections.read("cranfield")
    assert (len(cranfield.documents), len(cranfield.queries), cranfield.top_grade) == (1400, 225, 3)
