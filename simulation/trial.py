"""One cell, run: a fold is loaded, users are drawn, the rounds go by, rows of results come out.

A row tells what the users saw: means since the last row, and a discounted sum over all rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import FoltrError
from foltr.federated.method import Method
from foltr.federated.registry import METHODS, make_method, settings_type
from foltr.ranking.rankers import Neural, Ranker, make_ranker
from simulation.batched.rounds import fast_round
from simulation.cell import Cell, MethodChoice
from simulation.click_models import Users, make_users
from simulation.data.datasets import DATASETS, load_fold
from simulation.data.queries import Fold, QuerySet
from simulation.engines import Advanced, CellFailed, Event, Finished, Reported, Started
from simulation.errors import DatasetError, PresetError
from simulation.evaluation import Judged, judge
from simulation.federation import Population, Shown
from simulation.label_rankers import LABEL_RANKERS
from simulation.logging_policy import logging_policy, without_indifferent
from simulation.results import DISCOUNT, Row
from simulation.streams import make_streams

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


CENTRALISED = ("pdgd",)
"""methods without a federation: one learner sees the pages of all clients of a round, one after another"""

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
    else:
        method_of(cell, ranker)


@dataclass(frozen=True, slots=True)
class Trial:
    """A cell with everything it needs to run."""

    cell: Cell
    fold: Fold
    ranker: Ranker
    users: Users
    judged: Judged
    """the held-out queries, or those that [data] evaluate_on names"""
    n_clients: int
    n_local: int

    @classmethod
    def prepared(cls, cell: Cell, fold: Fold) -> Trial:
        """The cell's ranker, users and held-out queries, on the data of one fold."""
        data, federation = cell.preset.data, cell.preset.federation
        n_clients, n_local = federation.clients, federation.local
        if cell.method.name in CENTRALISED:
            n_clients, n_local = 1, n_clients * n_local
        fold = replace(fold, train=_asked(cell, fold))
        users = _users(cell, fold, n_clients)
        judged = judge(
            fold.test if data.evaluate_on == "test" else fold.train,
            k=data.k,
            no_relevant=data.no_relevant,
            ties=data.ties,
        )
        return cls(cell, fold, _ranker(cell.method, fold.train.n_features), users, judged, n_clients, n_local)

    def events(self) -> Iterator[Event]:
        """Rows as they come: round 0, every so many rounds, and the last."""
        return self._label_ranker() if self.cell.method.name in LABEL_RANKERS else self._rounds()

    def _label_ranker(self) -> Iterator[Event]:
        """A baseline that is trained on the labels: one row."""
        started = time.perf_counter()
        theta = _label_ranker(self.cell).fit(self.fold.train, np.random.default_rng(self.cell.sequence()))
        yield self._row(theta, Tally(), round_number=0, seconds=time.perf_counter() - started, last=True)

    def _rounds(self) -> Iterator[Event]:
        """An online method: round after round."""
        federation = self.cell.preset.federation
        streams = make_streams(_integer(self.cell.sequence()), self.n_clients)
        method = method_of(self.cell, self.ranker, production=self._production())
        population = Population(self.fold.train, self.users, self.n_clients, self.n_local)
        play = fast_round(method)
        model = method.initial(streams.model)
        tally, seconds, told = Tally(), 0.0, time.monotonic()
        yield self._row(model.theta, tally, round_number=0, seconds=seconds)
        for round_number in range(1, federation.rounds + 1):
            started = time.perf_counter()
            model, shown = play(method, model, population, streams)
            seconds += time.perf_counter() - started
            tally.add(shown)
            if round_number % federation.interval == 0 or round_number == federation.rounds:
                last = round_number == federation.rounds
                yield self._row(model.theta, tally, round_number=round_number, seconds=seconds, last=last)
            elif time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                yield Advanced(self.cell.id, round_number)

    def _production(self) -> tuple[float, ...]:
        """theta of the ranker that shows the pages, where that is another than the one being learned; else ()."""
        share = self.cell.preset.users.logging_share
        if share == 0:
            return ()
        rng = np.random.default_rng(self.cell.sequence().spawn(2)[1])
        return tuple(logging_policy(self.fold.train, rng, share=share).tolist())

    def _row(self, theta: Any, tally: Tally, *, round_number: int, seconds: float, last: bool = False) -> Reported:
        """The state of the cell after a round; the last one has the values of single queries."""
        offline = self.judged.evaluate(self.ranker, theta, users=self.users)
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
                seconds=seconds,
                query_ndcg=_rounded(offline.each.ndcg) if last and self._judged_once else None,
            ),
        )

    @property
    def _judged_once(self) -> bool:
        """Whether no other fold of the study judges the same queries: they may be counted as so many."""
        data = self.cell.preset.data
        return data.evaluate_on == "test" or data.folds == (self.cell.fold,)


def _rounded(values: FloatVector) -> tuple[float, ...]:
    """To six digits: enough for any test, and a third of the length."""
    return tuple(np.round(values, 6).tolist())


def _asked(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that users ask; DatasetError for a fold that does not have them."""
    data = cell.preset.data
    asked = fold.train if data.learn_from == "train" else fold.validation
    if asked is None:
        raise DatasetError(f"data.learn_from: fold {fold.number} of {data.dataset} has no validation queries")
    return without_indifferent(asked) if data.indifferent == "drop" else asked


def _users(cell: Cell, fold: Fold, n_clients: int) -> Users:
    """The simulated users; with the click model's table for the grades of the data set."""
    table, info = cell.preset.users, DATASETS.get(cell.preset.data.dataset)
    top_grade = info.top_grade if info else max(1, int(fold.train.grades.max()), int(fold.test.grades.max()))
    return make_users(
        table.clicks,
        top_grade=top_grade,
        n_clients=n_clients,
        k=table.k,
        rng=np.random.default_rng(cell.sequence().spawn(1)[0]),
        eta=table.eta,
        spread=table.spread,
    )


def _ranker(choice: MethodChoice, n_features: int) -> Ranker:
    return Neural(n_features, choice.hidden) if choice.ranker == "neural" else make_ranker(choice.ranker, n_features)


def method_of(cell: Cell, ranker: Ranker, *, production: Sequence[float] = ()) -> Method[Any, Any]:
    """The method of a cell, with what other tables of the preset decide for it; FoltrError for what does not fit."""
    choice, settings = cell.method, dict(cell.method.settings)
    if choice.name not in METHODS:
        known = ", ".join([*METHODS, *LABEL_RANKERS])
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


def _integer(sequence: np.random.SeedSequence) -> int:
    """128 bits of a sequence as the whole number that `make_streams` takes."""
    high, low = sequence.generate_state(2, np.uint64)
    return int(high) << 64 | int(low)
