"""One federated round over simulated clients: by the four verbs, or compiled where a method has a batched path.

`run_round` is the reference: it calls the very functions that a device and a server call. The compiled rounds in
simulation.batched draw the same numbers from the same streams and must end at the same theta; tests compare them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Matrix, Int64Vector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.guard import GuardVerdict
from foltr.federated.method import Method, Model
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import max_rr, ndcg_at_k, reciprocal_rank
from simulation.attacks import AttackedRound, AttackSettings
from simulation.data.queries import QuerySet, locked
from simulation.rounds.click_models import Users
from simulation.rounds.streams import Streams, keep_user_state, user_generator


class Sightings(msgspec.Struct):
    """Adds up the verdicts of rounds: a server knows only its suspicions, a study knows who was malicious."""

    n_clients: int
    n_malicious: int
    """the last clients"""
    _rounds: int = 0
    _alerts: int = 0
    _malicious: int = 0
    _honest: int = 0

    def add(self, verdict: GuardVerdict) -> None:
        """One more round; members that were left out were suspected."""
        suspects = {*verdict.left_out, *(suspicion.client for suspicion in verdict.suspicions)}
        malicious = sum(client >= self.n_clients - self.n_malicious for client in suspects)
        self._rounds += 1
        self._alerts += verdict.alert
        self._malicious += malicious
        self._honest += len(suspects) - malicious

    def since_last_row(self) -> dict[str, float]:
        """The means since this was last asked, by their names in a row; of nobody, or no round, there is none."""
        n_honest = self.n_clients - self.n_malicious
        seen = {
            "guard_alert": (self._alerts, 1),
            "suspected_malicious": (self._malicious, self.n_malicious),
            "suspected_honest": (self._honest, n_honest),
        }
        means = {name: count / (self._rounds * n) for name, (count, n) in seen.items() if self._rounds * n}
        self._rounds = self._alerts = self._malicious = self._honest = 0
        return means


class Shown(NamedTuple):
    """What users saw on a page, or the sums over several."""

    interactions: int = 0
    ndcg: float = 0.0
    """nDCG of the shown pages by their grades, ideal over all candidates; 0 for a query without relevant documents"""
    reciprocal_rank: float = 0.0
    """1 / rank of the first shown document with a grade above 0"""
    max_rr: float = 0.0
    """1 / rank of the highest click"""
    clicks: int = 0

    @classmethod
    def total(cls, parts: Iterable[Shown]) -> Shown:
        """All of them together."""
        return cls(*map(sum, zip(cls(), *parts, strict=True)))


class Population(msgspec.Struct, frozen=True, eq=False):
    """Who takes part in a round, and with what."""

    data: QuerySet
    """all queries that anybody asks; where clients hold different ones, those of client after client"""
    users: Users
    n_clients: int
    n_local: int | Int64Vector
    """interactions of each client in a round, B; `[n_clients]` where they differ"""
    holds: Int64Matrix | None = None
    """[n_clients, 2] the first of the queries that a client asks, and the one after its last; None: all ask all"""
    attack: AttackSettings | None = None
    """what malicious clients do"""
    n_malicious: int = 0
    """how many there are: the last clients"""
    personal: FloatMatrix | None = None
    """[n_clients, n_params] the ranker that each device ended its last round with, written in place, where it keeps
    some of it; None: nobody keeps anything"""
    in_order: bool = False
    """whether a client asks its queries one after another, each once, in place of drawing them"""
    sightings: Sightings | None = None
    """what the server's guard says of the rounds, added to in place; None: nobody asks"""

    def __post_init__(self) -> None:
        if self.n_clients < 1 or np.shape(self.n_local) not in ((), (self.n_clients,)) or np.min(self.n_local) < 1:
            raise ValueRangeError(f"{self.n_clients} clients with {self.n_local} interactions make no round")
        if not 0 <= self.n_malicious <= self.n_clients:
            raise ValueRangeError(f"{self.n_malicious} of {self.n_clients} clients cannot be malicious")
        if self.ranges.shape != (self.n_clients, 2) or (np.diff(self.ranges) < 1).any():
            raise ShapeError(f"holds must be [{self.n_clients}, 2] queries, at least one for each client")

    @property
    def local(self) -> Int64Vector:
        """Interactions of each client in a round `[n_clients]`."""
        return np.full(self.n_clients, self.n_local, dtype=np.int64)

    @property
    def honest(self) -> Users:
        """Those who do not attack; everybody where all do."""
        return self.users.first(self.n_clients - self.n_malicious) if self.n_malicious < self.n_clients else self.users

    @property
    def ranges(self) -> Int64Matrix:
        """`holds`; the whole for all clients where that is None."""
        return self.holds if self.holds is not None else np.tile([0, self.data.n_queries], (self.n_clients, 1))

    def draw_query(self, client: int, rng: np.random.Generator) -> int:
        """A query of the client's, uniformly: one number of `rng`."""
        first, past_last = (0, self.data.n_queries) if self.holds is None else self.holds[client]
        return int(first) + int(rng.random() * (past_last - first))

    def queries_of(self, client: int, round_number: int, rng: np.random.Generator) -> Iterator[int]:
        """What a client asks in a round, from 0; fewer than `n_local` where it has asked all there was to ask."""
        n_local = int(self.local[client])
        if not self.in_order:
            yield from (self.draw_query(client, rng) for _ in range(n_local))
            return
        first, past_last = self.ranges[client].tolist()
        asked = first + round_number * n_local
        yield from range(min(asked, past_last), min(asked + n_local, past_last))


