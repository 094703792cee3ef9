"""One cell, run: a fold is loaded, users are drawn, the rounds go by, rows of results come out."""

from __future__ import annotations

import platform
import random
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import msgspec
import numpy as np
from numba.core.event import TimingListener, install_listener

from foltr.arithmetic import length
from foltr.errors import FoltrError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.guard import GuardState, RunningSums
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Ranker
from simulation.batched.random_numbers import seed_compiled
from simulation.cells import parts
from simulation.cells.cell import Cell
from simulation.cells.evaluation import Judged
from simulation.cells.row_making import RowMaker, Tally, row_of
from simulation.data.datasets import fold_digests
from simulation.data.queries import Fold, select
from simulation.engines import Advanced, CellFailed, Compiled, Event, Finished, Reported, Started
from simulation.environment import build, difference
from simulation.errors import SimulationError
from simulation.extensions import load_anew, placed
from simulation.labels.label_rankers import label_ranker, learned_scorer
from simulation.labels.logging_policy import logging_policy
from simulation.merging.two_owners import two_owners
from simulation.rounds.federation import TELL_SECONDS, Population, Running, Sightings
from simulation.rounds.round_kinds import fast_play, play_of
from simulation.rounds.round_privacy import epsilon_spent
from simulation.rounds.streams import cell_streams
from simulation.studies import Ground
from simulation.studies.registry import MEASUREMENTS
from simulation.unlearning.past import Past, UnlearningSettings, learn_together

_T = TypeVar("_T")


class Circumstances(msgspec.Struct, frozen=True):
    """What must be the same wherever cells of one run are: machines of a cluster may differ."""

    build: dict[str, str]
    """as simulation.environment.build has it"""
    data: dict[str, str]
    """digests by file, as simulation.data.datasets.fold_digests has them"""

    def check(self, cell: Cell, fold: Fold, root: Path | None) -> None:
        """SimulationError names what differs here, if rows would differ by it."""
        other = difference(self.build, build())
        if not other and self.data:
            here = fold_digests(cell.preset.data.dataset, fold, root)
            other = difference({name: self.data[name] for name in here if name in self.data}, here)
        if other:
            raise SimulationError(f"{platform.node()} is not like the machine of the study: {other}")


def cell_events(cell: Cell, *, root: Path | None, alike: Circumstances | None = None) -> Iterator[Event]:
    """Everything that happens to one cell; an error ends it with Failed and nothing is raised.

    It is an error if build or data are not as in `alike`.
    """
    yield Started(cell.id)
    started = time.perf_counter()
    try:
        with brought_along(cell), compile_clock() as compiled:
            yield from _events(cell, root, compiled, alike)
    except FoltrError as error:
        yield CellFailed(cell.id, " ".join(str(error).split()))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}, line {frame.lineno}"
        yield CellFailed(cell.id, f"unexpected {type(error).__name__} in {place}: {' '.join(str(error).split())}")
    else:
        yield Finished(cell.id, time.perf_counter() - started)


@contextmanager
def brought_along(cell: Cell) -> Iterator[None]:
    """What a file brings to a cell knows of no other cell, and draws as the cell's seed says, from whatever generator.

    Afterwards the random numbers of numpy and Python are where they were.
    """
    if not cell.preset.with_:
        yield
        return
    load_anew(cell.preset.with_)
    before, seed = (random.getstate(), np.random.get_state()), int(cell.sequence().generate_state(1)[0])
    for sow in (random.seed, np.random.seed, seed_compiled):
        sow(seed)
    try:
        with placed():
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


@contextmanager
def compile_clock() -> Iterator[Callable[[], float]]:
    """A function that tells for how many seconds this process has compiled since it was last asked.

    What is read from the cache is not compiled. It counts from the beginning of the context to its end.
    """
    listener, told = TimingListener(), 0.0  # type: ignore[no-untyped-call]

    def taken() -> float:
        nonlocal told
        before, told = told, listener.duration if listener.done else 0.0
        return told - before

    with install_listener("numba:compile", listener):
        yield taken


def _events(
    cell: Cell, root: Path | None, compiled: Callable[[], float], alike: Circumstances | None
) -> Iterator[Event]:
    """What a trial of the cell reports, behind what was compiled for it."""
    fold = parts.fold_of(cell, root)
    if alike is not None:
        alike.check(cell, fold, root)
    for event in _reports(cell, fold, root):
        if (seconds := compiled()) > 0:
            yield Compiled(cell.id, seconds)
        yield event


def _reports(cell: Cell, fold: Fold, root: Path | None) -> Iterator[Event]:
    """What two owners or a trial report."""
    merging = cell.preset.merging
    return two_owners(cell, merging, fold, root=root).events() if merging else Trial.prepared(cell, fold).events()


