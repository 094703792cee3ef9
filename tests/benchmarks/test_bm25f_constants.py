"""Choosing BM25F's constants with one collection left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.search.results import SearchRequest
from app.settings import Settings
from benchmarks.bm25f_constants import GRID, SHIPPED, measure, report
from benchmarks.collections import Collection, Document
from benchmarks.devices import device, lay_out
from benchmarks.judged import graded, ndcg

SMALL = Collection(
    "small",
    (Document("1", "Herons", "They wade."), Document("2", "Storks", "Not herons: herons wade, herons wait."),
     Document("3", "Boats", "A heron on a boat.")),
    {"q": "herons wait", "r": "boats"}, {"q": {"2": 1, "1": 1}, "r": {"3": 1}},
)  # fmt: skip


def test_the_shipped_constants_score_as_the_program_does(tmp_path: Path) -> None:
    """nDCG@10 of the page in BM25F order."""
    library = lay_out(SMALL, tmp_path, Settings())
    values = []
    with device(library.paths, Settings()) as search:
        for name, text in SMALL.queries.items():
            page = search.search(SearchRequest(text, order="bm25"))
            values.append(ndcg(graded(page, library.files, SMALL.grades[name]), SMALL.grades[name].values()))
    assert measure(library)[SHIPPED] == pytest.approx(sum(values) / 2)


def test_what_serves_the_others_best_is_tried_on_each() -> None:
    """a and b choose for each other: each gets what is best for the other one."""
    one, other = GRID[0], GRID[1]
    flat = dict.fromkeys(GRID, 0.1)
    rows = report({"a": flat | {one: 0.5, other: 0.2}, "b": flat | {one: 0.3, other: 0.6}}).rows
    assert [row[2] for row in rows] == ["0.200", "0.300", "0.250"]