Round = Callable[[Any, Model, Population, Streams], tuple[Model, Shown]]
Play = Callable[[Any, Model, Population, Streams, int], tuple[Model, list[Shown]]]
"""so many rounds, and what was seen in each"""


def repeated(run: Round) -> Play:
    def rounds(
        method: Any, model: Model, population: Population, streams: Streams, n_rounds: int
    ) -> tuple[Model, list[Shown]]:
        seen = []
        for _ in range(n_rounds):
            model, shown = run(method, model, population, streams)
            seen.append(shown)
        return model, seen

    return rounds


TELL_SECONDS = 0.3
"""between two events that say how far a cell is"""


class Running(msgspec.Struct):
    """An online method on its way, between two rounds."""

    method: Method[Any, Any]
    model: Model
    population: Population
    streams: Streams
    play: Play
    done: int = 0
    """rounds"""
    seconds: float = 0.0
    """spent in them"""
    _at_once: int = 1
    """rounds of the next block: compiled rounds are played in blocks, short enough to show how far a run is"""

    def until(self, end: int, see: Callable[[Shown], None] = lambda shown: None) -> Generator[int, None, None]:
        """Play on to the end of that round; yields on the way, after each block, how many rounds are over.

        `see` is told what the users of each round saw.
        """
        while self.done < end:
            n_rounds, started = min(self._at_once, end - self.done), time.perf_counter()
            self.model, seen = self.play(self.method, self.model, self.population, self.streams, n_rounds)
            taken = time.perf_counter() - started
            self._at_once = next_at_once(self._at_once, n_rounds, taken)
            self.seconds, self.done = self.seconds + taken, self.done + n_rounds
            for shown in seen:
                see(shown)
            if self.done < end:
                yield self.done


def next_at_once(at_once: int, n_rounds: int, taken: float) -> int:
    """How many rounds to play at once after `n_rounds` took so many seconds: about as many as end in `TELL_SECONDS`."""
    fitting = int(n_rounds * TELL_SECONDS / max(taken, 1e-6))
    return max(1, min(fitting, 2 * at_once))


