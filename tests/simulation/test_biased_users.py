"""The users of FedIPS: who clicks what, and how their position biases lie."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from simulation.biased_users import fedips_users


@pytest.mark.parametrize(
    ("top_grade", "click"),
    [(4, [0.1, 0.1, 0.1, 1, 1]), (3, [0.1, 0.1, 1, 1]), (2, [0.1, 1, 1]), (1, [0.1, 1])],
)
def test_clicks_by_grade(top_grade: int, click: list[float]) -> None:
    """The two best grades are clicked whenever looked at, the others once in ten times, and nobody stops (Eq. 11)."""
    users = fedips_users(1.0, n_clients=3, top_grade=top_grade, rng=np.random.default_rng(1))
    assert users.click.tolist() == click
    assert not users.stop.any()


def test_every_user_has_a_bias_of_its_own() -> None:
    """Looks are (1 / rank)^gamma_u with gamma_u around gamma, none below 0."""
    users = fedips_users(1.5, n_clients=4000, top_grade=4, rng=np.random.default_rng(2))
    gamma = -np.log(users.examination[:, 1]) / np.log(2.0)
    assert users.examination.shape == (4000, 5)
    np.testing.assert_allclose(users.examination[:, 4], 5.0**-gamma)
    assert gamma.mean() == pytest.approx(1.5, abs=5 * 0.1 / np.sqrt(4000))
    assert gamma.std() == pytest.approx(0.1, rel=0.1)
    cut = fedips_users(0.0, n_clients=4000, top_grade=4, rng=np.random.default_rng(2))
    assert (cut.examination <= 1.0).all()
    # mean of a normal variable cut off at its own mean
    assert (-np.log2(cut.examination[:, 1])).mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.05)


def test_without_spread_all_are_alike() -> None:
    """A spread of 0 leaves one row for all users."""
    users = fedips_users(2.0, n_clients=9, top_grade=2, rng=np.random.default_rng(1), k=3, spread=0.0)
    np.testing.assert_allclose(users.examination, [[1.0, 1 / 4, 1 / 9]])


def test_grades_must_differ() -> None:
    """With one grade there is nothing to prefer."""
    with pytest.raises(ValueRangeError, match="top_grade"):
        fedips_users(1.0, n_clients=1, top_grade=0, rng=np.random.default_rng(1))
