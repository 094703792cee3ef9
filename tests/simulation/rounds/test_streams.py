from __future__ import annotations

import numpy as np

from simulation.rounds.streams import cell_streams, keep_user_state, make_streams, user_generator


def test_a_clients_streams_do_not_depend_on_how_many_clients_there_are() -> None:
    """Client 1 of 2 and client 1 of 50 draw the same."""
    few, many = make_streams(3, 2), make_streams(3, 50)
    assert user_generator(few, 1).random(4).tolist() == user_generator(many, 1).random(4).tolist()
    assert few.devices[1].random(4).tolist() == many.devices[1].random(4).tolist()
    assert few.model.random() == many.model.random()


def test_a_kept_state_goes_on_where_it_stopped() -> None:
    """Two numbers, kept, and two more are the first four; without keeping, the stream begins again."""
    streams, other = make_streams(5, 2), make_streams(5, 2)
    rng = user_generator(streams, 1)
    drawn = rng.random(2).tolist()
    assert user_generator(streams, 1).random(2).tolist() == drawn
    keep_user_state(streams, 1, rng)
    drawn += user_generator(streams, 1).random(2).tolist()
    assert drawn == user_generator(other, 1).random(4).tolist()
    assert (streams.users[0] == other.users[0]).all()


def test_the_streams_of_a_cell_are_these() -> None:
    """Seed 1 of fold 1: every published row was made of these numbers."""
    streams = cell_streams(np.random.SeedSequence([1, 1]), 2)
    drawn = [user_generator(streams, 1), *streams.devices, streams.model, streams.attacker]
    assert [int(rng.integers(10**9)) for rng in drawn] == [205286954, 988156489, 434548924, 778779215, 256280508]
