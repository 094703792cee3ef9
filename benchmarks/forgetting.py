"""How far each way to forget a member leaves the ranker from one that never saw the member.

Six members prefer one feature each; 20 rounds of 40 pages by the default method (FPDGD at a fixed start, clip .8); the
last member asks to be forgotten. Retrained: the same rounds without this member, with the same pages and noise of the
others. Distances are Euclidean, over the shared weights, means over seeds with their standard errors.

`python -m benchmarks forgetting` prints the table.
"""

from __future__ import annotations

import numpy as np

from benchmarks.running import arguments
from federation_server import setup
from federation_server.group.group import method_of
from federation_server.settings import MethodSection, ServerSettings
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.federated.unlearning import calibrate_lengths, reaggregate
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.interaction import Interaction

N_MEMBERS, N_ROUNDS, N_PAGES, N_UNLEARN = 6, 20, 40, 10
CLIP = 0.8


def method_with(z: float) -> FPDGD:
    """The default group's method with noise of `z` clips."""
    begun = setup.shipped_start()
    privacy = Gaussian(clip=CLIP, noise_multiplier=z)
    settings = ServerSettings(method=MethodSection(privacy=privacy))
    return method_of(setup.terms_of(settings, "group", features=begun.features, manifest_hash=begun.manifest_hash))


def page(rng: np.random.Generator, n_features: int, wanted: int) -> Interaction:
    """Ten results in a random order; the strongest in one feature is opened."""
    features, ranking = rng.random((12, n_features)), rng.permutation(12)[:10]
    return Interaction(features, ranking, np.arange(10) == np.argmax(features[ranking, wanted]))


def delta(method: FPDGD, theta: FloatVector, seed: int, member: int, number: int, n_pages: int) -> FloatVector:
    """What a member sends in a round, less where it began `[n_sent]`; the same pages and noise on any ranker."""
    rng = np.random.default_rng((seed, member, number))
    local = method.begin(Model(theta), rng)
    wanted = method.shared[member % 3] if method.shared else member % 3
    for _ in range(n_pages):
        local = method.learn(local, page(rng, len(theta), wanted))
    noise = np.random.default_rng((seed, member, number, 1))
    return method.report(local, noise).theta - method.sent(theta)


def learned(method: FPDGD, theta: FloatVector, seed: int, members: range) -> tuple[FloatVector, list[FloatMatrix]]:
    """The ranker after all rounds, and each round's updates `[n_members, n_sent]`."""
    kept = []
    for number in range(N_ROUNDS):
        kept.append(np.array([delta(method, theta, seed, member, number, N_PAGES) for member in members]))
        theta = method.placed(theta, method.sent(theta) + kept[-1].mean(axis=0))
    return theta, kept


def calibrated(method: FPDGD, theta: FloatVector, seed: int, kept: list[FloatMatrix]) -> FloatVector:
    """FedEraser: every round again with fewer pages and fresh noise, at the old lengths."""
    for number, updates in enumerate(kept):
        fresh = [delta(method, theta, seed + 1000, member, number, N_UNLEARN) for member in range(N_MEMBERS - 1)]
        lengths = np.linalg.norm(updates[:-1], axis=1)
        theta = method.placed(theta, method.sent(theta) + calibrate_lengths(np.array(fresh), lengths).mean(axis=0))
    return theta


def distances(z: float, seed: int) -> list[float]:
    """Of not forgetting, rollback, FedEraser and re-aggregation, in this order."""
    method, first = method_with(z), np.array(setup.shipped_start().theta)
    whole, kept = learned(method, first, seed, range(N_MEMBERS))
    without, _ = learned(method, first, seed, range(N_MEMBERS - 1))
    others = [(updates[:-1], np.ones(N_MEMBERS - 1)) for updates in kept]
    again = reaggregate(Model(method.sent(first)), others, Joining())[-1].model.theta
    found = (method.sent(whole), method.sent(first), method.sent(calibrated(method, first, seed, kept)), again)
    return [float(np.linalg.norm(one - method.sent(without))) for one in found]


def main() -> None:
    """Print the distances to the ranker retrained without the member."""
    seeds = arguments(__doc__, seeds=3).seeds
    print("| z | not forgotten (noise) | rollback | federaser | reaggregate |\n|---|---|---|---|---|")
    for z in (1e-9, 1.0, 4.0):
        found = np.array([distances(z, seed) for seed in range(seeds)])
        errors = found.std(axis=0, ddof=1) / np.sqrt(seeds)
        cells = (f"{mean:.3f} +- {error:.3f}" for mean, error in zip(found.mean(axis=0), errors, strict=True))
        print(f"| {z:.0f} | {' | '.join(cells)} |")
