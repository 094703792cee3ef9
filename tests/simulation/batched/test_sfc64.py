from __future__ import annotations

import numpy as np

from simulation.batched.random_numbers import uniform
from simulation.rounds.streams import make_streams, user_generator


def test_compiled_streams_draw_the_numbers_of_numpy() -> None:
    """1,000 numbers, equal to the last bit, and the same state afterwards."""
    streams = make_streams(11, 2)
    rng = user_generator(streams, 1)
    assert [uniform(streams.users[1]) for _ in range(1000)] == rng.random(1000).tolist()
    assert streams.users[1].tolist() == rng.bit_generator.state["state"]["state"].tolist()


def test_numbers_by_hand() -> None:
    """State a, b, c, w = 2^63, 0, 0, 2^62: the sum is 3/4 of 2^64; next a, b, c, w = 0, 0, 3/4 of 2^64, 2^62 + 1."""
    state = np.array([1 << 63, 0, 0, 1 << 62], dtype=np.uint64)
    assert uniform(state) == 0.75
    assert state.tolist() == [0, 0, 3 << 62, (1 << 62) + 1]
