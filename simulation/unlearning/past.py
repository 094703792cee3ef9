"""The rounds of a federation before it forgets some of its clients: they are played, and what they leave is kept.

Those who will be forgotten are the last clients. All streams are kept as they stood before the first round and before
the leavers' first one, so that whoever begins there again gets the same queries: common random numbers. A way of
unlearning is a record of settings that goes on from there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import msgspec

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joined
from foltr.federated.method import Model
from simulation.rounds.federation import Play, Population, Running, Shown
from simulation.rounds.streams import Streams


class Step(NamedTuple):
    """A ranker on the way, and the rounds that led to it."""

    model: Model
    shown: tuple[Shown, ...] = ()
    """what the users of each round saw; () where nobody was asked anything"""
    stretch: float | None = None
    """how many times longer FedEraser made the round's updates"""
    n_rounds: int = 1
    """since the step before"""


class KeptRound(msgspec.Struct, frozen=True, eq=False):
    """What a server keeps of a round."""

    model: Model
    """that the round began with"""
    thetas: FloatMatrix
    """[n_clients, n_params] what was reported, the leavers' last"""
    counts: FloatVector
    """[n_clients] pages"""


class Moment(msgspec.Struct, frozen=True, eq=False):
    """A federation between two rounds."""

    model: Model
    streams: Streams


class Past(msgspec.Struct, frozen=True, eq=False):
    """What there is when somebody is to be forgotten."""

    method: FPDGD
    play: Play
    """plays rounds of FPDGD, and of what is FPDGD and more"""
    everyone: Population
    n_leaving: int
    together: range
    """the rounds, counted from 1, that the leavers took part in, up to the last"""
    start: Moment
    """before round 1"""
    before: Moment
    """before the leavers' first round"""
    now: Moment
    kept: tuple[KeptRound, ...]
    fresh: Streams
    """that nobody has drawn from"""
    interval: int = 1
    """rounds between two rankers that anybody looks at"""

    @property
    def staying(self) -> Population:
        """Everyone else."""
        return without_last(self.everyone, self.n_leaving)

    @property
    def n_staying(self) -> int:
        return self.everyone.n_clients - self.n_leaving

    def go_on(self, begin: Moment, population: Population, n_rounds: int) -> Generator[Step, None, None]:
        """The ranker of that moment, and every `interval`-th of `n_rounds` rounds; the moment stays as it is."""
        model, streams = begin.model, copy.deepcopy(begin.streams)
        yield Step(model)
        for done in range(0, n_rounds, self.interval):
            at_once = min(self.interval, n_rounds - done)
            model, shown = self.play(self.method, model, population, streams, at_once)
            yield Step(model, tuple(shown), n_rounds=at_once)


def learn_together(
    method: FPDGD,
    everyone: Population,
    streams: Streams,
    *,
    play: Play,
    fresh: Streams,
    n_leaving: int,
    together: range,
    kept: range,
    interval: int = 1,
) -> Generator[int, None, Past]:
    """Learn, the leavers in the rounds `together`; yields now and then how many are over, and returns the past.

    Rounds between two of `kept`, whose messages the server writes down, go by in blocks.
    """
    record: list[KeptRound] = []
    keeper = recorded(method, record)
    start = before = Moment(method.initial(streams.model), copy.deepcopy(streams))
    alone = without_last(everyone, n_leaving)
    running = Running(method, start.model, everyone, streams, play)
    for first, past_last in pairwise(
        sorted({1, together.start, *kept, *(number + 1 for number in kept), together.stop})
    ):
        if first == together.start:
            before = Moment(running.model, copy.deepcopy(streams))
        running.population = everyone if first in together else alone
        running.method = keeper if first in kept else method
        yield from running.until(past_last - 1)
        yield running.done
    now = Moment(running.model, streams)
    return Past(method, play, everyone, n_leaving, together, start, before, now, tuple(record), fresh, interval)


def without_last(population: Population, n: int, *, n_local: int | None = None) -> Population:
    """The population without its last `n` clients, each with `n_local` pages in a round where that is said."""
    stay = population.n_clients - n
    local = population.local[:stay] if n_local is None else n_local
    return msgspec.structs.replace(
        population,
        n_clients=stay,
        n_local=local,
        holds=None if population.holds is None else population.holds[:stay],
        n_malicious=max(0, population.n_malicious - n),
    )


def only_last(population: Population, streams: Streams, n: int) -> tuple[Population, Streams]:
    """The last `n` clients alone, honest but for their clicks, and their streams, which advance with those of all."""
    last = msgspec.structs.replace(
        population,
        users=population.users.behaving(slice(-n, None)),
        n_clients=n,
        n_local=population.local[-n:],
        holds=None if population.holds is None else population.holds[-n:],
        attack=None,
        n_malicious=0,
    )
    return last, msgspec.structs.replace(streams, users=streams.users[-n:], devices=streams.devices[-n:])


def with_server(method: FPDGD, joined: Callable[[Model, FloatMatrix, FloatVector], Joined]) -> FPDGD:
    """The method, whatever its devices do, with a server that joins so."""
    kind = type(type(method).__name__, (type(method),), {"__slots__": (), "joined": staticmethod(joined)})
    whole: FPDGD = kind(**{one.name: getattr(method, one.name) for one in fields(method)})
    return whole


def recorded(method: FPDGD, record: list[KeptRound]) -> FPDGD:
    """The method, whose server writes down what was reported."""

    def joined(model: Model, thetas: FloatMatrix, n_interactions: FloatVector) -> Joined:
        record.append(KeptRound(model, thetas.copy(), n_interactions.copy()))
        return method.joined(model, thetas, n_interactions)

    return with_server(method, joined)


def fields_of(method: FPDGD) -> dict[str, Any]:
    """The fields of FPDGD, for methods that are it and more."""
    return {one.name: getattr(method, one.name) for one in fields(FPDGD)}


Count = Annotated[int, msgspec.Meta(ge=1)]


class UnlearningSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="unlearning"):
    """What the settings of all ways are: strict records that name themselves in the field `unlearning`."""

    level: bool = False
    """whether only the last ranker makes a row: a level to compare curves with"""

    def kept(self, together: range) -> range:
        """Of which rounds the server keeps what was reported; `together`: those that the leavers took part in.

        Rounds count from 1.
        """
        return range(0)

    def rounds(self, together: range) -> int:
        """How many rounds unlearning takes."""
        raise NotImplementedError

    def forget(self, past: Past) -> Iterator[Step]:
        """The ranker that unlearning begins with, and the one after each of its rounds."""
        raise NotImplementedError
