"""Rewards of pages by their clicks: outcomes, and what each is worth."""

from __future__ import annotations

from itertools import product
from math import log2
from typing import get_args

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.online.click_rewards import Reward, outcome, reward_values
from foltr.ranking.metrics import dcg_at_k, max_rr, ndcg_at_k


def worth(reward: Reward, clicks: list[int], k: int) -> float:
    """The value of the outcome of some clicks."""
    return float(reward_values(reward, k)[outcome(reward, np.array(clicks, dtype=bool), k=k)])


def test_one_page_by_hand() -> None:
    """Clicks on the second and the fourth of four results."""
    clicks = [0, 1, 0, 1]
    assert worth("max-rr", clicks, 4) == 1 / 2
    assert worth("dcg", clicks, 4) == pytest.approx(1 / log2(3) + 1 / log2(5))
    assert worth("ndcg", clicks, 4) == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 / log2(2) + 1 / log2(3)))


@pytest.mark.parametrize("k", [1, 3, 6])
def test_every_page_as_by_the_plain_metrics(k: int) -> None:
    """The tables agree with foltr.ranking.metrics for all patterns of clicks."""
    for page in product([0, 1], repeat=k):
        clicks = list(page)
        assert worth("max-rr", clicks, k) == max_rr(clicks, k)
        assert worth("dcg", clicks, k) == pytest.approx(dcg_at_k(clicks, k))
        assert worth("ndcg", clicks, k) == pytest.approx(ndcg_at_k(clicks, k))


@pytest.mark.parametrize("reward", get_args(Reward))
def test_clicks_below_the_cutoff_do_not_count(reward: Reward) -> None:
    """A page may be longer or shorter than k."""
    assert worth(reward, [0, 0, 1], 2) == 0.0
    assert worth(reward, [1], 2) == 1.0


@pytest.mark.parametrize("reward", get_args(Reward))
def test_no_click_is_outcome_0_and_worth_nothing(reward: Reward) -> None:
    """The values lie within their range, and the smallest is for no click."""
    assert outcome(reward, np.zeros(10, dtype=bool), k=10) == 0
    values = reward_values(reward, 10)
    assert values[0] == 0.0 == values.min()
    assert len(values) == (11 if reward == "max-rr" else 2**10)


def test_refused_rewards() -> None:
    """Unknown names, and pages too long for a table of patterns."""
    with pytest.raises(ValueRangeError):
        reward_values("mrr", 10)  # type: ignore[arg-type]
    with pytest.raises(ValueRangeError):
        reward_values("dcg", 17)
    with pytest.raises(ValueRangeError):
        reward_values("max-rr", 0)
