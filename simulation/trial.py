"""One cell, run: a fold is loaded, users are drawn, the rounds go by, rows of results come out.

A row tells what the users saw: means since the last row, and a discounted sum over all rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import FoltrError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Method
from foltr.federated.registry import METHODS, make_method, settings_type
from foltr.ranking.rankers import Neural, Ranker, make_ranker
from simulation.acceptance import AcceptingRounds
from simulation.aliased import aliased_round, check_aliased
from simulation.batched import compile_clock
from simulation.batched.rounds import fast_play
from simulation.cell import Cell, MethodChoice
from simulation.correlated import CorrelatedRounds, check_correlated, epsilon_spent
from simulation.data.datasets import DATASETS, MOST_ACTIVE, Askers, load_fold
from simulation.data.queries import Fold, QuerySet, select
from simulation.engines import Advanced, CellFailed, Compiled, Event, Finished, Reported, Started
from simulation.errors import DatasetError, PresetError
from simulation.evaluation import Evaluation, Judged, judge
from simulation.federation import Play, Population, Shown, repeated, run_round
from simulation.label_rankers import LABEL_RANKERS, TREES, label_ranker, learned_scorer, learns_from_labels
from simulation.leavers import n_leavers, rounds_together, unlearning_of
from simulation.logging_policy import logging_policy, without_indifferent
from simulation.measurements import MEASUREMENTS
from simulation.measuring import Ground, Measurement
from simulation.merging.two_owners import check_merging, two_owners
from simulation.participants import attack_of, check_rule, participants, shares_of
from simulation.preset import decode_table
from simulation.results import DISCOUNT, Row
from simulation.sightings import Sightings
from simulation.streams import make_streams
from simulation.unlearning.past import Past, learn_together
from simulation.unlearning.settings import UnlearningSettings

_NOTHING = Shown(0, 0.0, 0.0, 0.0, 0)


class Means(NamedTuple):
    """Over the interactions since the last row."""

    ndcg: float
    mrr: float
    max_rr: float


@dataclass(slots=True)
class Tally:
    """Adds up rounds."""

    interactions: int = 0
    cumulative_ndcg: float = 0.0
    """sum over rounds t of (mean nDCG of the round) * gamma^(t - 1) (thesis Eq. 2.1)"""
    _weight: float = 1.0
    _shown: Shown = field(default=_NOTHING)

    def add(self, shown: Shown) -> None:
        """One more round."""
        before = self._shown
        self._shown = Shown(
            before.interactions + shown.interactions,
            before.ndcg + shown.ndcg,
            before.reciprocal_rank + shown.reciprocal_rank,
            before.max_rr + shown.max_rr,
            before.clicks + shown.clicks,
        )
        self.interactions += shown.interactions
        self.cumulative_ndcg += self._weight * shown.ndcg / max(shown.interactions, 1)
        self._weight *= DISCOUNT

    def means_since_last_row(self) -> Means | None:
        """The means since this was last asked; None when nobody saw anything."""
        shown, self._shown = self._shown, _NOTHING
        n = shown.interactions
        return Means(shown.ndcg / n, shown.reciprocal_rank / n, shown.max_rr / n) if n else None


TELL_SECONDS = 0.3
"""between two events that say how far a cell is"""


def cell_events(cell: Cell, *, root: Path | None) -> Iterator[Event]:
    """Everything that happens to one cell; an error ends it with Failed and nothing is raised."""
    yield Started(cell.id)
    started = time.perf_counter()
    try:
        with compile_clock() as compiled:
            yield from _events(cell, root, compiled)
    except FoltrError as error:
        yield CellFailed(cell.id, " ".join(str(error).split()))
    except Exception as error:
        yield CellFailed(cell.id, f"unexpected {type(error).__name__}: {' '.join(str(error).split())}")
    else:
        yield Finished(cell.id, time.perf_counter() - started)


def next_at_once(at_once: int, n_rounds: int, taken: float) -> int:
    """How many rounds to play at once after `n_rounds` took so many seconds: about as many as end in `TELL_SECONDS`."""
    fitting = int(n_rounds * TELL_SECONDS / max(taken, 1e-6))
    return max(1, min(fitting, 2 * at_once))


def _events(cell: Cell, root: Path | None, compiled: Callable[[], float]) -> Iterator[Event]:
    """What a trial of the cell reports, behind what was compiled for it."""
    for event in _reports(cell, fold_of(cell, root), root):
        if (seconds := compiled()) > 0:
            yield Compiled(cell.id, seconds)
        yield event


def _reports(cell: Cell, fold: Fold, root: Path | None) -> Iterator[Event]:
    """What two owners or a trial report."""
    merging = cell.preset.merging
    return two_owners(cell, merging, fold, root=root).events() if merging else Trial.prepared(cell, fold).events()


def check_method(cell: Cell) -> None:
    """Find out before anything runs whether ranker, method and settings fit; FoltrError when they do not."""
    info = DATASETS.get(cell.preset.data.dataset)
    if cell.preset.merging is not None:
        check_merging(cell, cell.preset.merging)
    elif learns_from_labels(cell.method):
        label_ranker(cell.method)
    elif cell.method.name in MEASUREMENTS:
        _measurement(cell)
    else:
        method = method_of(cell, _ranker(cell.method, info.n_features if info else 2))
        check_rule(cell, method)
        check_rounds(cell, method)
        attack_of(cell)
        unlearning_of(cell)


def check_rounds(cell: Cell, method: Method[Any, Any]) -> None:
    """PresetError for a kind of round that the method does not know."""
    federation = cell.preset.federation
    if federation.correlation is not None:
        check_correlated(method)
    if federation.tested is not None and not isinstance(method, FPDGD):
        raise PresetError(
            f"federation.acceptance: clients of fpdgd exchange rankers, those of {cell.method.name} do not"
        )
    if federation.aliased:
        check_aliased(cell, method)
    if federation.in_order and not isinstance(method, FPDGD):
        raise PresetError(
            f"federation.in_order: clients of fpdgd can run out of queries, those of {cell.method.name} cannot"
        )


def check_clients(cell: Cell, fold: Fold) -> None:
    """Share out the fold's queries as the cell will; FoltrError names key and data where somebody gets none."""
    if cell.preset.merging is not None:
        return
    fold = replace(fold, train=_asked(cell, fold))
    participants(cell, fold)
    shares_of(cell, cell.preset.data.evaluate_clients_on, _held_out(cell, fold), at="data.evaluate_clients_on")


