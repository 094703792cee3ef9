from __future__ import annotations

from math import log2

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, nDCG

from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.metrics import average_precision, dcg_at_k, max_rr, ndcg_at_k, reciprocal_rank


def test_dcg_by_hand() -> None:
    """Grades 3, 0, 1: (2^3 - 1) / log2(2) + (2^1 - 1) / log2(4)."""
    assert dcg_at_k([3, 0, 1], 10) == pytest.approx(7 / 1 + 0 + 1 / log2(4))
    assert dcg_at_k([3, 0, 1], 2) == 7.0


def test_ndcg_by_hand() -> None:
    """Grades 0, 1, 2 of which the best order is 2, 1, 0."""
    best = 3 / log2(2) + 1 / log2(3)
    assert ndcg_at_k([0, 1, 2], 10) == pytest.approx((1 / log2(3) + 3 / log2(4)) / best)


def test_documents_that_were_not_retrieved_lower_ndcg() -> None:
    """A relevant document outside the ranking belongs to the ideal."""
    assert ndcg_at_k([1], 10, judged=[1, 1]) == pytest.approx(1 / (1 + 1 / log2(3)))


def test_average_precision_by_hand() -> None:
    """Relevant at ranks 1 and 3 of 2, then of 4: (1 + 2/3) / 2 and (1 + 2/3) / 4."""
    assert average_precision([1, 0, 1]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([1, 0, 1], n_relevant=4) == pytest.approx((1 + 2 / 3) / 4)


def test_reciprocal_rank_by_hand() -> None:
    """The first relevant document counts, and max_rr forgets what lies below the page."""
    assert reciprocal_rank([0, 0, 1, 1]) == 1 / 3
    assert max_rr([0, 0, 1, 1], k=10) == 1 / 3
    assert max_rr([0, 0, 1, 1], k=2) == 0.0


def test_nothing_relevant_scores_zero() -> None:
    """No relevant document, or no document, gives 0 rather than NaN."""
    for values in ([], [0, 0]):
        assert ndcg_at_k(values, 10) == average_precision(values) == reciprocal_rank(values) == max_rr(values) == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_ir_measures(seed: int) -> None:
    """Random graded queries give the same numbers as ir-measures, whose nDCG takes the gains 2^grade - 1 as grades."""
    rng = np.random.default_rng(seed)
    n_judged, n_retrieved = 30, 25
    grades = rng.integers(0, 5, n_judged) * (rng.random(n_judged) < 0.4)
    grades[rng.integers(n_judged)] = 2
    ranking = rng.permutation(n_judged)[:n_retrieved]
    run = [ir_measures.ScoredDoc("q", f"d{row}", float(-rank)) for rank, row in enumerate(ranking)]
    gains = [ir_measures.Qrel("q", f"d{row}", int(2**g - 1)) for row, g in enumerate(grades)]
    theirs = ir_measures.calc_aggregate([nDCG @ 10, AP, RR], gains, run)
    shown = grades[ranking]
    assert ndcg_at_k(shown, 10, judged=grades) == pytest.approx(theirs[nDCG @ 10], abs=1e-9)
    assert average_precision(shown > 0, n_relevant=int((grades > 0).sum())) == pytest.approx(theirs[AP], abs=1e-9)
    assert reciprocal_rank(shown > 0) == pytest.approx(theirs[RR], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_cut_metrics_agree_with_ir_measures(seed: int) -> None:
    """AP@5 and RR@5, also where nothing is relevant."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 4, 12) * (rng.random(12) < 0.5) * (seed > 0)
    run = [ir_measures.ScoredDoc("q", f"d{row}", float(-row)) for row in range(12)]
    qrels = [ir_measures.Qrel("q", f"d{row}", int(g)) for row, g in enumerate(grades)]
    theirs = ir_measures.calc_aggregate([AP @ 5, RR @ 5], qrels, run)
    assert average_precision(grades, k=5) == pytest.approx(theirs[AP @ 5], abs=1e-9)
    assert reciprocal_rank(grades, k=5) == pytest.approx(theirs[RR @ 5], abs=1e-9)


def test_bad_input_is_refused() -> None:
    """Matrices, k below 1 and fewer relevant documents than were found are errors."""
    with pytest.raises(ShapeError):
        ndcg_at_k([[1, 2]], 10)
    with pytest.raises(ValueRangeError, match="k must"):
        ndcg_at_k([1, 2], 0)
    with pytest.raises(ValueRangeError, match="n_relevant"):
        average_precision([1, 1], n_relevant=1)
