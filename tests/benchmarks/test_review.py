"""What a review is measured by: its costs, the topics, and AutoTAR beside it."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from benchmarks import autotar
from benchmarks.collections import Collection, Document
from benchmarks.review import cost, topics


def test_a_cost_is_the_place_at_which_the_share_is_reached() -> None:
    """Of four relevant ones .8 is all four, .75 three; what is never found costs one more than all."""
    order = [True, False, True, True, False, True]
    assert (cost(order, 4, 0.75), cost(order, 4, 0.8), cost(order, 4, 0.0)) == (4, 6, 1)
    assert cost(order[:4], 4, 0.8) == 5


def test_topics_have_ten_relevant_documents() -> None:
    """And are as many as asked, the same each time."""
    grades = {f"q{i}": {str(d): 1 for d in range(8 + i)} for i in range(5)}
    collection = Collection("c", (Document("0", "", "x"),), {q: q for q in grades}, grades)
    assert list(topics(collection, 9).queries) == ["q2", "q3", "q4"]
    assert len(topics(collection, 2).queries) == 2
    assert topics(collection, 2).queries == topics(collection, 2).queries


def test_the_rows_of_autotar_are_as_published() -> None:
    """Stems in two texts or more, (1 + ln tf) ln(N / df), length 1."""
    texts = autotar.Texts(["fishing fishes boat", "a fish boat", "boat house house", "house"])
    columns, values = texts.rows[0]
    fish, boat = (1 + log(2)) * log(4 / 2), log(4 / 3)
    expected = np.array([fish, boat]) / np.hypot(fish, boat)
    assert sorted(values.tolist()) == pytest.approx(sorted(expected.tolist()))
    assert texts.n_words == 3
    assert columns.size == 2


def test_autotar_reads_what_is_like_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty of two hundred speak of otters; the query names one word of one of them."""
    monkeypatch.setattr(autotar, "N_PRESUMED", 20)
    words = np.random.default_rng(0).choice([f"w{i}" for i in range(60)], size=(200, 12))
    texts = [" ".join(row) + (" otter reed water levee" if i % 10 == 0 else "") for i, row in enumerate(words)]
    relevant = np.arange(200) % 10 == 0
    order = autotar.order(autotar.Texts(texts), "levee", relevant, share=1.0)
    assert relevant[order].sum() == 20
    assert len(order) == len(set(order)) < 60