@dataclass(frozen=True, slots=True)
class Trial:
    """A cell with everything it needs to run."""

    cell: Cell
    fold: Fold
    ranker: Ranker
    population: Population
    judged: Judged
    """the held-out queries, or those that [data] evaluate_on names"""
    judged_by_clients: tuple[Judged, ...] = ()
    """the same as every client sees them, where [data] evaluate_clients_on says how"""

    @classmethod
    def prepared(cls, cell: Cell, fold: Fold) -> Trial:
        """The cell's ranker, clients and held-out queries, on the data of one fold."""
        data = cell.preset.data
        fold = replace(fold, train=_asked(cell, fold))
        held_out = _held_out(cell, fold)
        evaluated = shares_of(cell, data.evaluate_clients_on, held_out, at="data.evaluate_clients_on")
        return cls(
            cell,
            fold,
            _ranker(cell.method, fold.train.n_features),
            participants(cell, fold),
            _judge(cell, held_out),
            tuple(_judge(cell, share) for share in evaluated),
        )

    def events(self) -> Iterator[Event]:
        """Rows as they come: round 0, every so many rounds, and the last."""
        if self.cell.method.name in MEASUREMENTS:
            return self._measured()
        if learns_from_labels(self.cell.method):
            return self._label_ranker()
        way = unlearning_of(self.cell)
        return self._forgetting(way) if way else self._rounds()

    def _measured(self) -> Iterator[Event]:
        """What is measured without an online method."""
        rng = np.random.default_rng(self.cell.sequence())
        untouched = rng.bit_generator.state
        ground = Ground(self.fold, self.ranker, self.population, self.judged, rng, self.cell.preset.federation.rounds)
        started = time.perf_counter()
        for found in _measurement(self.cell).measure(ground):
            row = Row(
                cell=self.cell.id,
                settings=self.cell.settings,
                fold=self.cell.fold,
                seed=self.cell.seed,
                round=found.step,
                interactions=found.interactions,
                seconds=time.perf_counter() - started,
                fixed=rng.bit_generator.state == untouched,
            )
            yield Reported(self.cell.id, msgspec.structs.replace(row, **found.metrics))

    def _label_ranker(self) -> Iterator[Event]:
        """A baseline that is trained on the labels: one row."""
        started = time.perf_counter()
        rng = np.random.default_rng(self.cell.sequence())
        untouched = rng.bit_generator.state
        told = self.fold.validation if self.cell.preset.data.learn_from == "train" else None
        scorer = learned_scorer(label_ranker(self.cell.method), self.fold.train, rng, told)
        seconds, fixed = time.perf_counter() - started, rng.bit_generator.state == untouched
        offline = self.judged.evaluate_scores(scorer(self.judged.queries), users=self.population.users)
        shares = _mean_ndcg([one.evaluate_scores(scorer(one.queries)) for one in self.judged_by_clients])
        yield self._reported(offline, Tally(), seconds=seconds, offline_ndcg_clients=shares, fixed=fixed, last=True)

    def _rounds(self) -> Iterator[Event]:
        """An online method: round after round."""
        federation = self.cell.preset.federation
        streams = make_streams(_integer(self.cell.sequence()), self.population.n_clients)
        method = method_of(self.cell, self.ranker, production=self._production())
        model = method.initial(streams.model)
        population = self._with_memory(model.theta)
        if isinstance(method, FPDGD) and method.guard:
            population = replace(population, sightings=Sightings(population.n_clients, population.n_malicious))
        play = self._play(method)
        tally, seconds, done, at_once, told = Tally(), 0.0, 0, 1, time.monotonic()
        yield self._row(model.theta, tally, round_number=0, seconds=seconds, personal=population.personal)
        while done < federation.rounds:
            row_at = min(done - done % federation.interval + federation.interval, federation.rounds)
            n_rounds = min(at_once, row_at - done)
            started = time.perf_counter()
            model, shown = play(method, model, population, streams, n_rounds)
            taken = time.perf_counter() - started
            at_once = next_at_once(at_once, n_rounds, taken)
            seconds, done = seconds + taken, done + n_rounds
            for seen in shown:
                tally.add(seen)
            if done == row_at:
                yield self._row(
                    model.theta,
                    tally,
                    round_number=done,
                    seconds=seconds,
                    personal=population.personal,
                    sightings=population.sightings,
                    epsilon=epsilon_spent(method, federation.correlation, n_rounds=federation.rounds, so_far=done),
                    last=done == federation.rounds,
                )
            elif time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                yield Advanced(self.cell.id, done)

    def _play(self, method: Method[Any, Any]) -> Play:
        """How rounds of the cell are played."""
        federation = self.cell.preset.federation
        if federation.correlation is not None:
            return repeated(CorrelatedRounds(federation.correlation, federation.rounds))
        if federation.tested is not None:
            return repeated(AcceptingRounds(federation.tested))
        if federation.aliased:
            return repeated(aliased_round)
        return repeated(run_round) if federation.in_order else fast_play(method)

    def _forgetting(self, way: UnlearningSettings) -> Iterator[Event]:
        """An online method without rows, then how some of its clients are forgotten, with rows."""
        federation = self.cell.preset.federation
        n_clients, apart = self.population.n_clients, self.cell.sequence().spawn(4)[3]
        method = cast(FPDGD, method_of(self.cell, self.ranker))
        learning = learn_together(
            method,
            self.population,
            make_streams(_integer(self.cell.sequence()), n_clients),
            play=fast_play(method),
            fresh=make_streams(_integer(apart), n_clients),
            n_leaving=n_leavers(self.cell),
            together=rounds_together(self.cell),
            kept=way.kept(rounds_together(self.cell)),
        )
        past, theirs = (yield from self._told(learning)), self._judged_by_leavers()
        last, tally, seconds, started = way.rounds(past.together), Tally(), 0.0, time.perf_counter()
        interval = federation.evaluate_every or max(1, last // 20)
        for number, step in enumerate(way.forget(past)):
            seconds += time.perf_counter() - started
            if step.shown is not None:
                tally.add(step.shown)
            if number == last or (number % interval == 0 and not way.level):
                theta, final = step.model.theta, number == last
                row = msgspec.structs.replace(
                    self._row(theta, tally, round_number=number, seconds=seconds, last=final).row,
                    unlearning_distance=float(np.linalg.norm(theta - past.now.model.theta)),
                    unlearning_ndcg=theirs.evaluate(self.ranker, theta).ndcg if theirs else None,
                    unlearning_stretch=step.stretch,
                )
                yield Reported(self.cell.id, row)
            started = time.perf_counter()

    def _judged_by_leavers(self) -> Judged | None:
        """The queries of those who are forgotten, by their labels; None where all draw from the same."""
        if self.population.holds is None:
            return None
        first = int(self.population.holds[-n_leavers(self.cell), 0])
        return _judge(self.cell, select(self.population.data, np.arange(first, self.population.data.n_queries)))

    def _told(self, learning: Generator[int, None, Past]) -> Generator[Event, None, Past]:
        """Say now and then how far learning is; what it returns."""
        told = time.monotonic()
        while True:
            try:
                number = next(learning)
            except StopIteration as done:
                return cast(Past, done.value)
            if time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                yield Advanced(self.cell.id, number)

    def _production(self) -> tuple[float, ...]:
        """theta of the ranker that shows the pages, where that is another than the one being learned; else ()."""
        share = self.cell.preset.users.logging_share
        if share == 0:
            return ()
        rng = np.random.default_rng(self.cell.sequence().spawn(2)[1])
        return tuple(logging_policy(self.fold.train, rng, share=share).tolist())

    def _with_memory(self, theta: FloatVector) -> Population:
        """The population, every device with the first ranker `[n_params]` where it keeps some of it."""
        if not self.cell.method.settings.get("personal") and self.cell.preset.federation.tested is None:
            return self.population
        return replace(self.population, personal=np.tile(theta, (self.population.n_clients, 1)))

    def _row(
        self,
        theta: FloatVector,
        tally: Tally,
        *,
        round_number: int,
        seconds: float,
        personal: FloatMatrix | None = None,
        sightings: Sightings | None = None,
        epsilon: float | None = None,
        last: bool = False,
    ) -> Reported:
        """The state of the cell after a round: its common ranker `[n_params]`, the devices' `[n_clients, n_params]`.

        The last one has the values of single queries. What stays on the devices is in the common ranker as the mean of
        theirs, which no server would know.
        """
        if personal is not None and self.cell.preset.federation.tested is None:
            theta = cast(FPDGD, method_of(self.cell, self.ranker)).with_personal(theta, personal.mean(axis=0))
        guard = sightings.since_last_row() if sightings else None
        offline = self.judged.evaluate(self.ranker, theta, users=self.population.users)
        return self._reported(
            offline,
            tally,
            round_number=round_number,
            seconds=seconds,
            last=last,
            offline_ndcg_clients=self._mean_ndcg([theta] * len(self.judged_by_clients)),
            offline_ndcg_personal=None if personal is None else self._personal_ndcg(personal),
            guard_alert=guard.alert if guard else None,
            suspected_malicious=guard.malicious if guard else None,
            suspected_honest=guard.honest if guard else None,
            epsilon=epsilon,
        )

    def _reported(
        self, offline: Evaluation, tally: Tally, *, last: bool, round_number: int = 0, **measured: float | None
    ) -> Reported:
        """A row of what every cell tells, and of what else was `measured`, by the names that a row has for it."""
        online = tally.means_since_last_row()
        return Reported(
            self.cell.id,
            Row(
                cell=self.cell.id,
                settings=self.cell.settings,
                fold=self.cell.fold,
                seed=self.cell.seed,
                round=round_number,
                interactions=tally.interactions,
                offline_ndcg=offline.ndcg,
                offline_mrr=offline.mrr,
                offline_map=offline.map,
                offline_max_rr=offline.max_rr,
                online_ndcg=online.ndcg if online else None,
                online_mrr=online.mrr if online else None,
                online_max_rr=online.max_rr if online else None,
                cumulative_ndcg=tally.cumulative_ndcg if tally.interactions else None,
                query_ndcg=offline.query_ndcg if last and self._judged_once else None,
                **cast(dict[str, Any], measured),
            ),
        )

    def _mean_ndcg(self, thetas: Iterable[FloatVector]) -> float | None:
        """The mean over clients of what a ranker `[n_params]` for each is worth on its share; None without shares."""
        pairs = zip(self.judged_by_clients, thetas, strict=False)
        return _mean_ndcg([one.evaluate(self.ranker, theta) for one, theta in pairs])

    def _personal_ndcg(self, personal: FloatMatrix) -> float | None:
        """What the clients' own rankers `[n_clients, n_params]` are worth; of the honest ones where they test others'.

        Where nobody's share is judged, those who keep a whole ranker are judged by the held-out queries of all.
        """
        if self.cell.preset.federation.tested is None or self.judged_by_clients:
            return self._mean_ndcg(personal)
        honest = personal[: self.population.n_clients - self.population.n_malicious]
        return _mean_ndcg([self.judged.evaluate(self.ranker, theta) for theta in honest])

    @property
    def _judged_once(self) -> bool:
        """Whether no other fold of the study judges the same queries: they may be counted as so many."""
        data = self.cell.preset.data
        return data.evaluate_on == "test" or data.folds == (self.cell.fold,)


def _mean_ndcg(evaluations: Sequence[Evaluation]) -> float | None:
    """None of none."""
    return float(np.mean([each.ndcg for each in evaluations])) if evaluations else None


def _judge(cell: Cell, queries: QuerySet) -> Judged:
    data = cell.preset.data
    return judge(queries, k=data.k, no_relevant=data.no_relevant, ties=data.ties, depth=data.depth)


def fold_of(cell: Cell, root: Path | None) -> Fold:
    """The data of a cell, as its preset wants it scaled."""
    data = cell.preset.data
    return load_fold(
        data.dataset,
        cell.fold,
        root=root,
        normalise=None if data.normalise == "default" else data.normalise,
        one_document=data.one_document,
        askers=Askers(data.users or MOST_ACTIVE, data.without) if data.users or data.without else None,
    )


def _asked(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that users ask; DatasetError for a fold that does not have them."""
    data = cell.preset.data
    asked = fold.train if data.learn_from == "train" else fold.validation
    if asked is None:
        raise DatasetError(f"data.learn_from: fold {fold.number} of {data.dataset} has no validation queries")
    return without_indifferent(asked) if data.indifferent == "drop" else asked


def _held_out(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that rankers are judged on."""
    return fold.test if cell.preset.data.evaluate_on == "test" else fold.train


def _ranker(choice: MethodChoice, n_features: int) -> Ranker:
    return Neural(n_features, choice.hidden) if choice.ranker == "neural" else make_ranker(choice.ranker, n_features)


def method_of(cell: Cell, ranker: Ranker, *, production: Sequence[float] = ()) -> Method[Any, Any]:
    """The method of a cell, with what other tables of the preset decide for it; FoltrError for what does not fit."""
    choice, settings = cell.method, dict(cell.method.settings)
    if choice.name not in METHODS:
        known = ", ".join([*METHODS, *LABEL_RANKERS, *TREES, *MEASUREMENTS])
        raise PresetError(f"method.name: there is no method {choice.name!r}; there are {known}")
    fields = settings_type(choice.name).__struct_fields__
    for key, value in cell.preset.federation.joining.items():
        if key not in fields:
            raise PresetError(f"federation.{key}: the server of {choice.name} has no choice of it")
        settings[key] = value
    if cell.preset.users.logging_share > 0:
        if "production" not in fields:
            raise PresetError(f"users.logging_share: {choice.name} shows the pages of what it learns")
        settings["production"] = list(production)
    return make_method(choice.name, ranker, settings)


def _measurement(cell: Cell) -> Measurement:
    return decode_table(cell.method.settings, MEASUREMENTS[cell.method.name], source="preset", at="method")


def _integer(sequence: np.random.SeedSequence) -> int:
    """128 bits of a sequence as the whole number that `make_streams` takes."""
    high, low = sequence.generate_state(2, np.uint64)
    return int(high) << 64 | int(low)
