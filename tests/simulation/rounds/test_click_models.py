"""Simulated users: the probabilities of the papers' tables, and what can be said about their clicks without drawing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.metrics import max_rr
from simulation.rounds.click_models import (
    CASCADES,
    FIVE_GRADES,
    THREE_GRADES,
    Users,
    by_grade,
    expected_max_rr,
    make_users,
)


def test_a_perfect_user_opens_exactly_what_is_best() -> None:
    """Table 2.1, perfect: grade 2 always, grade 0 never, and no stopping."""
    users = make_users("perfect", top_grade=2)
    opened = users.clicks(np.array([2, 0, 2, 0, 0, 2], dtype=np.int8), 0, np.random.default_rng(0))
    assert opened.tolist() == [True, False, True, False, False, True]


def test_the_poison_user_turns_the_perfect_one_round() -> None:
    """Table 5.1: the same click probabilities from the other end, never stopping."""
    for table in (THREE_GRADES, FIVE_GRADES):
        assert table["poison"].click == table["perfect"].click[::-1]
        assert not any(table["poison"].stop)


def test_a_binary_collection_behaves_as_grades_0_and_2() -> None:
    """Relevant is the best there is: Table 2.1, navigational, columns 0 and 2."""
    assert by_grade("navigational", top_grade=1) == ((0.05, 0.95), (0.2, 0.9))


def test_four_grades_take_the_ends_of_the_table_of_five() -> None:
    """Grades 0 to 3 behave as 0, 1, 2 and 4 of Table 2.2."""
    assert by_grade("informational", top_grade=3).click == (0.4, 0.6, 0.7, 0.9)


def test_the_rates_are_those_of_the_table() -> None:
    """Of 4,000 navigational users, 95 % open a first result of grade 2, and 10 % of those look further."""
    users, rng = make_users("navigational", top_grade=2), np.random.default_rng(1)
    page = np.array([2, 2], dtype=np.int8)
    pages = np.array([users.clicks(page, 0, rng) for _ in range(4000)])
    assert pages[:, 0].mean() == pytest.approx(0.95, abs=0.015)
    assert pages[pages[:, 0], 1].mean() == pytest.approx((1 - 0.9) * 0.95, abs=0.02)


def test_position_bias_by_hand() -> None:
    """eta 2 looks at rank 3 with probability 1/9, eta 0 always; nobody stops."""
    users = make_users("pbm", top_grade=4, n_clients=2, k=3, eta=[0.0, 2.0])
    assert users.examination.tolist() == [[1.0, 1.0, 1.0], pytest.approx([1.0, 1 / 4, 1 / 9])]
    assert users.click.tolist() == [[0.0, 0.2, 0.4, 0.8, 1.0]]
    assert not users.stop.any()


@pytest.mark.parametrize("kind", [*CASCADES, "pbm"])
def test_expected_max_rr_is_the_sum_over_all_click_patterns(kind: str) -> None:
    """Every pattern of clicks on three results, each with its probability, gives the same expectation."""
    users = make_users(kind, top_grade=2, k=3)
    for page in product(range(3), repeat=3):
        expected = sum(
            probability_of(users, page, pattern) * max_rr(pattern, 3) for pattern in product((False, True), repeat=3)
        )
        assert expected_max_rr(users, [page])[0] == pytest.approx(expected, abs=1e-12)


def probability_of(users: Users, page: tuple[int, ...], pattern: tuple[bool, ...]) -> float:
    """P(exactly these clicks): the chance of having stopped makes all later results unopened."""
    probability, looking = 0.0, 1.0
    for rank, (grade, opened) in enumerate(zip(page, pattern, strict=True)):
        p = users.click[0, grade] * users.examination[0, rank]
        if not opened:
            looking *= 1 - p
            continue
        if not any(pattern[rank + 1 :]):
            probability += looking * p * users.stop[0, grade]
        looking *= p * (1 - users.stop[0, grade])
    return float(probability + looking)


def test_drawn_clicks_agree_with_the_expectation() -> None:
    """The mean MaxRR of 4,000 drawn pages is the closed form, within four standard errors."""
    users, rng = make_users("pbm", top_grade=2, n_clients=2, k=4, eta=[0.0, 1.5]), np.random.default_rng(5)
    page = np.array([0, 1, 1, 2], dtype=np.int8)
    for client in (0, 1):
        drawn = np.array([max_rr(users.clicks(page, client, rng)) for _ in range(4000)])
        expected = expected_max_rr(users.alone(client), [page])[0]
        assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / np.sqrt(4000))


def test_expected_max_rr_is_the_mean_over_users_and_ends_with_the_page() -> None:
    """All users together are the mean of each; grades of -1 and ranks below the page change nothing."""
    users = make_users("pbm", top_grade=2, n_clients=2, k=2, eta=[0.0, 2.0])
    each = [expected_max_rr(users.alone(client), [[1, 1]])[0] for client in (0, 1)]
    assert expected_max_rr(users, [[1, 1]])[0] == pytest.approx(np.mean(each))
    assert expected_max_rr(users, [[1, 1, 2]])[0] == expected_max_rr(users, [[1, 1]])[0]
    assert expected_max_rr(users, [[1, -1]])[0] == expected_max_rr(users, [[1]])[0]


def test_two_who_click_otherwise_expect_the_mean_of_each() -> None:
    """1 and 1/2 at the first of two results, the second as likely: (1 + 1/2 + 1/2 x 1/2 x 1/2) / 2."""
    users = Users(np.array([[0.0, 1.0], [0.0, 0.5]]), np.zeros((1, 2)), np.ones((1, 2)))
    assert expected_max_rr(users, [[1, 1]])[0] == pytest.approx((1 + 0.5 + 0.125) / 2)


def test_many_like_users_are_as_one() -> None:
    """Three thousand users with the same bias, more than are worked on at once with 500 pages, expect the same."""
    pages = np.random.default_rng(0).integers(0, 5, (500, 8))
    many = make_users("pbm", top_grade=4, n_clients=3000, k=8, eta=np.full(3000, 0.7))
    one = make_users("pbm", top_grade=4, k=8, eta=0.7)
    assert expected_max_rr(many, pages) == pytest.approx(expected_max_rr(one, pages))


def test_what_has_no_table_is_refused() -> None:
    """Unknown kinds and grades, a spread without luck, and one page given as a row are errors."""
    with pytest.raises(ValueRangeError, match="casual"):
        make_users("casual", top_grade=1)
    with pytest.raises(ValueRangeError, match="cascade"):
        by_grade("pbm", top_grade=1)
    with pytest.raises(ValueRangeError, match="not 8"):
        make_users("perfect", top_grade=7)
    with pytest.raises(ValueRangeError, match="generator"):
        make_users("pbm", top_grade=1, spread=0.1)
    with pytest.raises(ValueRangeError, match="negative"):
        make_users("pbm", top_grade=1, eta=-1.0)
    with pytest.raises(ShapeError, match="eta"):
        make_users("pbm", top_grade=1, n_clients=3, eta=[1.0, 2.0])
    with pytest.raises(ShapeError, match="n_pages"):
        expected_max_rr(make_users("perfect", top_grade=1), [1, 0])


def test_every_user_of_fedips_has_a_bias_of_its_own() -> None:
    """Looks are (1 / rank)^gamma_u with gamma_u around gamma, none below 0; without a spread all are alike."""
    users = make_users("fedips", top_grade=4, n_clients=4000, k=5, rng=np.random.default_rng(2), eta=1.5)
    gamma = -np.log(users.examination[:, 1]) / np.log(2.0)
    assert users.examination.shape == (4000, 5)
    np.testing.assert_allclose(users.examination[:, 4], 5.0**-gamma)
    assert gamma.mean() == pytest.approx(1.5, abs=5 * 0.1 / np.sqrt(4000))
    assert gamma.std() == pytest.approx(0.1, rel=0.1)
    cut = make_users("fedips", top_grade=4, n_clients=4000, k=5, rng=np.random.default_rng(2), eta=0.0)
    assert (cut.examination <= 1.0).all()
    # mean of a normal variable cut off at its own mean
    assert (-np.log2(cut.examination[:, 1])).mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.05)
    alike = make_users("fedips", top_grade=2, n_clients=9, k=3, eta=2.0, spread=0.0)
    np.testing.assert_allclose(alike.examination, [[1.0, 1 / 4, 1 / 9]])


@pytest.mark.parametrize(
    ("top_grade", "click"), [(4, [0.1, 0.1, 0.1, 1, 1]), (3, [0.1, 0.1, 1, 1]), (2, [0.1, 0.1, 1]), (1, [0.1, 1])]
)
def test_clicks_of_fedips_by_grade(top_grade: int, click: list[float]) -> None:
    """The upper grades are clicked whenever looked at, the others once in ten times, and nobody stops (Eq. 11)."""
    users = make_users("fedips", top_grade=top_grade, n_clients=3, rng=np.random.default_rng(1))
    assert users.click.tolist() == [click]
    assert not users.stop.any()
