"""The poisoned leaver of unlearning studies."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from simulation.attacks.opposed import oppose

START = np.array([1.0, -2.0])


def test_by_hand() -> None:
    """With M = (1, -2), an update of (.5, 1) and z = 2: -2 (.5, 1) - 3 (1, -2) = (-4, 4)."""
    assert oppose(np.array([0.5, 1.0]), START, z=2.0).tolist() == [-2 * 0.5 - 3 * 1, -2 * 1 - 3 * -2]


@pytest.mark.parametrize("z", [0.5, 2.0, 7.0])
def test_the_sent_ranker_is_minus_z_times_the_learned_one(z: float) -> None:
    """Eq. 6.4 is Eq. 6.3 less the global ranker."""
    updates = np.random.default_rng(0).normal(size=(3, 2))
    assert START + oppose(updates, START, z=z) == pytest.approx(-z * (START + updates))


def test_z_of_minus_one_is_honest() -> None:
    """-(-1) times what was learned is what was learned."""
    updates = np.random.default_rng(1).normal(size=(4, 2))
    assert np.array_equal(oppose(updates, START, z=-1.0), updates)


def test_what_does_not_fit_is_refused() -> None:
    """Updates of another length, and a z that is no number."""
    with pytest.raises(ShapeError, match="n_params"):
        oppose(np.zeros((2, 3)), START, z=2.0)
    with pytest.raises(ValueRangeError, match="finite"):
        oppose(np.zeros(2), START, z=float("nan"))
