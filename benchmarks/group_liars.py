"""What lying members of a sealed group cost a newcomer, with notes of honest length, which no proof refuses.

    python -m benchmarks group_liars [--members 5 20] [--draws 12] [--silent] [--cache FOLDER]

One of five, or a fifth of twenty, say in every round the longest change that the clip lets through, with fair noise on
it, because the proofs ask for that. They push where it costs the newcomers most on the judged queries, of the
directions that were tried from the ranker that the group reaches without them. Each draw of benchmarks.group is
played twice, with the same people and noise: with these members honest, and lying. The loss is of a newcomer's nDCG@10;
members are those who stay honest. With --silent they send only noise instead, which shows what their absence costs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.federation.group_ranker import believed
from app.learning.prior import theta_prior
from benchmarks.group import CHOSEN_ON, Life, World, lived, mean_and_error, world_of, worth
from benchmarks.group_attacks import AIMS, MALICIOUS, worst_direction
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict
from foltr.arrays import FloatVector
from foltr.privacy.mechanisms import Gaussian
from indexer.retrieval.features import NAMES

SCENES = ("one kind of file", "nothing shared")
N_ROUNDS = 4


def served(found: Life, theta: FloatVector) -> float:
    """nDCG@10 of newcomers to whom a common ranker `[n_features]` is offered with the noise of this one."""
    return found.newcomer(believed(theta_prior(), theta, found.model.noise, NAMES))


def lie(honest: Life, n_liars: int) -> FloatVector:
    """The change `[n_sent]` that costs most when this number of members send it in every round."""
    assert isinstance(honest.method.privacy, Gaussian)
    clip = honest.method.privacy.clip
    far = N_ROUNDS * clip * n_liars / len(honest.members)
    found = worst_direction(lambda theta: served(honest, theta), honest.method, honest.model.theta, far)
    return np.asarray(clip * found)


def attacked(world: World, scene: str, n: int, draw: int, *, silent: bool) -> tuple[Life, Life]:
    """A group without liars, and the same with them."""
    honest = lived(world, scene, "sealed", n, draw)
    said = np.zeros(honest.method.n_sent) if silent else lie(honest, MALICIOUS[n])
    return honest, lived(world, scene, "sealed", n, draw, [said] * MALICIOUS[n])


def main() -> None:
    """Print the table."""
    wanted = arguments(
        __doc__,
        members=Option([5, 20], choices=(5, 20)),
        draws=12,
        scenes=Option(SCENES, choices=SCENES),
        silent=False,
        cache=Option(help="folder that keeps the pages for another run", kind=Path),
    )
    table = Table(("members", "liars", "taste", "newcomer", "with liars", "loss of nDCG@10", "aim", "worst draw",
                   "members", "with liars", "members alone"))  # fmt: skip
    with world_of(CHOSEN_ON, wanted.cache) as world:
        for n in wanted.members:
            for scene in wanted.scenes:
                table.add(n, MALICIOUS[n], scene, *cells(world, scene, n, wanted.draws, silent=wanted.silent))
    print(machine(), f"{wanted.draws} draws", table, sep="\n\n")


def cells(world: World, scene: str, n: int, n_draws: int, *, silent: bool) -> list[object]:
    """Of one row."""
    losses, before, after = [], [], []
    for draw in range(n_draws):
        honest, lying = attacked(world, scene, n, draw, silent=silent)
        losses.append(served(honest, honest.model.theta) - served(lying, lying.model.theta))
        before.append(worth(honest))
        after.append(worth(lying))
    error = float(np.std(losses, ddof=1)) / len(losses) ** 0.5
    return [
        mean_and_error([one.newcomer for one in before]),
        mean_and_error([one.newcomer for one in after]),
        f"{np.mean(losses):+.3f} +- {error:.3f}",
        f"<= {AIMS[n]} {verdict(bool(np.mean(losses) <= AIMS[n]))}",
        f"{max(losses):+.3f}",
        mean_and_error([one.members for one in before]),
        mean_and_error([one.members for one in after]),
        mean_and_error([one.alone for one in after]),
    ]
