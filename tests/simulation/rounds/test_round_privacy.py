"""Rounds whose noise remembers: the same learning, noise that is C^-1 Z, and the epsilon of independent noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from foltr.arrays import FloatMatrix
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.fpdgd import FPDGD
from foltr.privacy.accounting import Ledger
from foltr.privacy.correlated_noise import Correlation
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from simulation.cells.cell import Cell, expand
from simulation.cells.preset import decode_preset
from simulation.cells.trial import cell_events
from simulation.data.datasets import load_fold
from simulation.engines import Reported
from simulation.errors import PresetError
from simulation.experiment import check_method
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population
from simulation.rounds.round_privacy import DELTA, CorrelatedRounds, epsilon_spent
from simulation.rounds.streams import make_streams
from simulation.run_folder import Row

ONE = Correlation(decays=(0.9,), scales=(0.4,))
METHOD = FPDGD(Linear(46), privacy=Gaussian(clip=0.5, noise_multiplier=3.0, distributed=True, n_clients=4))


def one_cell(**changed: Any) -> Cell:
    tables = {
        "data": {"dataset": "sample", "folds": [1]},
        "federation": {"clients": 4, "local": 2, "rounds": 6, "evaluate_every": 3, **changed},
        "method": {
            "name": "fpdgd",
            "privacy": {
                "mechanism": "gaussian",
                "clip": 0.5,
                "noise_multiplier": 3.0,
                "distributed": True,
                "n_clients": 4,
            },
        },
    }
    return expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))[0]


def rows(**changed: Any) -> list[Row]:
    return [event.row for event in cell_events(one_cell(**changed), root=None) if isinstance(event, Reported)]


def moved_by_noise(correlation: Correlation, n_rounds: int) -> FloatMatrix:
    """How far each of some rounds moved a ranker whose users click nothing, `[n_rounds, 46]`."""
    train = load_fold("sample").train
    nothing = replace(train, grades=np.zeros_like(train.grades))
    population = Population(nothing, make_users("perfect", top_grade=2), 4, 2)
    play, streams = CorrelatedRounds(correlation, n_rounds), make_streams(1, 4)
    model = METHOD.initial(streams.model)
    thetas = [model.theta]
    for _ in range(n_rounds):
        model, _ = play(METHOD, model, population, streams)
        thetas.append(model.theta)
    return np.diff(thetas, axis=0)


def test_the_noise_of_a_run_is_the_inverse_of_c_times_independent_noise() -> None:
    """Nobody clicks, so a step is noise: C times all steps is `excess` times the steps of independent noise."""
    n_rounds = 12
    column = ONE.column(n_rounds)
    c = np.array([[column[i - j] if i >= j else 0.0 for j in range(n_rounds)] for i in range(n_rounds)])
    independent = moved_by_noise(Correlation(), n_rounds)
    np.testing.assert_allclose(c @ moved_by_noise(ONE, n_rounds), ONE.excess(n_rounds) * independent, atol=1e-12)
    assert np.std(independent) == pytest.approx(3.0 * 0.5 / 4, rel=0.05)


def test_all_rounds_together_cost_what_independent_noise_costs() -> None:
    """At the last of six rounds, for any correlation; before it correlated noise has spent more."""
    ledger = Ledger(46).spend(METHOD.privacy, 6).epsilon(DELTA)
    assert epsilon_spent(METHOD, None, n_rounds=6, so_far=6, n_honest=4) == pytest.approx(ledger, rel=1e-9)
    assert epsilon_spent(METHOD, ONE, n_rounds=6, so_far=6, n_honest=4) == pytest.approx(ledger, rel=1e-9)
    assert [row.epsilon for row in rows()] == [
        None,
        pytest.approx(Ledger(46).spend(METHOD.privacy, 3).epsilon(DELTA)),
        pytest.approx(ledger),
    ]
    assert rows(correlation={"decays": [0.9], "scales": [0.4]})[-1].epsilon == pytest.approx(ledger)


def test_who_comes_back_every_third_round_spends_two_rounds_of_six() -> None:
    """Independent noise, separation 3."""
    two = Ledger(46).spend(METHOD.privacy, 2).epsilon(DELTA)
    assert epsilon_spent(METHOD, Correlation(separation=3), n_rounds=6, so_far=6, n_honest=4) == pytest.approx(
        two, rel=1e-9
    )


def test_shares_of_noise_that_do_not_arrive_hide_nobody() -> None:
    """Noise for a hundred, of whom four come and one is malicious; where rows are compared, a share hides alone."""
    hundred = replace(METHOD, privacy=Gaussian(clip=0.5, noise_multiplier=3.0, distributed=True, n_clients=100))

    def spent(method: FPDGD, share: float, *, n_honest: int = 3, exchanged: bool = False) -> bool:
        """Whether two rounds cost what noise of that share of the variance costs, as Ledger has it."""
        noise = Gaussian(clip=0.5, noise_multiplier=3.0 * share**0.5)
        found = epsilon_spent(method, None, n_rounds=2, so_far=2, n_honest=n_honest, exchanged=exchanged)
        return found == pytest.approx(Ledger(46).spend(noise, 2).epsilon(DELTA), rel=1e-9)

    assert spent(hundred, 3 / 100)
    assert spent(hundred, 1, n_honest=100)
    assert spent(replace(hundred, aggregation=Median()), 1 / 100)
    assert spent(replace(hundred, guard=True), 1 / 100)
    assert spent(hundred, 1 / 100, exchanged=True)
    attack = {"attack": "opposed"}
    ledger = Ledger(46).spend(Gaussian(clip=0.5, noise_multiplier=3.0 * (3 / 4) ** 0.5), 6).epsilon(DELTA)
    assert rows(attack=attack, malicious=1)[-1].epsilon == pytest.approx(ledger)


def test_what_has_no_gaussian_noise_cannot_be_correlated() -> None:
    """Named with its key, before anything runs; and what is no correlation."""
    plain = one_cell(correlation={})
    plain.preset.method.pop("privacy")
    with pytest.raises(PresetError, match=r"federation\.correlation: noise is correlated for fpdgd"):
        check_method(plain)
    with pytest.raises(ValueRangeError, match="decays must lie within"):
        one_cell(correlation={"decays": [2.0], "scales": [0.4]})


def test_only_fpdgd_asks_in_order() -> None:
    """FOLtR-ES has no message of a client without a page."""
    cell = one_cell(in_order=True)
    cell.preset.method.clear()
    cell.preset.method["name"] = "foltr-es"
    with pytest.raises(PresetError, match=r"federation\.in_order: clients of fpdgd can run out of queries"):
        check_method(cell)
    assert rows(in_order=True)[-1].interactions == 4 * 2 * 6
