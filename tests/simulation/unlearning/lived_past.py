"""A small federation on the sample that has learned together with some who are to be forgotten."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.attacks.backwards import Opposed
from simulation.data.datasets import load_fold
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population
from simulation.rounds.round_kinds import fast_play
from simulation.rounds.streams import make_streams
from simulation.unlearning.past import Past, UnlearningSettings, learn_together

TRAIN = load_fold("sample").train
TRAIN = replace(TRAIN, features=TRAIN.features.astype(np.float64))  # scored in 64 bits by both paths
METHOD = FPDGD(Linear(TRAIN.n_features), learning_rate=0.1)
HONEST = Population(TRAIN, make_users("perfect", top_grade=4), 4, 5)
POISONED = msgspec.structs.replace(HONEST, attack=Opposed(), n_malicious=1)
N_ROUNDS = 7


def lived(
    way: UnlearningSettings,
    everyone: Population = POISONED,
    *,
    joined: int = 1,
    n_leaving: int = 1,
    seed: int = 3,
    interval: int = 1,
) -> Past:
    """Seven rounds, the leavers from round `joined` on."""
    together = range(joined, N_ROUNDS + 1)
    learning = learn_together(
        METHOD,
        everyone,
        make_streams(seed, everyone.n_clients),
        play=fast_play(METHOD),
        fresh=make_streams(seed + 100, everyone.n_clients),
        n_leaving=n_leaving,
        together=together,
        kept=way.kept(together),
        interval=interval,
    )
    while True:
        try:
            next(learning)
        except StopIteration as done:
            past: Past = done.value
            return past
