"""One cell, run: a fold is loaded, users are drawn, the rounds go by, rows of results come out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import FoltrError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.guard.verdict import GuardState, RunningSums
from foltr.federated.method import Method
from foltr.ranking.rankers import Ranker
from simulation.acceptance import AcceptingRounds
from simulation.aliased import aliased_round
from simulation.batched import compile_clock
from simulation.batched.rounds import fast_play
from simulation.cell import Cell
from simulation.cell_parts import asked, fold_of, held_out, judged_as, measurement_of, method_of, ranker_of
from simulation.correlated import CorrelatedRounds, epsilon_spent
from simulation.data.queries import Fold, select
from simulation.engines import Advanced, CellFailed, Compiled, Event, Finished, Reported, Started
from simulation.evaluation import Judged
from simulation.federation import Play, Population, repeated, run_round
from simulation.label_rankers import label_ranker, learned_scorer, learns_from_labels
from simulation.leavers import n_leavers, rounds_together, unlearning_of
from simulation.logging_policy import logging_policy
from simulation.measurements import MEASUREMENTS
from simulation.measuring import Ground
from simulation.merging.two_owners import two_owners
from simulation.pace import TELL_SECONDS, next_at_once
from simulation.participants import participants, shares_of
from simulation.row_making import RowMaker
from simulation.sightings import Sightings
from simulation.streams import make_streams
from simulation.tally import Tally
from simulation.unlearning.past import Past, learn_together
from simulation.unlearning.settings import UnlearningSettings


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


@dataclass(frozen=True, slots=True)
class Trial:
    """A cell with everything it needs to run."""

    cell: Cell
    fold: Fold
    ranker: Ranker
    population: Population
    rows: RowMaker

    @classmethod
    def prepared(cls, cell: Cell, fold: Fold) -> Trial:
        """The cell's ranker, clients and held-out queries, on the data of one fold."""
        data = cell.preset.data
        fold = replace(fold, train=asked(cell, fold))
        ranker, population = ranker_of(cell.method, fold.train.n_features), participants(cell, fold)
        queries = held_out(cell, fold)
        shares = shares_of(cell, data.evaluate_clients_on, queries, at="data.evaluate_clients_on")
        by_clients = tuple(judged_as(data, share) for share in shares)
        rows = RowMaker(cell, ranker, population, judged_as(data, queries), by_clients)
        return cls(cell, fold, ranker, population, rows)

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
        rounds = self.cell.preset.federation.rounds
        ground = Ground(self.fold, self.ranker, self.population, self.rows.judged, rng, rounds)
        started = time.perf_counter()
        for found in measurement_of(self.cell).measure(ground):
            row = self.rows.of(
                round=found.step,
                interactions=found.interactions,
                seconds=time.perf_counter() - started,
                fixed=rng.bit_generator.state == untouched,
                **found.metrics,
            )
            yield Reported(self.cell.id, row)

    def _label_ranker(self) -> Iterator[Event]:
        """A baseline that is trained on the labels: one row."""
        started = time.perf_counter()
        rng = np.random.default_rng(self.cell.sequence())
        untouched = rng.bit_generator.state
        told = self.fold.validation if self.cell.preset.data.learn_from == "train" else None
        scorer = learned_scorer(label_ranker(self.cell.method), self.fold.train, rng, told)
        seconds, fixed = time.perf_counter() - started, rng.bit_generator.state == untouched
        yield Reported(self.cell.id, self.rows.of_scores(scorer, seconds=seconds, fixed=fixed))

    def _rounds(self) -> Iterator[Event]:
        """An online method: round after round."""
        federation = self.cell.preset.federation
        streams = make_streams(_integer(self.cell.sequence()), self.population.n_clients)
        method = method_of(self.cell, self.ranker, production=self._production())
        model = method.initial(streams.model)
        population = self._with_memory(model.theta)
        if isinstance(method, FPDGD) and method.guard:
            account = RunningSums.none(population.n_clients, method.n_sent)
            model = replace(model, guard=GuardState(sums=account))
            population = replace(population, sightings=Sightings(population.n_clients, population.n_malicious))
        play = self._play(method)
        tally, seconds, done, at_once, told = Tally(), 0.0, 0, 1, time.monotonic()
        first = self.rows.of_ranker(model.theta, tally, round_number=0, seconds=seconds, personal=population.personal)
        yield Reported(self.cell.id, first)
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
                row = self.rows.of_ranker(
                    model.theta,
                    tally,
                    round_number=done,
                    seconds=seconds,
                    personal=population.personal,
                    sightings=population.sightings,
                    epsilon=epsilon_spent(method, federation.correlation, n_rounds=federation.rounds, so_far=done),
                    last=done == federation.rounds,
                )
                yield Reported(self.cell.id, row)
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
        together = rounds_together(self.cell)
        last = way.rounds(together)
        interval = last if way.level else federation.evaluate_every or max(1, last // 20)
        method = cast(FPDGD, method_of(self.cell, self.ranker))
        learning = learn_together(
            method,
            self.population,
            make_streams(_integer(self.cell.sequence()), n_clients),
            play=fast_play(method),
            fresh=make_streams(_integer(apart), n_clients),
            n_leaving=n_leavers(self.cell),
            together=together,
            kept=way.kept(together),
            interval=interval,
        )
        past, theirs = (yield from self._told(learning)), self._judged_by_leavers()
        number, tally, seconds, started = -1, Tally(), 0.0, time.perf_counter()
        for step in way.forget(past):
            seconds, number = seconds + time.perf_counter() - started, number + step.n_rounds
            for shown in step.shown:
                tally.add(shown)
            if number == last or (number % interval == 0 and not way.level):
                theta, final = step.model.theta, number == last
                row = msgspec.structs.replace(
                    self.rows.of_ranker(theta, tally, round_number=number, seconds=seconds, last=final),
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
        return judged_as(
            self.cell.preset.data, select(self.population.data, np.arange(first, self.population.data.n_queries))
        )

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


def _integer(sequence: np.random.SeedSequence) -> int:
    """128 bits of a sequence as the whole number that `make_streams` takes."""
    high, low = sequence.generate_state(2, np.uint64)
    return int(high) << 64 | int(low)
