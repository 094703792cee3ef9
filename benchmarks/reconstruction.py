"""What one update tells the server about clicks: AUC of the reconstruction by noise, pages and features.

    python -m benchmarks.reconstruction [--updates 200] [--clip 0.5]

The server's default method; Gaussian mechanism with noise multiplier z, 0 for none at all. Navigational users on pages
of 10 of 20 documents with uniformly random features. "rank" is the guess from the position alone. The default clip is
far above the length of these updates; a clip near it (0.02) shows what z does to an update that fills its bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.tables import Table
from federation_server.settings import MethodSection
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.mechanisms import Gaussian, NoPrivacy
from foltr.ranking.rankers import Linear
from simulation.click_models import make_users
from simulation.studies.reconstruction import auc, by_rank, estimated_weights, send_update

MULTIPLIERS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
PAGES = (1, 2, 4, 8)
FEATURES = (56, 136)
N_DOCS = 20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=200, help="updates for each number")
    parser.add_argument("--clip", type=float, default=0.5, help="L2 bound of an update")
    options = parser.parse_args()
    table = Table(("d", "Q", *(f"z {z:g}" for z in MULTIPLIERS), "rank", "update norm"))
    for n_features in FEATURES:
        for n_pages in PAGES:
            table.add(n_features, n_pages, *row(n_features, n_pages, clip=options.clip, n_updates=options.updates))
    print(table)


def row(n_features: int, n_pages: int, *, clip: float, n_updates: int) -> Sequence[float]:
    """The AUC for each z, then of the guess by rank, then the median norm of an update without noise."""
    found = [attacked(n_features, n_pages, z=z, clip=clip, n_updates=n_updates) for z in MULTIPLIERS]
    return [*(attack for attack, _, _ in found), found[0][1], found[0][2]]


def attacked(n_features: int, n_pages: int, *, z: float, clip: float, n_updates: int) -> tuple[float, float, float]:
    """Mean AUC of the attack and of the guess by rank, and the median norm of the update."""
    rate, users = MethodSection().learning_rate, make_users("navigational", top_grade=2)
    privacy = Gaussian(clip=clip, noise_multiplier=z) if z else NoPrivacy()
    method, rng = FPDGD(Linear(n_features), learning_rate=rate, privacy=privacy), np.random.default_rng(1)
    attacks, baselines, norms = [], [], []
    for _ in range(n_updates):
        model = Model(rng.normal(scale=0.3, size=n_features))
        grades = rng.choice(3, p=[0.7, 0.2, 0.1], size=(n_pages, N_DOCS)).astype(np.int8)
        queries = [(rng.random((N_DOCS, n_features)), page) for page in grades]
        one = send_update(method, model, queries, users=users, rng=rng)
        weights = estimated_weights(one.update, one.pages, learning_rate=rate, noise=z * clip)
        attacks.append(auc(weights, one.clicks))
        baselines.append(auc(by_rank(one.pages), one.clicks))
        norms.append(np.linalg.norm(one.update))
    return float(np.nanmean(attacks)), float(np.nanmean(baselines)), float(np.median(norms))


if __name__ == "__main__":
    main()
