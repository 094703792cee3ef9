"""The privacy loss of a privatised MaxRR: Table 2 of FOLtR-ES."""

from __future__ import annotations

from itertools import pairwise, product
from math import inf, log

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.privacy.privatisation import answers_distribution, randomised_response_epsilon
from simulation.click_models import make_users
from simulation.studies.privacy_loss import max_rr_distribution, privacy_loss, table_2

PROBABILITIES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
TABLE_2 = {
    "perfect": (0.51, 1.61, 2.71, 3.81, 4.55, 6.20),
    "navigational": (0.47, 1.52, 2.58, 3.65, 4.39, 6.00),
    "informational": (0.28, 1.00, 1.70, 2.56, 3.13, 4.39),
}


@pytest.mark.parametrize("clicks", TABLE_2)
def test_table_2(clicks: str) -> None:
    """All eighteen numbers as they are printed; those of the perfect user are the bound for six values."""
    users = make_users(clicks, top_grade=2)
    found = [privacy_loss(users, truth_probability=p) for p in PROBABILITIES]
    assert found == pytest.approx(TABLE_2[clicks], abs=0.005)
    bounds = [randomised_response_epsilon(p, 6) for p in PROBABILITIES]
    assert all(loss <= bound + 1e-12 for loss, bound in zip(found, bounds, strict=True))
    if clicks == "perfect":
        assert found == pytest.approx(bounds)


def test_table_2_as_text() -> None:
    """What the command prints: the printed numbers with two digits, below a row for p and one for the bound."""
    lines = [line.split() for line in table_2().splitlines()]
    assert [line[-6:] for line in lines[2:]] == [[f"{loss:.2f}" for loss in row] for row in TABLE_2.values()]
    assert lines[1][-6:] == lines[2][-6:]


def test_two_ranks_by_hand() -> None:
    """Navigational users on grades 1 and 0: no click .5 * .95, at rank 1 .5, at rank 2 .5 * .05."""
    users = make_users("navigational", top_grade=2)
    assert max_rr_distribution(users, [1, 0])[0].tolist() == pytest.approx([0.5 * 0.95, 0.5, 0.5 * 0.05])


def test_as_by_all_pairs() -> None:
    """The largest ratio over every pair of lists, one by one."""
    users = make_users("informational", top_grade=2)
    lists = np.array(list(product(range(3), repeat=2)))
    told = answers_distribution(max_rr_distribution(users, lists), truth_probability=0.7)
    largest = max(log(a / b) for one, other in product(told, told) for a, b in zip(one, other, strict=True))
    assert privacy_loss(users, truth_probability=0.7, length=2) == pytest.approx(largest)


def test_more_truth_reveals_more() -> None:
    """The loss rises with p, without bound where grades exclude a click."""
    users = make_users("perfect", top_grade=2)
    losses = [privacy_loss(users, truth_probability=p) for p in (*PROBABILITIES, 1.0)]
    assert all(a < b for a, b in pairwise(losses))
    assert losses[-1] == inf


def test_users_who_differ_have_no_one_distribution() -> None:
    """Nor have those who look at fewer results than the list has."""
    with pytest.raises(ValueRangeError):
        max_rr_distribution(make_users("pbm", top_grade=2, n_clients=2, eta=[0.0, 1.0]), [0, 1])
    with pytest.raises(ValueRangeError):
        max_rr_distribution(make_users("perfect", top_grade=2, k=1), [0, 1])
