from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foltr.errors import ShapeError, ValueRangeError
from foltr.online.interleaving import FIRST, SECOND, sign_test, team_draft, winner


def test_equal_rankings_come_out_unchanged() -> None:
    """Two rankers that agree give their common order, with places shared evenly."""
    page = team_draft(range(10), range(10), k=10, rng=np.random.default_rng(0))
    assert page.ranking.tolist() == list(range(10))
    assert (page.owner == FIRST).sum() == 5


def test_teams_of_two_by_hand() -> None:
    """[0, 1, 2] against [0, 2, 1]: whoever starts takes 0, the other takes its own next best."""
    seen = {
        tuple(map(tuple, (page.ranking.tolist(), page.owner.tolist())))
        for page in (team_draft([0, 1, 2], [0, 2, 1], k=2, rng=np.random.default_rng(s)) for s in range(50))
    }
    assert seen == {((0, 2), (FIRST, SECOND)), ((0, 1), (SECOND, FIRST))}


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 12), st.integers(0, 15))
def test_a_page_has_no_repetition_and_even_teams(seed: int, n_first: int, n_second: int, k: int) -> None:
    """Every row appears once, nothing available is left out, and teams with enough rows differ by one at most."""
    rng = np.random.default_rng(seed)
    first, second = rng.permutation(12)[:n_first].tolist(), rng.permutation(12)[:n_second].tolist()
    page = team_draft(first, second, k=k, rng=rng)
    assert len(set(page.ranking.tolist())) == len(page.ranking) == min(k, len(set(first) | set(second)))
    for row, owner in zip(page.ranking.tolist(), page.owner.tolist(), strict=True):
        assert row in (first if owner == FIRST else second)
    if set(first) == set(second):
        assert abs(int((page.owner == FIRST).sum()) - int((page.owner == SECOND).sum())) <= 1


def test_each_team_starts_half_the_time() -> None:
    """The first place is a fair coin: 2,000 draws stay within five standard deviations of 1,000."""
    rng = np.random.default_rng(1)
    starts = sum(int(team_draft([0, 1], [1, 0], k=2, rng=rng).owner[0]) for _ in range(2000))
    assert abs(starts - 1000) < 5 * (2000 * 0.5 * 0.5) ** 0.5


def test_credit_goes_to_the_owner_of_the_clicks() -> None:
    """More clicks win; equal numbers and no clicks are ties."""
    owner = [FIRST, SECOND, SECOND, FIRST]
    assert winner(owner, [True, False, False, False]) == FIRST
    assert winner(owner, [True, True, True, False]) == SECOND
    assert winner(owner, [True, True, False, False]) is None
    assert winner(owner, [False] * 4) is None
    with pytest.raises(ShapeError):
        winner(owner, [True])


def test_sign_test_by_hand() -> None:
    """9 of 10: 2 * (1 + 10) / 1024; 5 of 5: 2 / 32; even or empty: 1."""
    assert sign_test(9, 1) == 2 * (1 + 10) / 1024
    assert sign_test(0, 5) == 2 * 1 / 32
    assert sign_test(5, 5) == 1.0
    assert sign_test(0, 0) == 1.0


def test_sign_test_of_very_many_pages() -> None:
    """20,000 comparisons neither overflow nor lose the answer: 10,200 wins are 2.83 sd, p about .0047."""
    assert sign_test(10_200, 9_800) == pytest.approx(0.0048, abs=0.0002)


def test_bad_input_is_refused() -> None:
    """A row ranked twice and negative wins are errors."""
    with pytest.raises(ValueRangeError, match="twice"):
        team_draft([1, 1], [0], k=2, rng=np.random.default_rng(0))
    with pytest.raises(ValueRangeError, match="negative"):
        sign_test(-1, 2)
