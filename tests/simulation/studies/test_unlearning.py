"""The study of a forgotten client: thesis Chapter 6."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.ranking.rankers import Linear
from simulation import federation
from simulation.attacks.opposed import oppose
from simulation.click_models import make_users
from simulation.data.datasets import load_fold
from simulation.federation import Population
from simulation.streams import make_streams
from simulation.studies.unlearning import (
    UnlearningOutcome,
    UnlearningPlan,
    honest,
    main,
    outcome,
    poison,
    table,
    unlearn,
)

PLAN = UnlearningPlan(n_rounds=7, every=3, n_honest=2)
FOLD = load_fold("sample")
USERS = make_users("perfect", top_grade=4)


def test_a_poisoned_client_with_z_of_minus_one_is_honest() -> None:
    """9H-1M with an honest tenth client is 10H-0M, to the last bits of the sums."""
    theta, _ = poison(FOLD.train, USERS, replace(PLAN, z=-1.0), seed=3)
    assert theta == pytest.approx(honest(FOLD.train, USERS, PLAN, n_clients=3, seed=3))


def test_poisoning_by_the_four_verbs() -> None:
    """Two rounds of the study are two rounds of FPDGD whose last message was exchanged for -z times itself."""
    plan = replace(PLAN, n_rounds=2, every=1)
    method = FPDGD(Linear(FOLD.train.n_features), learning_rate=plan.learning_rate)
    streams, population = make_streams(5, 3), Population(FOLD.train, USERS, 3, plan.n_local)
    model, norms = Model(np.zeros(FOLD.train.n_features)), []
    for _ in range(2):
        messages: list[np.ndarray] = []
        recorder = _Recording(method, messages)
        federation.run_round(recorder, model, population, streams)
        updates = np.array(messages) - model.theta
        norms.append(np.linalg.norm(updates[:2], axis=1))
        updates[2] = oppose(updates[2], model.theta, z=2.0)
        model = Model(model.theta + updates.mean(axis=0))
    theta, lengths = poison(FOLD.train, USERS, plan, seed=5)
    # Features of 32 bits are scored in 32 bits by compiled code.
    assert theta == pytest.approx(model.theta, rel=1e-3, abs=1e-5)
    assert lengths == pytest.approx(np.array(norms), rel=1e-3)


class _Recording:
    """FPDGD that keeps the thetas its devices report."""

    def __init__(self, method: FPDGD, thetas: list[np.ndarray]) -> None:
        self.begin, self.rank, self.learn, self.aggregate = method.begin, method.rank, method.learn, method.aggregate
        self.ranker, self.method, self.thetas = method.ranker, method, thetas

    def report(self, local, rng):  # type: ignore[no-untyped-def]
        message = self.method.report(local, rng)
        self.thetas.append(message.theta)
        return message


def test_lengths_are_kept_every_delta_t_rounds() -> None:
    """7 rounds and delta_t 3: rounds 1, 4 and 7, of the honest clients alone."""
    _, lengths = poison(FOLD.train, USERS, PLAN, seed=0)
    assert lengths.shape == (3, 2)
    assert (lengths > 0).any()


def test_lengths_of_zero_unlearn_everything() -> None:
    """Updates without length leave the first ranker, which is zero; without kept rounds nothing moves either."""
    for lengths in (np.zeros((3, 2)), np.zeros((0, 2))):
        assert not unlearn(FOLD.train, USERS, PLAN, lengths=lengths, seed=0).any()


def test_one_replayed_round_is_as_long_as_its_mean_allows() -> None:
    """One client with a length of 2: the ranker's norm is 2 after one round, whatever was clicked."""
    plan = replace(PLAN, n_honest=1, n_unlearn=5)
    theta = unlearn(FOLD.train, USERS, plan, lengths=np.array([[2.0]]), seed=1)
    assert np.linalg.norm(theta) == pytest.approx(2.0)


def test_the_length_scales_the_update_alone() -> None:
    """In the first round a length three times as large gives three times the ranker: the direction is the clicks'."""
    plan = replace(PLAN, n_honest=1, n_rounds=1, every=1, n_unlearn=PLAN.n_local)
    for seed in range(5):
        theta = unlearn(FOLD.train, USERS, plan, lengths=np.array([[1.0]]), seed=seed)
        again = unlearn(FOLD.train, USERS, plan, lengths=np.array([[3.0]]), seed=seed)
        assert again == pytest.approx(3.0 * theta)


def test_the_same_seed_gives_the_same_outcome() -> None:
    """A study of the sample: repeatable, and four numbers between 0 and 1."""
    plan = UnlearningPlan(n_rounds=60)
    found = outcome(FOLD, USERS, plan, seed=2)
    assert found == outcome(FOLD, USERS, plan, seed=2)
    assert all(0 < value < 1 for value in (found.poisoned, found.unlearned, found.retrained, found.all_honest))


def test_the_table_states_the_difference_and_its_verdict() -> None:
    """U - 9H-0M of two runs, -1/16 and 1/16: mean 0, standard error sqrt(2/256)/sqrt(2) = 1/16."""
    runs = [UnlearningOutcome(0.5, 0.75, 0.8125, 0.8), UnlearningOutcome(0.5, 0.8125, 0.75, 0.8)]
    grid = table([runs], UnlearningPlan(), kinds=["perfect"], title="x")
    assert grid.rows[0][-2:] == ("0.0000 ± 0.0625", "met")
    far = table([[UnlearningOutcome(0.5, 0.25, 0.75, 0.8)]], UnlearningPlan(), kinds=["perfect"], title="x")
    assert far.rows[0][-2:] == ("-0.5000", "NOT met")


def test_counts_below_one_are_refused() -> None:
    """A study without rounds, or that keeps every zeroth."""
    for wrong in ({"n_rounds": 0}, {"every": 0}, {"n_unlearn": 0}):
        with pytest.raises(ValueRangeError, match="at least 1"):
            UnlearningPlan(**wrong)


def test_a_data_set_that_is_not_there_is_one_line() -> None:
    """The command ends with a message, no traceback."""
    result = CliRunner().invoke(main, ["--dataset", "no/such/folder"])
    assert result.exit_code == 2
    assert result.output.startswith("simulation.studies.unlearning: ")
    assert len(result.output.splitlines()) == 1
