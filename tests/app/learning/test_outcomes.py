from __future__ import annotations

from pathlib import Path

import pytest

from app.learning import outcomes
from app.learning.outcomes import BM25, LEARNED, Comparison, Outcome
from app.store import StateError, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state.sqlite")


def test_outcomes_are_kept_in_order_of_time(store: Store) -> None:
    """What is recorded comes back, oldest first, from a time on."""
    one, two = Outcome(20.0, 1, 4, "screen"), Outcome(10.0, 2, 2, "command", BM25)
    outcomes.record(store, one)
    outcomes.record(store, two)
    assert outcomes.read(store) == (two, one)
    assert outcomes.read(store, since=15.0) == (one,)
    outcomes.clear(store)
    assert outcomes.read(store) == ()


def test_buckets_by_hand() -> None:
    """Two outcomes on day 1 and one on day 3: means of reciprocal ranks and shares at rank 1; day 2 is left out."""
    rows = [Outcome(95.0, 1, 4, "s"), Outcome(5.0, 2, 1, "s"), Outcome(250.0, 1, 0, "s")]
    first, second, third = outcomes.buckets(rows, seconds=50)
    assert (first.start, first.n, first.mrr_learned, first.mrr_bm25) == (0, 1, 1 / 2, 1)
    assert (second.start, second.mrr_bm25) == (50, 1 / 4)
    assert (third.start, third.first_learned, third.mrr_bm25) == (250, 1.0, 0.0)
    everything = outcomes.overall(rows)
    assert everything is not None
    assert everything.mrr_learned == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert everything.first_learned == pytest.approx(2 / 3)
    assert outcomes.overall([]) is None


def test_interleaving_is_counted_without_ties(store: Store) -> None:
    """5 wins to 0, ties aside: p = 2 / 32."""
    rows = [Outcome(0.0, 1, 2, "s", LEARNED)] * 5 + [Outcome(0.0, 1, 2, "s")] * 3
    assert outcomes.comparison(rows) == Comparison(5, 0, 2 / 32)


def test_an_impossible_outcome_is_refused(store: Store) -> None:
    """Negative ranks and unknown winners are errors."""
    with pytest.raises(StateError):
        outcomes.record(store, Outcome(0.0, -1, 1, "s"))
    with pytest.raises(StateError):
        outcomes.record(store, Outcome(0.0, 1, 1, "s", "google"))
