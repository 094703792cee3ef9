"""Malicious members of a group who hide in its noise: what they send in each round, and how the server reacts.

The attackers know all terms, the common ranker, each other, and what every honest member sends in the round, which is
more than a group lets anyone see. `target` is the direction in which they want the ranker to go.

    longest      the longest update that the server takes
    steady       an update as long as an honest one, a share of it along the target, the rest at random
    little       mean - z std of the honest updates, with or without noise of their own: Little Is Enough
                 (Baruch et al., NeurIPS 2019)
    fang         beyond the largest or smallest honest number, against the sign of the mean (Fang et al., USENIX
                 Security 2020, Section 4.3, their attack on trimmed means, with b = 2)
    inner        - tau times the honest mean: inner-product manipulation (Xie et al., UAI 2019)
    knowing      the sum of its updates stays just below every bound of known_noise (foltr.federated.guard), and grows
                 along the target as fast as they let it
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD, largest_update
from foltr.federated.known_noise import KnownNoise, largest_product, largest_square, nats_of
from foltr.federated.method import Model
from foltr.ranking.interaction import Interaction
from simulation.attacks.fang import beyond_the_extreme
from simulation.attacks.lie import beside_the_mean
from simulation.rounds.click_models import Users

JUST_BELOW = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What attackers see when a round is about to close."""

    noise: KnownNoise
    longest: float
    """of an update that the server takes"""
    honest: FloatMatrix
    """[n_honest, d] what the others send"""
    target: FloatVector
    """[d] a unit vector"""
    round: int
    """from 1"""
    n_malicious: int
    rng: np.random.Generator

    @property
    def ordinary(self) -> float:
        """The length of an honest update in the mean, its change as long as the clip lets it be."""
        d = len(self.target)
        return math.sqrt(self.noise.clip**2 + d * self.noise.deviation**2)


Attack = Callable[[Scene], FloatMatrix]
"""what the malicious members send: `[n_malicious, d]`"""


def longest(scene: Scene) -> FloatMatrix:
    """All of it along the target."""
    return _all(scene, JUST_BELOW * scene.longest * scene.target)


def steady(share: float) -> Attack:
    """`share` of the length along the target, the rest of it at random in the other directions."""

    def attack(scene: Scene) -> FloatMatrix:
        aside = scene.rng.normal(size=(scene.n_malicious, len(scene.target)))
        aside -= np.outer(aside @ scene.target, scene.target)
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        sent: FloatMatrix = scene.ordinary * (share * scene.target + math.sqrt(1 - share**2) * aside)
        return sent

    return attack


def little(z: float, *, own_noise: bool) -> Attack:
    """mean - z std, ddof 1."""

    def attack(scene: Scene) -> FloatMatrix:
        sent = _all(scene, beside_the_mean(scene.honest, z=z, ddof=1))
        return sent + scene.noise.deviation * scene.rng.normal(size=sent.shape) if own_noise else sent

    return attack


def fang(scene: Scene) -> FloatMatrix:
    """Each number between the honest extreme and twice as far, on the side that the honest mean is not on."""
    against = np.where(scene.honest.mean(axis=0) > 0, -1.0, 1.0)
    drawn = scene.rng.random((scene.n_malicious, len(against)))
    return beyond_the_extreme(scene.honest.min(axis=0), scene.honest.max(axis=0), against, drawn)


def inner(tau: float) -> Attack:
    """- tau mean."""
    return lambda scene: _all(scene, -tau * scene.honest.mean(axis=0))


def knowing(scene: Scene) -> FloatMatrix:
    """What brings the sum from where it was a round ago to where the bounds let it be now."""
    before = reach(scene.noise, scene, scene.round - 1) if scene.round > 1 else 0.0
    return _all(scene, (reach(scene.noise, scene, scene.round) - before) * scene.target)


