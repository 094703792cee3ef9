"""A method of one's own: its compiled rounds are the four verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.privacy.mechanisms import FpdgdPaper, NoPrivacy
from foltr.ranking.rankers import Linear, Neural
from simulation.attacks.lie import LittleIsEnough
from simulation.batched.fpdgd_rounds import run_round
from simulation.batched.step_method import StepMethod
from simulation.rounds import federation
from simulation.rounds.federation import Population
from simulation.rounds.round_kinds import fast_play
from simulation.rounds.streams import make_streams
from simulation.unlearning.past import recorded
from tests.simulation.batched.test_fpdgd_rounds import N_FEATURES, assert_same_pages, cascade, queries, rounds


def pdgd_step(theta: Any, shown: Any, clicks: Any, wanted: Any, numbers: Any) -> None:
    """PDGD itself."""
    for rank in range(len(wanted)):
        for f in range(len(theta)):
            theta[f] += numbers[0] * wanted[rank] * shown[rank, f]


def clicked_step(theta: Any, shown: Any, clicks: Any, wanted: Any, numbers: Any) -> None:
    """Towards what was opened, away from the first result; a second number of its own."""
    for rank in range(len(clicks)):
        if clicks[rank]:
            theta += numbers[0] * (shown[rank] - numbers[1] * shown[0])


@dataclass(frozen=True, slots=True)
class OwnPDGD(StepMethod):
    step = staticmethod(pdgd_step)


@dataclass(frozen=True, slots=True)
class Towards(StepMethod):
    away: float = 0.5
    step = staticmethod(clicked_step)


def attacked(dtype: type, n_malicious: int = 1) -> Population:
    """Four clients; tests of one kind of population share what is compiled for it."""
    return Population(queries(dtype), cascade(), 4, 6, attack=LittleIsEnough(), n_malicious=n_malicious)


@pytest.mark.parametrize(
    ("method", "privacy", "n_malicious", "dtype", "rtol"),
    [
        (OwnPDGD, NoPrivacy(), 1, np.float64, 1e-9),
        (OwnPDGD, NoPrivacy(), 0, np.float64, 1e-9),
        (Towards, FpdgdPaper(sensitivity=0.3, epsilon=5.0, n_clients=4), 1, np.float32, 1e-4),
    ],
)
def test_the_compiled_round_is_the_four_verbs(
    method: Any, privacy: Any, n_malicious: int, dtype: type, rtol: float
) -> None:
    """With and without an attack and privacy: the same theta, pages and clicks; and where it is recorded.

    A field of its own is a number of the step.
    """
    own = method(Linear(N_FEATURES), learning_rate=0.02, temperature=0.7, privacy=privacy)
    assert own.numbers == ((0.02, 0.5) if method is Towards else (0.02,))
    population = attacked(dtype, n_malicious)
    model, pages = rounds(run_round, own, population, 4)
    twin, twin_pages = rounds(federation.run_round, own, population, 4)
    np.testing.assert_allclose(model.theta, twin.theta, rtol=rtol, atol=rtol * np.abs(twin.theta).max())
    assert_same_pages(pages, twin_pages)
    record: list[Any] = []
    kept, _ = rounds(run_round, recorded(own, record), population, 4)
    np.testing.assert_allclose(kept.theta, model.theta, rtol=1e-9, atol=1e-12)
    assert len(record) == 4


def test_pdgd_as_a_step_is_pdgd() -> None:
    """Written as a step of one's own it is what the program has, to the order in which products are added."""
    population = attacked(np.float64)
    own, known = (rounds(run_round, kind(Linear(N_FEATURES)), population, 4)[0] for kind in (OwnPDGD, FPDGD))
    np.testing.assert_allclose(own.theta, known.theta, rtol=1e-9)


def test_many_rounds_go_by_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What plays a step method does not call its verbs, unless one of them is its own."""

    def called(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("the four verbs were called")

    @dataclass(frozen=True, slots=True)
    class Ranking(OwnPDGD):
        rank = called

    monkeypatch.setattr(StepMethod, "learn", called)
    population, streams = attacked(np.float64), make_streams(3, 4)
    for method in (OwnPDGD(Linear(N_FEATURES)), Ranking(Linear(N_FEATURES))):
        start, play = method.initial(streams.model), fast_play(method)
        if isinstance(method, Ranking):
            with pytest.raises(AssertionError, match="the four verbs were called"):
                play(method, start, population, streams, 3)
        else:
            model, seen = play(method, start, population, streams, 3)
            assert (model.round, len(seen)) == (3, 3)


def test_what_a_step_cannot_do_is_refused() -> None:
    """A neural ranker, a batch, what numba cannot compile, and a number that the method does not have."""
    for ranker, settings in ((Neural(N_FEATURES, 4), {}), (Linear(N_FEATURES), {"update": "batch"})):
        with pytest.raises(ValueRangeError, match="OwnPDGD: a step of one's own is for a linear ranker, learned whole"):
            OwnPDGD(ranker, **settings)  # type: ignore[arg-type]

    def wrong(theta: Any, shown: Any, clicks: Any, wanted: Any, numbers: Any) -> None:
        theta.no_such_thing()

    def beyond(theta: Any, shown: Any, clicks: Any, wanted: Any, numbers: Any) -> None:
        theta[0] += numbers[1]

    @dataclass(frozen=True, slots=True)
    class Wrong(StepMethod):
        step = staticmethod(wrong)

    @dataclass(frozen=True, slots=True)
    class Beyond(StepMethod):
        step = staticmethod(beyond)

    population = attacked(np.float64)
    for kind, reason in ((Wrong, "wrong cannot be compiled: .*no_such_thing"), (Beyond, "Beyond.step: index .*bounds")):
        with pytest.raises(ValueRangeError, match=reason):
            rounds(run_round, kind(Linear(N_FEATURES)), population, 1)
