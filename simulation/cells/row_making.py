"""Rows of results of one cell: how good its ranker is after a round, and what its users saw since the last row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct, field

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Ranker
from simulation.cells.cell import Cell
from simulation.cells.evaluation import Evaluation, Judged
from simulation.cells.parts import method_of
from simulation.labels.label_rankers import Scorer
from simulation.rounds.federation import Population, Shown, Sightings
from simulation.run_folder import DISCOUNT, WORST_ROUNDS, Row, Setting

WORKED_OUT = ("epsilon", "auc_proven", "mu")
"""metrics computed with the C library's functions: given to ten digits, which are the same with every library"""


class Tally(Struct):
    """Adds up rounds."""

    interactions: int = 0
    cumulative_ndcg: float = 0.0
    """sum over rounds t of (mean nDCG of the round) * gamma^(t - 1) (thesis Eq. 2.1)"""
    worst_ndcg: float | None = None
    """the lowest mean of the rounds' mean nDCG over WORST_ROUNDS in a row; None before there are so many"""
    _weight: float = 1.0
    _sums: deque[float] = field(default_factory=lambda: deque([0.0], maxlen=WORST_ROUNDS + 1))
    """of the rounds' mean nDCG up to each of the last rounds"""
    _shown: Shown = field(default_factory=Shown)

    def add(self, shown: Shown) -> None:
        self._shown = Shown.total([self._shown, shown])
        self.interactions += shown.interactions
        mean = shown.ndcg / max(shown.interactions, 1)
        self.cumulative_ndcg += self._weight * mean
        self._weight *= DISCOUNT
        if shown.interactions:
            self._sums.append(self._sums[-1] + mean)
        if len(self._sums) > WORST_ROUNDS:
            last = (self._sums[-1] - self._sums[0]) / WORST_ROUNDS
            self.worst_ndcg = last if self.worst_ndcg is None else min(last, self.worst_ndcg)

    def since_last_row(self) -> dict[str, float]:
        """The means since the last call, by their names in a row; {} when nobody saw anything."""
        shown, self._shown = self._shown, Shown()
        seen = {"online_ndcg": shown.ndcg, "online_mrr": shown.reciprocal_rank, "online_max_rr": shown.max_rr}
        return {name: value / shown.interactions for name, value in seen.items()} if shown.interactions else {}


class RowMaker(Struct, frozen=True, eq=False):
    """Makes the rows of a cell."""

    cell: Cell
    ranker: Ranker
    population: Population
    judged: Judged
    """the held-out queries, or those that [data] evaluate_on names"""
    judged_by_clients: tuple[Judged, ...] = ()
    """the same as every client sees them, where [data] evaluate_clients_on says how"""

    def of_ranker(
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
    ) -> Row:
        """The state of the cell after a round: its common ranker `[n_params]`, the devices' `[n_clients, n_params]`.

        The last one has the values of single queries. What stays on the devices is in the common ranker as the mean of
        theirs, which no server would know.
        """
        if personal is not None and self.cell.preset.federation.tested is None:
            theta = cast(FPDGD, method_of(self.cell, self.ranker)).with_personal(theta, personal.mean(axis=0))
        offline = self.judged.evaluate(self.ranker, theta, users=self.population.honest)
        return self.of_ranking(
            offline,
            tally,
            round_number=round_number,
            seconds=seconds,
            last=last,
            offline_ndcg_clients=self._on_shares([theta] * len(self.judged_by_clients)),
            offline_ndcg_personal=None if personal is None else self._personal_ndcg(personal),
            epsilon=epsilon,
            **(sightings.since_last_row() if sightings else {}),
        )

    def of_scores(self, scorer: Scorer, **measured: Any) -> Row:
        """The only row of a ranker that was learned from labels."""
        offline = self.judged.evaluate_scores(scorer(self.judged.queries), users=self.population.honest)
        shares = mean_ndcg([one.evaluate_scores(scorer(one.queries)) for one in self.judged_by_clients])
        return self.of_ranking(offline, Tally(), offline_ndcg_clients=shares, last=True, **measured)

    def of_ranking(
        self, offline: Evaluation, tally: Tally, *, last: bool, round_number: int = 0, **measured: Any
    ) -> Row:
        """A row of what every cell tells, and of what else was `measured`, by the names that a row has for it."""
        return row_of(
            self.cell,
            {},
            round=round_number,
            interactions=tally.interactions,
            **offline.metrics,
            **tally.since_last_row(),
            cumulative_ndcg=tally.cumulative_ndcg if tally.interactions else None,
            worst_ndcg=tally.worst_ndcg,
            query_ndcg=offline.query_ndcg if last and self._judged_once else None,
            **measured,
        )

    def _on_shares(self, thetas: Iterable[FloatVector]) -> float | None:
        """The mean over clients of what a ranker `[n_params]` for each is worth on its share; None without shares."""
        pairs = zip(self.judged_by_clients, thetas, strict=False)
        return mean_ndcg([one.evaluate(self.ranker, theta) for one, theta in pairs])

    def _personal_ndcg(self, personal: FloatMatrix) -> float | None:
        """What the clients' own rankers `[n_clients, n_params]` are worth; of the honest ones where they test others'.

        Where nobody's share is judged, those who keep a whole ranker are judged by the held-out queries of all.
        """
        if self.cell.preset.federation.tested is None or self.judged_by_clients:
            return self._on_shares(personal)
        honest = personal[: self.population.n_clients - self.population.n_malicious]
        return mean_ndcg([self.judged.evaluate(self.ranker, theta) for theta in honest])

    @property
    def _judged_once(self) -> bool:
        """Whether no other fold of the study judges the same queries: they may be counted as so many."""
        data = self.cell.preset.data
        return data.evaluate_on == "test" or data.folds == (self.cell.fold,)


def row_of(cell: Cell, besides: Mapping[str, Setting], /, **measured: Any) -> Row:
    """A row of the cell with these values, by the names that a row has for them; `besides` are settings of its own."""
    worked_out = {name: float(f"{measured[name]:.10g}") for name in WORKED_OUT if measured.get(name) is not None}
    return Row(
        cell=cell.id, settings={**cell.settings, **besides}, fold=cell.fold, seed=cell.seed, **measured | worked_out
    )


def mean_ndcg(evaluations: Sequence[Evaluation]) -> float | None:
    """The mean nDCG of several rankings that each have a query that counts; None of none."""
    counted = [each.ndcg for each in evaluations if each.n_queries]
    return float(np.mean(counted)) if counted else None