def run_round(method: Any, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
    """One round by the four verbs, client after client.

    A page costs the user's stream: one number for the query, unless queries are asked in order, what `method.rank`
    draws, what `Users.clicks` draws. A client without a page left sends what it began with, which counts nothing.
    """
    messages: list[Any] = []
    pages: list[Shown] = []
    model = replace(model, theta=locked(model.theta))
    for client in range(population.n_clients):
        own = None if population.personal is None else population.personal[client]
        local = method.begin(model, streams.devices[client]) if own is None else method.begin_keeping(model, own)
        local, _, seen = learned(method, local, population, streams, client, model.round)
        pages += seen
        messages.append(method.report(local, streams.devices[client]))
        if population.personal is not None:
            population.personal[client] = local.theta
    if population.attack is not None:
        reported = np.array([message.theta for message in messages])
        sent = attacked_thetas(method, model, reported, population, streams)
        messages = [msgspec.structs.replace(one, theta=theta) for one, theta in zip(messages, sent, strict=True)]
    return _joined(method, model, messages, population), Shown.total(pages)


def learned(
    method: Method[Any, Any], local: Any, population: Population, streams: Streams, client: int, round_number: int
) -> tuple[Any, list[Interaction], list[Shown]]:
    """A client's device after the pages of its round, the pages, and what they were worth."""
    rng = user_generator(streams, client)
    interactions, pages = [], []
    for query in population.queries_of(client, round_number, rng):
        interaction, page = visit(method, local, population, client, query, rng)
        if (local := method.learn(local, interaction)) is None:
            raise ValueRangeError(f"{type(method).__name__}.learn: wanted the device after a page, got None")
        interactions.append(interaction)
        pages.append(page)
    keep_user_state(streams, client, rng)
    return local, interactions, pages


def attacked_thetas(
    method: Any,
    model: Model,
    reported: FloatMatrix,
    population: Population,
    streams: Streams,
    *,
    accepts: Callable[[FloatVector], float] | None = None,
) -> FloatMatrix:
    """What reaches the server `[n_clients, n_sent]` where honest clients would all have sent `reported`.

    `accepts`: the share of the honest clients who would take a ranker over, where clients decide.
    """
    if population.attack is None or not population.n_malicious:
        return reported
    seen = locked(reported), locked(method.sent(model.theta))
    scene = AttackedRound(*seen, population.n_malicious, method, streams.attacker, accepts)
    sent = population.attack.send(scene)
    if sent is not None and np.shape(sent) != scene.own.shape:
        raise ShapeError(f"an attack sends {list(scene.own.shape)} weights, {list(np.shape(sent))} came")
    return reported if sent is None else np.concatenate([scene.benign, sent])


def _joined(method: Any, model: Model, messages: list[Any], population: Population) -> Model:
    """The next model; what the guard said on the way is kept where somebody asks."""
    if population.sightings is None:
        return cast(Model, method.aggregate(model, messages))
    return joined_thetas(method, model, np.array([message.theta for message in messages]), population)


def joined_thetas(method: FPDGD, model: Model, thetas: FloatMatrix, population: Population) -> Model:
    """The next model from what reached the server `[n_clients, n_sent]`; the guard's verdict is kept."""
    joined = method.joined(model, thetas, population.local.astype(np.float64))
    if population.sightings is not None:
        population.sightings.add(joined.verdict)
    return joined.model


def visit(
    method: Method[Any, Any], local: object, population: Population, client: int, query: int, rng: np.random.Generator
) -> tuple[Interaction, Shown]:
    """One page: the ranking shown for a query, the clicks on it."""
    data, users = population.data, population.users
    rows = data.rows(query)
    features, grades = data.features[rows].astype(np.float64), data.grades[rows]
    ranking = method.rank(local, features, rng, k=users.k)
    shown = grades[ranking]
    clicks = users.clicks(shown, client, rng)
    ndcg = ndcg_at_k(shown, users.k, judged=grades)
    seen = Shown(1, ndcg, reciprocal_rank(shown), max_rr(clicks, users.k), int(clicks.sum()))
    return Interaction(features, ranking, clicks), seen
