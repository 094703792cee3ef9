from __future__ import annotations

import numpy as np
import pytest

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.attacks import AttackedRound, AttackSettings, PoisonedClicks
from simulation.attacks.backwards import Opposed
from simulation.attacks.fang import FangKrum, FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.batched.attacks import Attack, send
from simulation.batched.fpdgd_rounds import attack_of
from simulation.rounds.streams import make_streams, states_of

ATTACKS = (
    Opposed(z=2.0),
    LittleIsEnough(),
    LittleIsEnough(z=1.5, ddof=1),
    FangKrum(),
    FangKrum(distance="squared"),
    FangKrum(knowledge="partial"),
    FangTrimmed(),
    FangTrimmed(knowledge="partial"),
    FangTrimmed(knowledge="own-extremes"),
)


def compiled(settings: AttackSettings, n_clients: int, n_malicious: int, n_sent: int) -> Attack:
    """The compiled attack on weights that are learned in the order of the message."""
    found = attack_of(settings, n_clients, n_malicious, np.arange(n_sent))
    assert found is not None
    return found


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("n_malicious", [1, 2, 3, 4])
def test_attacks_send_what_their_settings_say(attack: AttackSettings, n_malicious: int) -> None:
    """Ten clients, 12 weights, 30 random rounds: the rows of foltr's own floats, from the same stream."""
    rng, streams = np.random.default_rng(n_malicious), make_streams(1, 1)
    state = states_of((streams.attacker,))[0]
    for _ in range(30):
        start = rng.normal(size=12)
        thetas = start + 0.3 * rng.normal(size=(10, 12)) * rng.random((10, 1))
        thetas[:, 3] = start[3] = 0.0
        method = FPDGD(Linear(12))
        expected = attack.send(AttackedRound(thetas, start, n_malicious, method, streams.attacker))
        moved = thetas.copy()
        send(compiled(attack, 10, n_malicious, 12), start, moved, state)
        np.testing.assert_allclose(moved[-n_malicious:], expected, rtol=1e-9, atol=1e-12)
        assert moved[:-n_malicious].tolist() == thetas[:-n_malicious].tolist()
    assert state.tolist() == states_of((streams.attacker,))[0].tolist()


class Unknown(AttackSettings, frozen=True, tag="unknown"):
    """An attack of somebody else."""

    def send(self, scene: AttackedRound) -> np.ndarray:
        """The start."""
        return np.tile(scene.start, (scene.n_malicious, 1))


def test_what_is_not_compiled() -> None:
    """An attack that only its own class knows; nobody malicious is no attack."""
    assert attack_of(Unknown(), 4, 1, np.arange(2)) is None
    assert compiled(Opposed(), 4, 0, 2).kind == compiled(PoisonedClicks(), 4, 2, 2).kind
