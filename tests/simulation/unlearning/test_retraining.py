"""Going on, fine-tuning, retraining and rolling back."""

from __future__ import annotations

import numpy as np
import pytest

from simulation.batched.fpdgd_rounds import run_round
from simulation.rounds.streams import make_streams
from simulation.unlearning.past import without_last
from simulation.unlearning.retraining import FineTuning, GoingOn, Retraining, Rollback
from tests.simulation.unlearning.lived_past import METHOD, N_ROUNDS, POISONED, lived


def without_the_leaver(n_rounds: int) -> np.ndarray:
    """theta of three honest clients, by hand."""
    streams, three = make_streams(3, 3), without_last(POISONED, 1)
    model = METHOD.initial(streams.model)
    for _ in range(n_rounds):
        model, _ = run_round(METHOD, model, three, streams)
    return model.theta


def test_retraining_is_the_run_without_the_leaver() -> None:
    """Bit for bit, and beginning with the first ranker."""
    past = lived(Retraining())
    steps = list(Retraining().forget(past))
    assert len(steps) == N_ROUNDS + 1
    assert np.array_equal(steps[0].model.theta, past.start.model.theta)
    assert np.array_equal(steps[-1].model.theta, without_the_leaver(N_ROUNDS))
    assert [shown.interactions for step in steps for shown in step.shown] == [3 * 5] * N_ROUNDS


@pytest.mark.parametrize("joined", [1, 3, 7])
def test_rolling_back_is_exact(joined: int) -> None:
    """Whenever they joined, the others end where they would have without them, bit for bit, in as many rounds fewer."""
    way = Rollback()
    steps = list(way.forget(lived(way, joined=joined)))
    assert len(steps) - 1 == way.rounds(range(joined, N_ROUNDS + 1)) == N_ROUNDS - joined + 1
    assert np.array_equal(steps[-1].model.theta, without_the_leaver(N_ROUNDS))


def test_going_on_is_one_long_run() -> None:
    """Seven rounds and three more are ten."""
    streams = make_streams(3, 4)
    model = METHOD.initial(streams.model)
    for _ in range(N_ROUNDS + 3):
        model, _ = run_round(METHOD, model, POISONED, streams)
    steps = list(GoingOn(more=3).forget(lived(GoingOn())))
    assert np.array_equal(steps[-1].model.theta, model.theta)
    assert len(steps) == 4


def test_fine_tuning_begins_with_what_was_learned_and_asks_the_others_alone() -> None:
    """A twin by hand: from the poisoned ranker, three clients with two pages each."""
    way = FineTuning(more=2, local=2)
    past = lived(way)
    model, streams, three = past.now.model, make_streams(3, 4), without_last(POISONED, 1, n_local=2)
    streams.users[:] = past.now.streams.users
    for _ in range(2):
        model, _ = run_round(METHOD, model, three, streams)
    steps = list(way.forget(past))
    assert np.array_equal(steps[0].model.theta, past.now.model.theta)
    assert np.array_equal(steps[-1].model.theta, model.theta)
    assert np.array_equal(list(way.forget(past))[-1].model.theta, model.theta)  # and again: the past stays as it was


def test_rounds_that_nobody_looks_at_go_by_at_once() -> None:
    """Seven rounds by three: the rankers of rounds 0, 3, 6 and 7 of round after round, and all that was seen."""
    one_by_one, in_blocks = (list(Retraining().forget(lived(Retraining(), interval=n))) for n in (1, 3))
    assert [step.n_rounds for step in in_blocks[1:]] == [3, 3, 1]
    for step, number in zip(in_blocks, (0, 3, 6, 7), strict=True):
        assert np.array_equal(step.model.theta, one_by_one[number].model.theta)
    assert [shown for step in in_blocks for shown in step.shown] == [
        shown for step in one_by_one for shown in step.shown
    ]