def reach(noise: KnownNoise, scene: Scene, n_rounds: int) -> float:
    """The longest sum after a number of rounds that is below every bound and counts in full."""
    n, d, t = len(scene.honest) + scene.n_malicious, len(scene.target), n_rounds
    counted = math.hypot(noise.clip * t, noise.deviation * math.sqrt(t * d))
    bounds = [counted]
    if scene.n_malicious > 1:
        centre = t * (noise.clip / noise.deviation) ** 2
        product = largest_product(d, centre, centre, nats_of(n * (n - 1), t - 1))
        bounds.append(noise.deviation * math.sqrt(t * product))
    if t == 1:
        square = largest_square(d, (noise.clip / noise.deviation) ** 2, nats_of(n, 0))
        bounds += [noise.deviation * math.sqrt(square), scene.longest]
    return JUST_BELOW * min(bounds)


def _all(scene: Scene, update: FloatVector) -> FloatMatrix:
    return np.repeat(update[None, :], scene.n_malicious, axis=0)


ATTACKS: dict[str, Attack | None] = {
    "none": None,
    "longest": longest,
    "steady .9": steady(0.9),
    "steady .7": steady(0.7),
    "steady .5": steady(0.5),
    "Little Is Enough, z 1": little(1.0, own_noise=False),
    "the same with noise": little(1.0, own_noise=True),
    "Fang": fang,
    "inner product, tau 2": inner(2.0),
    "knows the bounds": knowing,
}


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """The candidates of a query."""

    query: bytes
    features: FloatMatrix
    """[n_docs, n_features]"""
    grades: FloatVector
    """[n_docs]"""


@dataclass(frozen=True, slots=True, eq=False)
class AttackedGroup:
    """Who is in it, and by what terms."""

    method: FPDGD
    noise: KnownNoise
    n_clients: int
    n_malicious: int
    n_rounds: int
    n_local: int
    """pages a round of each honest member; 0: they have nothing to say, and send noise alone"""


@dataclass(frozen=True, slots=True, eq=False)
class AttackOutcome:
    """What an attack came to."""

    theta: FloatVector
    """[n_params] after the last round"""
    alarms: int
    """rounds in which somebody was left out"""
    found: int
    """malicious members who were left out at least once"""
    wronged: int
    """honest members who were"""


def honest_update(
    group: AttackedGroup, model: Model, pages: Sequence[Page], users: Users, client: int, rng: np.random.Generator
) -> FloatVector:
    """What an honest member sends `[d]`, less what it began from: it reads the pages in the order of the ranker."""
    method, local = group.method, group.method.begin(model, rng)
    for _ in range(group.n_local):
        page = pages[int(rng.integers(len(pages)))]
        ranking = np.argsort(-method.ranker.score(model.theta, page.features), kind="stable")[: users.k]
        clicks = users.clicks((page.grades[ranking] > 0).astype(np.int8), client, rng)
        local = method.learn(local, Interaction(page.features, ranking, clicks), page.query)
    change: FloatVector = method.report(local, rng).theta - method.sent(model.theta)
    return change


def run(
    group: AttackedGroup,
    attack: Attack | None,
    start: FloatVector,
    target: FloatVector,
    pages: Sequence[Page],
    users: Users,
    seed: int,
) -> AttackOutcome:
    """All rounds from theta `start` `[n_params]`, joined as the server joins them; the last members are malicious.

    Each member has a separate random stream, so that the honest ones draw the same whatever the others do.
    """
    method, model = group.method, Model(start)
    rng, *own = (np.random.default_rng([seed, number]) for number in range(group.n_clients + 1))
    n_malicious = group.n_malicious if attack else 0
    n_honest, left_out, alarms = group.n_clients - n_malicious, set[int](), 0
    for number in range(1, group.n_rounds + 1):
        begun = method.sent(model.theta)
        rows = np.array([honest_update(group, model, pages, users, i, own[i]) for i in range(n_honest)])
        if attack:
            longest_taken = largest_update(method, begun)
            scene = Scene(group.noise, longest_taken, rows, target, number, n_malicious, rng)
            rows = np.vstack([rows, attack(scene)])
        joined = method.joined(model, begun + rows, np.ones(len(rows)))
        left_out |= set(joined.verdict.left_out)
        alarms += joined.verdict.alert
        model = joined.model
    found = sum(row >= n_honest for row in left_out)
    return AttackOutcome(model.theta, alarms, found, len(left_out) - found)
