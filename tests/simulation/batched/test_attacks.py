from __future__ import annotations

import numpy as np
import pytest

from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.attacks import AttackedRound, AttackSettings, PoisonedClicks
from simulation.attacks.backwards import Opposed
from simulation.attacks.fang import FangKrum, FangTrimmed
from simulation.attacks.lie import LittleIsEnough
from simulation.batched.attacks import Attack, send
from simulation.batched.fpdgd_rounds import attack_of, play
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population, repeated, run_round
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


@pytest.mark.parametrize(
    ("ranker", "attack", "rule"),
    [
        (Linear(9), FangKrum(), Krum(n_malicious=3, strict=False)),
        (Linear(9), FangKrum(knowledge="partial"), MultiKrum(n_malicious=3, strict=False)),
        (Linear(9), FangTrimmed(), TrimmedMean(n_malicious=3)),
        (Neural(9, 4), FangTrimmed(), Median()),
        (Neural(9, 4), LittleIsEnough(z=1.5), Mean()),
        (Linear(9), PoisonedClicks(), Mean()),
    ],
)
def test_attacked_rounds_are_those_of_the_four_verbs(ranker: Ranker, attack: AttackSettings, rule: Aggregation) -> None:
    """Six rounds of eight clients, three of them malicious, in one call and by the four verbs."""
    rng = np.random.default_rng(0)
    grades = rng.choice(3, p=[0.6, 0.2, 0.2], size=300).astype(np.int8)
    data = QuerySet(rng.random((300, 9)), grades, np.arange(0, 301, 15), tuple(map(str, range(20))))
    users = make_users("informational", top_grade=2)
    population = Population(data, users, 8, 6, attack=attack, n_malicious=3)
    method, ends = FPDGD(ranker, aggregation=rule), []
    for rounds in (play, repeated(run_round)):
        streams = make_streams(5, 8)
        model, _ = rounds(method, method.initial(streams.model), population, streams, 6)
        ends.append((model.theta, streams.attacker.random()))
    np.testing.assert_allclose(ends[0][0], ends[1][0], rtol=1e-7, atol=1e-8 * np.abs(ends[1][0]).max())
    assert ends[0][1] == ends[1][1]


class Unknown(AttackSettings, frozen=True, tag="unknown"):
    """An attack of somebody else."""

    def send(self, scene: AttackedRound) -> np.ndarray:
        """The start."""
        return np.tile(scene.start, (scene.n_malicious, 1))


def test_what_is_not_compiled() -> None:
    """An attack that only its own class knows; nobody malicious is no attack."""
    assert attack_of(Unknown(), 4, 1, np.arange(2)) is None
    assert compiled(Opposed(), 4, 0, 2).kind == compiled(PoisonedClicks(), 4, 2, 2).kind
