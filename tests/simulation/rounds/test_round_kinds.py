from __future__ import annotations

from dataclasses import dataclass

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.batched import fpdgd_rounds
from simulation.rounds.round_kinds import COMPILED, fast_play


@dataclass(frozen=True, slots=True)
class Changed(FPDGD):
    """A method derived from one that has a compiled round."""


def test_fpdgd_has_a_compiled_round() -> None:
    """By its type."""
    assert fast_play(FPDGD(Linear(2))) is fpdgd_rounds.play


def test_other_methods_go_by_the_four_verbs() -> None:
    """Also what derives from a compiled method, since it may do something else."""
    assert fast_play(Changed(Linear(2))) not in COMPILED.values()