class Trial(msgspec.Struct, frozen=True):
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
        fold = msgspec.structs.replace(fold, train=parts.asked(cell, fold))
        ranker, population = parts.ranker_of(cell.method, fold.train.n_features), parts.participants(cell, fold)
        queries = parts.held_out(cell, fold)
        shares = parts.shares_of(cell, data.evaluate_clients_on, queries, at="data.evaluate_clients_on")
        by_clients = tuple(parts.judged_as(data, share) for share in shares)
        rows = RowMaker(cell, ranker, population, parts.judged_as(data, queries), by_clients)
        return cls(cell, fold, ranker, population, rows)

    def events(self) -> Iterator[Event]:
        """Rows as they come: round 0, every so many rounds, and the last."""
        if self.cell.method.name in MEASUREMENTS:
            return self._measured()
        if self.cell.method.learns_from_labels:
            return self._label_ranker()
        way = parts.unlearning_of(self.cell)
        return self._forgetting(way) if way else self._rounds()

    def _measured(self) -> Iterator[Event]:
        """What is measured without an online method."""
        rng = np.random.default_rng(self.cell.sequence())
        untouched = rng.bit_generator.state
        rounds = self.cell.preset.federation.rounds
        ground = Ground(self.fold, self.ranker, self.population, self.rows.judged, rng, rounds)
        started = time.perf_counter()
        for found in parts.measurement_of(self.cell).measure(ground):
            row = row_of(
                self.cell,
                {},
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
        federation, running, tally = self.cell.preset.federation, self._begun(), Tally()
        yield self._reported(running, tally)
        for end in (*range(federation.interval, federation.rounds, federation.interval), federation.rounds):
            yield from self._told(running.until(end, tally.add))
            yield self._reported(running, tally)

    def _begun(self) -> Running:
        """The method before its first round."""
        streams = cell_streams(self.cell.sequence(), self.population.n_clients)
        method = parts.method_of(self.cell, self.ranker, production=self._production())
        model, population = method.initial(streams.model), self.population
        if self.cell.method.settings.get("personal") or self.cell.preset.federation.tested is not None:
            population = msgspec.structs.replace(population, personal=np.tile(model.theta, (population.n_clients, 1)))
        if isinstance(method, FPDGD) and method.guard:
            account = RunningSums.none(population.n_clients, method.n_sent)
            model = replace(model, guard=GuardState(sums=account))
            population = msgspec.structs.replace(
                population, sightings=Sightings(population.n_clients, population.n_malicious)
            )
        return Running(method, model, population, streams, play_of(self.cell.preset.federation, method))

    def _reported(self, running: Running, tally: Tally) -> Reported:
        """The row after the rounds that are over."""
        federation, population, done = self.cell.preset.federation, running.population, running.done
        noisy = done and isinstance(getattr(running.method, "privacy", None), Gaussian)
        row = self.rows.of_ranker(
            running.model.theta,
            tally,
            round_number=done,
            seconds=running.seconds,
            personal=population.personal,
            sightings=population.sightings,
            epsilon=epsilon_spent(
                running.method,
                federation.correlation,
                n_rounds=federation.rounds,
                so_far=done,
                n_honest=population.n_clients - population.n_malicious,
                exchanged=federation.tested is not None,
            )
            if noisy
            else None,
            last=done == federation.rounds,
        )
        return Reported(self.cell.id, row)

    def _forgetting(self, way: UnlearningSettings) -> Iterator[Event]:
        """An online method without rows, then how some of its clients are forgotten, with rows."""
        last = way.rounds(parts.rounds_together(self.cell))
        interval = last if way.level else self.cell.preset.federation.evaluate_every or max(1, last // 20)
        past, theirs = (yield from self._told(self._learning(way, interval))), self._judged_by_leavers()
        number, tally, seconds, started = -1, Tally(), 0.0, time.perf_counter()
        for step in way.forget(past):
            seconds, number = seconds + time.perf_counter() - started, number + step.n_rounds
            for shown in step.shown:
                tally.add(shown)
            if number == last or (number % interval == 0 and not way.level):
                theta, final = step.model.theta, number == last
                row = msgspec.structs.replace(
                    self.rows.of_ranker(theta, tally, round_number=number, seconds=seconds, last=final),
                    unlearning_distance=length(theta - past.now.model.theta),
                    unlearning_ndcg=theirs.evaluate(self.ranker, theta).ndcg if theirs else None,
                    unlearning_stretch=step.stretch,
                )
                yield Reported(self.cell.id, row)
            started = time.perf_counter()

    def _learning(self, way: UnlearningSettings, interval: int) -> Generator[int, None, Past]:
        """The rounds before anybody is forgotten."""
        n_clients, together = self.population.n_clients, parts.rounds_together(self.cell)
        method = cast(FPDGD, parts.method_of(self.cell, self.ranker))
        return learn_together(
            method,
            self.population,
            cell_streams(self.cell.sequence(), n_clients),
            play=fast_play(method),
            fresh=cell_streams(self.cell.sequence().spawn(4)[3], n_clients),
            n_leaving=parts.n_leavers(self.cell),
            together=together,
            kept=way.kept(together),
            interval=interval,
        )

    def _judged_by_leavers(self) -> Judged | None:
        """The queries of those who are forgotten, by their labels; None where all draw from the same."""
        if self.population.holds is None:
            return None
        first = int(self.population.holds[-parts.n_leavers(self.cell), 0])
        return parts.judged_as(
            self.cell.preset.data, select(self.population.data, np.arange(first, self.population.data.n_queries))
        )

    def _told(self, learning: Generator[int, None, _T]) -> Generator[Event, None, _T]:
        """Report now and then how far learning is; returns what it returns."""
        told = time.monotonic()
        while True:
            try:
                number = next(learning)
            except StopIteration as done:
                return cast(_T, done.value)
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
