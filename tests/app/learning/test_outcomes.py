from __future__ import annotations

import pytest

from app.learning import outcomes
from app.learning.outcomes import BM25, LEARNED, Comparison, Outcome, caution, lead, verdict
from app.store import StateError, Store


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


def _opened(*places: tuple[int, int]) -> list[Outcome]:
    """(learned, BM25) ranks, each opened on a day of its own."""
    return [Outcome(n * 86_400.0, learned, bm25, "screen") for n, (learned, bm25) in enumerate(places)]


def test_the_lead_and_its_interval_by_hand() -> None:
    """Leads of 1, 3 and 2 places: mean 2, deviations -1, 1, 0, so two standard errors are 2 sqrt(2) / 3."""
    found = lead(_opened((1, 2), (1, 4), (3, 5), (0, 4), (2, 0)))
    assert found is not None
    assert (found.n, found.places) == (3, 2.0)
    assert (found.low, found.high) == (pytest.approx(2 - 2 * 2**0.5 / 3), pytest.approx(2 + 2 * 2**0.5 / 3))
    assert lead(_opened((1, 2))) is None


def test_openings_of_one_day_are_not_told_apart_from_one_another() -> None:
    """Four openings on two days that agree within the day: the interval is that of two, not of four."""
    four = [Outcome(day * 86_400.0, 1, rank, "screen") for day, rank in ((0, 2), (0, 2), (1, 4), (1, 4))]
    found = lead(four)
    assert found is not None
    assert found.high - found.places == pytest.approx(2 * (2**2 + 2**2) ** 0.5 / 4)


@pytest.mark.parametrize(
    ("places", "sentence"),
    [
        ([(1, 2)] * 7, "Too early to say: 7 openings, about 30 are needed."),
        ([], "Too early to say: 0 openings, about 30 are needed."),
        (
            [(1, 2), (1, 4)] * 20,
            "It helps: what you opened stood 2.0 places higher than with plain word matching "
            "(between 1.7 and 2.3, over 40 openings).",
        ),
        (
            [(2, 1), (4, 1)] * 20,
            "It does not help: what you opened stood 2.0 places lower than with plain word matching "
            "(between 1.7 and 2.3, over 40 openings).",
        ),
        (
            [(1, 2), (2, 1)] * 20,
            "No difference to be seen yet: what you opened stood about where it would with plain word matching "
            "(between 0.3 lower and 0.3 higher, over 40 openings).",
        ),
    ],
)
def test_the_verdict_in_plain_words(places: list[tuple[int, int]], sentence: str) -> None:
    """Few openings say nothing, worse is called worse, and what may be chance is called so."""
    assert verdict(_opened(*places)) == sentence


def test_the_caution_that_belongs_to_it() -> None:
    """Without shared pages it says why the verdict flatters; with them it says who won, and whether that is chance."""
    assert "flatters" in caution(_opened((1, 2)))
    won = [Outcome(0.0, 1, 2, "screen", LEARNED)] * 3
    assert caution(won) == (
        "Of 3 pages that both orders shared, the learned order won 3 and plain word matching 0, "
        "which chance alone does often."
    )
    assert caution(won * 4).endswith("won 12 and plain word matching 0, which chance alone hardly does.")
