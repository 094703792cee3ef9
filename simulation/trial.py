"""One cell, run: a fold is loaded, users are drawn, the rounds go by, rows of results come out.

A row tells what the users saw: means since the last row, and a discounted sum over all rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
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
from simulation.batched.rounds import fast_round
from simulation.cell import Cell, MethodChoice
from simulation.correlated import CorrelatedRounds, check_correlated, epsilon_spent
from simulation.data.datasets import DATASETS, MOST_ACTIVE, Askers, load_fold
from simulation.data.queries import Fold, QuerySet
from simulation.engines import Advanced, CellFailed, Event, Finished, Reported, Started
from simulation.errors import DatasetError, PresetError
from simulation.evaluation import Judged, judge
from simulation.federation import Population, Round, Shown, run_round
from simulation.label_rankers import LABEL_RANKERS
from simulation.logging_policy import logging_policy, without_indifferent
from simulation.measurements import MEASUREMENTS
from simulation.measuring import Ground, Measurement
from simulation.participants import attack_of, participants, shares_of, size
from simulation.preset import decode_table
from simulation.results import Row
from simulation.streams import make_streams

DISCOUNT = 0.9995
"""gamma of the cumulative online nDCG (thesis Eq. 2.1): what each round counts less than the one before it"""

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
        data = cell.preset.data
        fold = load_fold(
            data.dataset,
            cell.fold,
            root=root,
            normalise=None if data.normalise == "default" else data.normalise,
            one_document=data.one_document,
            askers=Askers(data.users or MOST_ACTIVE, data.without) if data.users or data.without else None,
        )
        yield from Trial.prepared(cell, fold).events()
    except FoltrError as error:
        yield CellFailed(cell.id, " ".join(str(error).split()))
    except Exception as error:
        yield CellFailed(cell.id, f"unexpected {type(error).__name__}: {' '.join(str(error).split())}")
    else:
        yield Finished(cell.id, time.perf_counter() - started)


def check_method(cell: Cell) -> None:
    """Find out before anything runs whether ranker, method and settings fit; FoltrError when they do not."""
    info = DATASETS.get(cell.preset.data.dataset)
    ranker = _ranker(cell.method, info.n_features if info else 2)
    if cell.method.name in LABEL_RANKERS:
        if cell.method.ranker != "linear":
            raise PresetError(f"method.ranker: {cell.method.name} learns a linear ranker, not {cell.method.ranker!r}")
        _label_ranker(cell)
    elif cell.method.name in MEASUREMENTS:
        _measurement(cell)
    else:
        method = method_of(cell, ranker)
        if cell.preset.federation.correlation is not None:
            check_correlated(method)
        if cell.preset.federation.in_order and not isinstance(method, FPDGD):
            raise PresetError(
                f"federation.in_order: clients of fpdgd can run out of queries, those of {cell.method.name} cannot"
            )
        size(cell)
        attack_of(cell)


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
        held_out = fold.test if data.evaluate_on == "test" else fold.train
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
        name = self.cell.method.name
        if name in MEASUREMENTS:
            return self._measured()
        return self._label_ranker() if name in LABEL_RANKERS else self._rounds()

    def _measured(self) -> Iterator[Event]:
        """What is measured without an online method."""
        rng = np.random.default_rng(self.cell.sequence())
        ground = Ground(self.fold, self.ranker, self.population, self.judged, rng)
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
            )
            yield Reported(self.cell.id, msgspec.structs.replace(row, **found.metrics))

    def _label_ranker(self) -> Iterator[Event]:
        """A baseline that is trained on the labels: one row."""
        started = time.perf_counter()
        theta = _label_ranker(self.cell).fit(self.fold.train, np.random.default_rng(self.cell.sequence()))
        yield self._row(theta, Tally(), round_number=0, seconds=time.perf_counter() - started, last=True)

    def _rounds(self) -> Iterator[Event]:
        """An online method: round after round."""
        federation = self.cell.preset.federation
        streams = make_streams(_integer(self.cell.sequence()), self.population.n_clients)
        method = method_of(self.cell, self.ranker, production=self._production())
        model = method.initial(streams.model)
        population = self._with_memory(model.theta)
        play = self._round(method)
        tally, seconds, told = Tally(), 0.0, time.monotonic()
        yield self._row(model.theta, tally, round_number=0, seconds=seconds, personal=population.personal)
        for round_number in range(1, federation.rounds + 1):
            started = time.perf_counter()
            model, shown = play(method, model, population, streams)
            seconds += time.perf_counter() - started
            tally.add(shown)
            if round_number % federation.interval == 0 or round_number == federation.rounds:
                yield self._row(
                    model.theta,
                    tally,
                    round_number=round_number,
                    seconds=seconds,
                    personal=population.personal,
                    epsilon=epsilon_spent(
                        method, federation.correlation, n_rounds=federation.rounds, so_far=round_number
                    ),
                    last=round_number == federation.rounds,
                )
            elif time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                yield Advanced(self.cell.id, round_number)

    def _round(self, method: Method[Any, Any]) -> Round:
        """How a round of the cell is played."""
        federation = self.cell.preset.federation
        if federation.correlation is not None:
            return CorrelatedRounds(federation.correlation, federation.rounds)
        return run_round if federation.in_order else fast_round(method)

    def _production(self) -> tuple[float, ...]:
        """theta of the ranker that shows the pages, where that is another than the one being learned; else ()."""
        share = self.cell.preset.users.logging_share
        if share == 0:
            return ()
        rng = np.random.default_rng(self.cell.sequence().spawn(2)[1])
        return tuple(logging_policy(self.fold.train, rng, share=share).tolist())

    def _with_memory(self, theta: FloatVector) -> Population:
        """The population, every device with the first ranker `[n_params]` where it keeps some of it."""
        if not self.cell.method.settings.get("personal"):
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
        epsilon: float | None = None,
        last: bool = False,
    ) -> Reported:
        """The state of the cell after a round: its common ranker `[n_params]`, the devices' `[n_clients, n_params]`.

        The last one has the values of single queries. What stays on the devices is in the common ranker as the mean of
        theirs, which no server would know.
        """
        if personal is not None:
            theta = cast(FPDGD, method_of(self.cell, self.ranker)).with_personal(theta, personal.mean(axis=0))
        offline = self.judged.evaluate(self.ranker, theta, users=self.population.users)
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
                offline_ndcg_clients=self._mean_ndcg([theta] * len(self.judged_by_clients)),
                offline_ndcg_personal=None if personal is None else self._mean_ndcg(personal),
                online_ndcg=online.ndcg if online else None,
                online_mrr=online.mrr if online else None,
                online_max_rr=online.max_rr if online else None,
                cumulative_ndcg=tally.cumulative_ndcg if tally.interactions else None,
                epsilon=epsilon,
                seconds=seconds,
                query_ndcg=_rounded(offline.each.ndcg) if last and self._judged_once else None,
            ),
        )

    def _mean_ndcg(self, thetas: Iterable[FloatVector]) -> float | None:
        """The mean over clients of what a ranker `[n_params]` for each is worth on its share; None without shares."""
        pairs = list(zip(self.judged_by_clients, thetas, strict=False))
        return float(np.mean([one.evaluate(self.ranker, theta).ndcg for one, theta in pairs])) if pairs else None

    @property
    def _judged_once(self) -> bool:
        """Whether no other fold of the study judges the same queries: they may be counted as so many."""
        data = self.cell.preset.data
        return data.evaluate_on == "test" or data.folds == (self.cell.fold,)


def _rounded(values: FloatVector) -> tuple[float, ...]:
    """To six digits: enough for any test, and a third of the length."""
    return tuple(np.round(values, 6).tolist())


def _judge(cell: Cell, queries: QuerySet) -> Judged:
    data = cell.preset.data
    return judge(queries, k=data.k, no_relevant=data.no_relevant, ties=data.ties)


def _asked(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that users ask; DatasetError for a fold that does not have them."""
    data = cell.preset.data
    asked = fold.train if data.learn_from == "train" else fold.validation
    if asked is None:
        raise DatasetError(f"data.learn_from: fold {fold.number} of {data.dataset} has no validation queries")
    return without_indifferent(asked) if data.indifferent == "drop" else asked


def _ranker(choice: MethodChoice, n_features: int) -> Ranker:
    return Neural(n_features, choice.hidden) if choice.ranker == "neural" else make_ranker(choice.ranker, n_features)


def method_of(cell: Cell, ranker: Ranker, *, production: Sequence[float] = ()) -> Method[Any, Any]:
    """The method of a cell, with what other tables of the preset decide for it; FoltrError for what does not fit."""
    choice, settings = cell.method, dict(cell.method.settings)
    if choice.name not in METHODS:
        known = ", ".join([*METHODS, *LABEL_RANKERS, *MEASUREMENTS])
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


def _label_ranker(cell: Cell) -> Any:
    choice = cell.method
    try:
        return LABEL_RANKERS[choice.name](**choice.settings)
    except TypeError as error:
        raise PresetError(f"settings of {choice.name}: {error}") from error


def _measurement(cell: Cell) -> Measurement:
    return decode_table(cell.method.settings, MEASUREMENTS[cell.method.name], source="preset", at="method")


def _integer(sequence: np.random.SeedSequence) -> int:
    """128 bits of a sequence as the whole number that `make_streams` takes."""
    high, low = sequence.generate_state(2, np.uint64)
    return int(high) << 64 | int(low)
