"""Random streams of the simulated clients, shared by the four verbs and the compiled rounds.

Every client has two streams: its user's (which query, which ranking is drawn, which clicks) and its device's (seeds,
noise). Both are SFC64 generators seeded from one SeedSequence; the state of the users' streams also exists as an array
`[n_clients, 4]` of uint64 for compiled code, which draws the very same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

StreamStates = npt.NDArray[np.uint64]


class Streams(Struct, frozen=True, eq=False):
    """The generators of a cell; they advance with every use."""

    users: StreamStates
    """[n_clients, 4] SFC64 states, advanced in place"""
    devices: tuple[np.random.Generator, ...]
    """[n_clients]"""
    model: np.random.Generator
    """for the initial model"""
    attacker: np.random.Generator
    """for those who attack, together"""


def make_streams(seed: int, n_clients: int) -> Streams:
    """Independent streams for every client, the same for the same seed.

    Client c's streams depend on the seed and c alone, not on how many clients there are.
    """
    model, users, devices, attacker = np.random.SeedSequence(seed).spawn(4)
    states = np.empty((n_clients, 4), dtype=np.uint64)
    for client, sequence in enumerate(users.spawn(n_clients)):
        states[client] = np.random.SFC64(sequence).state["state"]["state"]
    generators = tuple(np.random.Generator(np.random.SFC64(s)) for s in devices.spawn(n_clients))
    alone = (np.random.Generator(np.random.SFC64(sequence)) for sequence in (model, attacker))
    return Streams(states, generators, *alone)


def cell_streams(sequence: np.random.SeedSequence, n_clients: int) -> Streams:
    """`make_streams` from 128 bits of a cell's sequence."""
    high, low = sequence.generate_state(2, np.uint64)
    return make_streams(int(high) << 64 | int(low), n_clients)


def user_generator(streams: Streams, client: int) -> np.random.Generator:
    """A numpy Generator at the present state of a client's user stream; put it back with `keep_user_state`."""
    generator = np.random.Generator(np.random.SFC64(0))
    keep_states([generator], [streams.users[client]])
    return generator


def keep_user_state(streams: Streams, client: int, rng: np.random.Generator) -> None:
    """Store how far `rng` has come."""
    streams.users[client] = rng.bit_generator.state["state"]["state"]


def states_of(generators: Sequence[np.random.Generator]) -> StreamStates:
    """How far streams have come, `[n, 4]`, for compiled code to go on; put it back with `keep_states`."""
    found = [generator.bit_generator.state["state"]["state"] for generator in generators]
    return np.array(found, dtype=np.uint64).reshape(len(found), 4)


def keep_states(generators: Sequence[np.random.Generator], states: Sequence[StreamStates]) -> None:
    """Store how far compiled code has come on each."""
    for generator, state in zip(generators, states, strict=True):
        known = generator.bit_generator.state
        known["state"]["state"] = state
        generator.bit_generator.state = known
