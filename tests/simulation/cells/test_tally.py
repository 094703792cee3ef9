"""What users saw, added up."""

from __future__ import annotations

import math

from simulation.cells.row_making import Tally
from simulation.rounds.federation import Shown
from simulation.run_folder import DISCOUNT, WORST_ROUNDS


def test_a_tally_discounts_rounds_and_averages_between_rows() -> None:
    """Cumulative: mean nDCG of the round times gamma^(t - 1); the means begin anew after each row."""
    tally = Tally()
    tally.add(Shown(2, ndcg=1.0, reciprocal_rank=2.0, max_rr=0.5, clicks=1))
    tally.add(Shown(2, ndcg=2.0, reciprocal_rank=1.0, max_rr=1.5, clicks=3))
    assert tally.since_last_row() == {"online_ndcg": 3.0 / 4, "online_mrr": 3.0 / 4, "online_max_rr": 2.0 / 4}
    assert tally.since_last_row() == {}
    assert math.isclose(tally.cumulative_ndcg, 1.0 / 2 + DISCOUNT * 2.0 / 2)
    assert tally.interactions == 4


def test_the_worst_rounds_in_a_row_are_found_wherever_they_are() -> None:
    """A page of nDCG 1 a round, in a hundred rounds on the way 0: 400 of the worst 500 are good, as at no end."""
    tally = Tally()
    for number in range(2 * WORST_ROUNDS):
        ndcg = 0.0 if 300 <= number < 400 else 0.9 if number < 300 else 1.0
        tally.add(Shown(1, ndcg=ndcg, reciprocal_rank=1.0, max_rr=1.0, clicks=1))
        assert (tally.worst_ndcg is None) == (number + 1 < WORST_ROUNDS)
    assert tally.worst_ndcg is not None
    assert math.isclose(tally.worst_ndcg, (300 * 0.9 + 100) / WORST_ROUNDS)


def test_rounds_in_which_nobody_searches_harm_nobody() -> None:
    """Where clients have asked all their queries, the rounds that follow are no bad ones."""
    tally = Tally()
    for _ in range(WORST_ROUNDS):
        tally.add(Shown(1, ndcg=0.5))
    tally.add(Shown())
    assert tally.worst_ndcg == 0.5
