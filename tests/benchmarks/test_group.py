"""The benchmark of groups closes a round as the server of a sealed group does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.group import agreed, summed
from foltr.federated.method import Model
from foltr.federated.wire import ModelRecord, decode
from tests.federation_server.client import opened, running
from tests.federation_server.sealed_members import NOTES, make_sealed, members, occasion_of, send_answer, share


def test_a_real_server_moves_the_ranker_as_the_benchmark_does(tmp_path: Path, few_coins: None) -> None:
    """Five members send notes with their proofs, one of them a lie as long as the clip, and add up, in two rounds: the
    published ranker and its noise are those of `summed` to the last bit, and each device adds the noise of `mechanism`.
    """
    _, method = agreed("sealed", 5)
    with running(make_sealed(tmp_path / "server", terms="")) as server:
        people = members(server.made, 5)
        model, rng = Model(people[0].theta()), np.random.default_rng(3)
        for _ in range(2):
            told = people[0].announcement()
            part = occasion_of(people[0], told).part
            assert part == method.privacy
            changes = [*rng.normal(scale=0.2, size=(4, method.n_sent)), np.eye(method.n_sent)[2] * -part.clip]
            for one, change in zip(people, changes, strict=True):
                assert share(one, told, part.signal_steps(change, rng)).ok
            for one in people:
                assert send_answer(one, told).ok
            model = summed(method, model, [NOTES[one.device, told.lineage, told.round] for one in people])
            found = decode(opened(people[0].send("GET", "/v1/models/newest")).body, ModelRecord)
            assert found.noise == model.noise
            np.testing.assert_array_equal(people[0].theta(), model.theta)
