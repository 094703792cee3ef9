"""The privacy loss of a privatised MaxRR: Table 2 of FOLtR-ES."""

from __future__ import annotations

import math
from itertools import pairwise, product
from math import inf, log, nan

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.foltr_es import answers_distribution
from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.cells.trial import cell_events
from simulation.engines import Reported
from simulation.errors import PresetError
from simulation.experiment import check_method
from simulation.rounds.click_models import make_users
from simulation.studies.privacy_loss import max_rr_distribution, privacy_loss

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
    bounds = [math.log(5 * p / (1 - p)) for p in PROBABILITIES]  # Eq. 10
    assert all(loss <= bound + 1e-12 for loss, bound in zip(found, bounds, strict=True))
    if clicks == "perfect":
        assert found == pytest.approx(bounds)


def test_the_preset_has_the_table() -> None:
    """Run as a preset: eighteen cells, each with the printed number, which stands in [expect]."""
    preset = decode_preset(load_tables("kharitonov-2019/table-2"), source="table-2")
    cells = expand(preset, folds_of=lambda _: (1,))
    found = [event.row for cell in cells for event in cell_events(cell, root=None) if isinstance(event, Reported)]
    assert [round(row.epsilon or nan, 2) for row in found] == [loss for row in TABLE_2.values() for loss in row]
    assert [number.value for number in preset.expect.values] == [round(row.epsilon or nan, 2) for row in found]
    assert all(number.where == row.settings for number, row in zip(preset.expect.values, found, strict=True))


def test_a_setting_that_does_not_fit_is_named() -> None:
    """p is missing, and a list of nine documents would take long."""
    for settings, fault in (({}, "method.truth_probability: missing"), ({"length": 9}, "method.length: ")):
        tables = {
            "data": {"dataset": "sample"},
            "method": {"name": "privacy-loss", "truth_probability": 0.9} | settings,
        }
        if not settings:
            del tables["method"]["truth_probability"]
        (cell, *_) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
        with pytest.raises(PresetError, match=fault):
            check_method(cell)


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
