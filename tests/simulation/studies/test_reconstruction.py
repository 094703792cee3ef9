"""Habits read from a budget of updates, as cells: all without noise, nothing in much of it, never beyond the proof."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.accounting import best_auc, best_guess
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from simulation.cells.cell import Cell, expand
from simulation.cells.parts import fold_of
from simulation.cells.preset import decode_preset
from simulation.cells.trial import Trial, cell_events
from simulation.engines import Reported
from simulation.errors import PresetError
from simulation.experiment import check_method
from simulation.run_folder import Row
from simulation.studies.reconstruction import Evidence, auc_of_two, pages_of, proven_mu

CAPS = {"longest_step": 0.15, "longest_query": 0.15}
USERS, N_ROUNDS, N_PAGES = 16, 2, 8


def gaussian(noise_multiplier: float, **more: Any) -> dict[str, Any]:
    return {"mechanism": "gaussian", "clip": 0.8, "noise_multiplier": noise_multiplier, **more}


def cell_of(**method: Any) -> Cell:
    tables = {
        "data": {"dataset": "sample", "folds": [1]},
        "users": {"clicks": "informational"},
        "federation": {"clients": 3, "local": N_PAGES, "rounds": N_ROUNDS},
        "method": {"name": "reconstruction", "users": USERS, **method},
    }
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    return cell


def measured(**method: Any) -> Row:
    (row,) = (event.row for event in cell_events(cell_of(**method), root=None) if isinstance(event, Reported))
    return row


def margin(n: int) -> float:
    """By Hoeffding, once in a thousand seeds."""
    return math.sqrt(math.log(1000) / (2 * n))


@pytest.mark.parametrize("habit", [0.0, 0.25])
def test_without_noise_all_is_read(habit: float) -> None:
    """One page of sixteen, and four: what was opened wins against every other result of its page, for every user."""
    row = measured(habit=habit, privacy=gaussian(1e-6), **CAPS)
    assert (row.auc, row.guessed, row.auc_proven) == (1.0, 1.0, 1.0)
    assert (row.round, row.interactions) == (N_ROUNDS, USERS * N_ROUNDS * N_PAGES)


def test_in_much_noise_nothing_is_read() -> None:
    """A habit under ten thousand times the noise is guessed as by a coin, which is also what is proven."""
    row = measured(privacy=gaussian(1e4))
    assert row.auc_proven == pytest.approx(0.5, abs=1e-3)
    assert row.auc == pytest.approx(0.5, abs=margin(USERS // 2))
    assert row.guessed == pytest.approx(0.5, abs=margin(USERS))


@pytest.mark.parametrize("method", [CAPS, {}, {"update": "each"}], ids=["caps", "clip alone", "each"])
def test_no_two_answers_are_further_apart_than_proven(method: dict[str, Any]) -> None:
    """Without any chance for mu; the AUC and the guesses, which are drawn, within their error."""
    row = measured(**method)
    assert row.mu is not None
    assert row.auc_proven is not None
    assert 0.5 < best_auc(row.mu) <= row.auc_proven
    assert (row.auc or 1.0) <= row.auc_proven + margin(USERS // 2)
    assert (row.guessed or 1.0) <= best_guess(row.mu) + margin(USERS)


def test_the_proof_by_hand() -> None:
    """Caps .15, noise .8, four rounds of 40 pages: an answer moves .3, in one round, in three, in all four."""
    method = FPDGD(Linear(3), update="batch", longest_step=0.15, longest_query=0.15, privacy=Gaussian(0.8, 1.0))

    def proven(n_asked: int, method: FPDGD = method) -> float:
        return proven_mu(method, n_rounds=4, n_pages=40, n_asked=n_asked, n_members=5)

    assert [proven(n) for n in (1, 3, 40)] == pytest.approx([0.375, 0.375 * math.sqrt(3), 0.75])
    steps = replace(method, longest_step=0.05)
    assert [proven(n, steps) for n in (4, 5)] == pytest.approx([0.25, 0.75])
    assert proven(40, FPDGD(Linear(3), privacy=Gaussian(0.8, 1.0))) == pytest.approx(4.0)
    shared_out = replace(method, privacy=Gaussian(0.8, 2.0, distributed=True, n_clients=5))
    assert proven(40, shared_out) == pytest.approx(0.375)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"habit": 1.5}, "method.habit: "),
        ({"users": 1}, "method.users: "),
        ({"privacy": {"mechanism": "laplace", "clip": 1.0, "epsilon": 1.0}}, "method.privacy"),
        ({"update": "each", **CAPS}, "longest_query needs update"),
    ],
)
def test_settings_that_do_not_fit_are_named_before_anything_runs(changed: dict[str, Any], fault: str) -> None:
    """The key stands in the one line."""
    with pytest.raises((PresetError, ValueRangeError), match=fault):
        check_method(cell_of(**changed))


def test_a_page_of_one_result_hides_nothing_and_is_not_asked_for() -> None:
    """Every page has two results at least; where no query has, that is an error."""
    cell, rng = cell_of(), np.random.default_rng(1)
    trial = Trial.prepared(cell, fold_of(cell, None))
    method, population = FPDGD(trial.ranker), trial.population
    draw = pages_of(method, Model(np.zeros(trial.ranker.n_params)), population, 0, rng)
    assert min(len(draw().ranking) for _ in range(50)) >= 2
    narrow = msgspec.structs.replace(population, users=replace(population.users, examination=np.ones((1, 1))))
    with pytest.raises(ValueRangeError, match="two results"):
        pages_of(method, Model(np.zeros(trial.ranker.n_params)), narrow, 0, rng)


@pytest.mark.parametrize(("scores", "auc"), [((3.0, -1.0, -5.0), 2 / 6), ((1.0, -1.0), 1 / 2), ((2.0, 1.0), 1.0)])
def test_the_auc_counts_which_of_two_trials_is_ahead(scores: tuple[float, ...], auc: float) -> None:
    """Of x_a and -x_b with a other than b the first wins: 3 > 1 and -1 > -3 of six; equal ones count half."""
    found = [Evidence(opened=0, log_likelihood=np.array([x, 0.0]), mu=np.zeros((2, 2))) for x in scores]
    assert auc_of_two(found) == pytest.approx(auc)
