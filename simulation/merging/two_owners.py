"""One cell of a study of merging: two owners learn from their labels, their rankers are merged, rows come out.

    M1, M2, Mfull   learned from client 1's queries, client 2's, and all
    linear          (1 - alpha) M1 + alpha M2, alpha chosen on the client's D_merge
    stacked         learned from the client's D_merge with the scores of M1 and M2 as two more features
    D_merge         learned from the client's D_merge alone: what stacking must beat, which the paper does not show

A ranker that stops by validation queries has those of its client's kind, Mfull all. The stacked one has all as well,
unless D_merge is taken from them. An owner without any holds some of its own back (`simulation.labels.lambdamart`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs

from foltr.arrays import FloatVector, IntVector
from simulation.cells.cell import Cell
from simulation.cells.evaluation import Evaluation, Judged
from simulation.cells.parts import judged_as
from simulation.cells.preset import Merging, decode_tagged
from simulation.cells.row_making import row_of
from simulation.data.datasets import load_fold
from simulation.data.queries import Fold, QuerySet, select
from simulation.engines import Reported
from simulation.errors import DatasetError, PresetError
from simulation.labels.label_rankers import Scorer, label_ranker, learned_scorer
from simulation.labels.lambdamart import Trees
from simulation.labels.logging_policy import without_indifferent
from simulation.merging.splits import SPLITS, CategorySplit, Parted, Split, merge_sets
from simulation.run_folder import CURVE_KEY, Setting

ALPHAS: FloatVector = np.arange(101) / 100.0
"""of which a client takes that with the highest nDCG on its D_merge"""


def combined(alpha: float, first: FloatVector, second: FloatVector) -> FloatVector:
    """s(q, d) = (1 - alpha) s_1(q, d) + alpha s_2(q, d), `[n_docs]`: the higher alpha, the more the second counts.

    Raw scores (merging paper, 2024, Section 4, for two clients); those of one ranker untouched where alpha is 0 or 1. A
    device does the same with its group's ranker and its personal one (`app.learning.blend`): there alpha is chosen by
    what its user opened, not by labels.
    """
    if alpha in (0.0, 1.0):
        return second if alpha else first
    return (1.0 - alpha) * first + alpha * second


def alpha_curve(judged: Judged, first: FloatVector, second: FloatVector) -> list[Evaluation]:
    """How well each alpha of ALPHAS ranks the judged queries, given both rankers' scores of their documents."""
    return [judged.evaluate_scores(combined(float(alpha), first, second)) for alpha in ALPHAS]


def chosen_alpha(judged: Judged, first: FloatVector, second: FloatVector) -> float:
    """The alpha of ALPHAS with the highest nDCG on the judged queries; the smallest of equals, as on a device."""
    return float(ALPHAS[np.argmax([each.ndcg for each in alpha_curve(judged, first, second)])])


def with_scores(queries: QuerySet, *scorers: Scorer) -> QuerySet:
    """Stacking (Section 4): each scorer's scores as one more feature, behind the others in the order given."""
    scores = [scorer(queries).astype(np.float32) for scorer in scorers]
    return replace(queries, features=np.column_stack([queries.features, *scores]))


def check_merging(cell: Cell, merging: Merging) -> None:
    """Find out before anything runs whether split, method and data settings fit; FoltrError when they do not."""
    data = cell.preset.data
    if data.learn_from != "train" or data.evaluate_on != "test":
        raise PresetError("data.learn_from, data.evaluate_on: owners learn from train and are judged on test")
    if data.users or data.without:
        raise PresetError("data.users, data.without: owners have queries by merging.split, not by who asked")
    split = split_of(merging)
    if isinstance(split, CategorySplit) and split.feature == 0:
        raise PresetError("merging.split.feature: which of the features is the category? --set merging.split.feature=N")
    label_ranker(cell.method)


def split_of(merging: Merging) -> Split:
    """The split that [merging] asks for; PresetError names the key that is wrong."""
    return decode_tagged(merging.split, SPLITS, tag="kind", at="merging.split")


class Client(Struct, frozen=True, eq=False):
    """What one of the two owns."""

    train: QuerySet
    validation: QuerySet | None
    merge: QuerySet | None
    """D_merge; None where nothing is merged"""


class TwoOwners(Struct, frozen=True, eq=False):
    """A cell with everything it needs to run."""

    cell: Cell
    clients: tuple[Client, Client]
    train: QuerySet
    """of both and of nobody"""
    validation: QuerySet | None
    stacking_validation: QuerySet | None
    judged: Mapping[str, Judged]
    """by what [merging] judged_on calls them"""

    def events(self) -> Iterator[Reported]:
        """A row for each ranker on each set of test queries; for the linear combination also one for each alpha."""
        _, *sequences = self.cell.sequence().spawn(8)
        draws = [np.random.default_rng(sequence) for sequence in sequences]
        owners: list[Scorer] = []
        for name, client, rng in zip(("M1", "M2"), self.clients, draws, strict=False):
            scorer, seconds = self._learned(client.train, client.validation, rng)
            owners.append(scorer)
            yield from self._rows(scorer, {"ranker": name}, learned=client.train, seconds=seconds)
        scorer, seconds = self._learned(self.train, self.validation, draws[2])
        yield from self._rows(scorer, {"ranker": "Mfull"}, learned=self.train, seconds=seconds)
        for number, client in enumerate(self.clients, start=1):
            if client.merge is not None:
                yield from self._linear(owners, client.merge, number)
                yield from self._stacked("stacked", owners, client.merge, number, draws[2 + number])
                yield from self._stacked("D_merge", [], client.merge, number, draws[4 + number])
        if self.clients[0].merge is not None:
            yield from self._curve(owners)

    def _learned(self, train: QuerySet, validation: QuerySet | None, rng: np.random.Generator) -> tuple[Scorer, float]:
        """A ranker, and the seconds that it took to learn."""
        started = time.perf_counter()
        scorer = learned_scorer(label_ranker(self.cell.method), train, rng, validation)
        return scorer, time.perf_counter() - started

    def _linear(self, owners: list[Scorer], merge: QuerySet, client: int) -> Iterator[Reported]:
        started = time.perf_counter()
        first, second = (owner(merge) for owner in owners)
        alpha = chosen_alpha(judged_as(self.cell.preset.data, merge), first, second)
        seconds = time.perf_counter() - started

        def scorer(queries: QuerySet) -> FloatVector:
            return combined(alpha, owners[0](queries), owners[1](queries))

        named: dict[str, Setting] = {"ranker": "linear", "client": client}
        yield from self._rows(scorer, named, learned=merge, seconds=seconds, chosen_alpha=alpha)

    def _stacked(
        self, name: str, owners: list[Scorer], merge: QuerySet, client: int, rng: np.random.Generator
    ) -> Iterator[Reported]:
        """A ranker of D_merge that knows what the owners' rankers say, if any."""
        validation = self.stacking_validation
        told = None if validation is None else with_scores(validation, *owners)
        stacked, seconds = self._learned(with_scores(merge, *owners), told, rng)

        def scorer(queries: QuerySet) -> FloatVector:
            return stacked(with_scores(queries, *owners))

        share = float(stacked.importance[merge.n_features :].sum()) if isinstance(stacked, Trees) and owners else None
        named: dict[str, Setting] = {"ranker": name, "client": client}
        yield from self._rows(scorer, named, learned=merge, seconds=seconds, learned_score_share=share)

    def _curve(self, owners: list[Scorer]) -> Iterator[Reported]:
        """The test queries at every alpha, whatever a client chose."""
        for on, judged in self.judged.items():
            first, second = (owner(judged.queries) for owner in owners)
            for alpha, found in zip(ALPHAS.tolist(), alpha_curve(judged, first, second), strict=True):
                yield self._row(found, on, {"ranker": "linear", CURVE_KEY: alpha})

    def _rows(
        self, scorer: Scorer, settings: Mapping[str, Setting], *, learned: QuerySet, **fields: Any
    ) -> Iterator[Reported]:
        for on, judged in self.judged.items():
            found = judged.evaluate_scores(scorer(judged.queries))
            fields |= {"learned_queries": learned.n_queries, "query_ndcg": found.query_ndcg}
            yield self._row(found, on, settings, **fields)

    def _row(self, found: Evaluation, on: str, settings: Mapping[str, Setting], **fields: Any) -> Reported:
        named = {"merging.on": on} if len(self.judged) > 1 else {}
        row = row_of(self.cell, {**named, **settings}, round=0, interactions=0, **found.metrics, **fields)
        return Reported(self.cell.id, row)


def two_owners(cell: Cell, merging: Merging, fold: Fold, *, root: Path | None) -> TwoOwners:
    """The clients of a cell on its fold; DatasetError for a client, a D_merge or a test without queries."""
    data = cell.preset.data
    raw = load_fold(data.dataset, cell.fold, root=root, normalise="none")  # a category is a number in the file
    if data.indifferent == "drop":
        fold, raw = _without_indifferent(fold), _without_indifferent(raw)
    part = split_of(merging).parter(raw.train, np.random.default_rng(cell.sequence().spawn(1)[0]))
    parted = part(raw.train)
    owned = [_some(fold.train, numbers, f"client {n}") for n, numbers in enumerate((parted.first, parted.second), 1)]
    told = part(raw.validation) if raw.validation else None
    shown = (told.first, told.second) if told else ((), ())
    own_told = [select(whole, n) if (whole := fold.validation) is not None and len(n) else None for n in shown]
    merges = _merge_sets(merging, fold, parted, told)
    first, second = (Client(*parts) for parts in zip(owned, own_told, merges, strict=True))
    tested = part(raw.test)
    tests = {"all": np.arange(raw.test.n_queries), "first": tested.first, "second": tested.second}
    return TwoOwners(
        cell,
        (first, second),
        fold.train,
        fold.validation,
        None if merging.merge_on == "validation" else fold.validation,
        {on: judged_as(data, _some(fold.test, tests[on], f"the test of `{on}`")) for on in merging.judged_on},
    )


def _merge_sets(merging: Merging, fold: Fold, parted: Parted, told: Parted | None) -> list[QuerySet | None]:
    """D_merge of both clients: of the training queries that nobody got, or of the validation queries."""
    if merging.merge_on == "nothing":
        return [None, None]
    if merging.merge_on == "rest":
        source, affinity, among = fold.train, parted.affinity, parted.rest
    elif fold.validation is None or told is None:
        raise DatasetError(f"merging.merge_on: fold {fold.number} has no validation queries")
    else:
        source, affinity, among = fold.validation, told.affinity, np.arange(fold.validation.n_queries)
    sets = merge_sets(affinity, among, len(parted.first), len(parted.second))
    return [_some(source, numbers, f"D_merge of client {n}") for n, numbers in enumerate(sets, 1)]


def _without_indifferent(fold: Fold) -> Fold:
    """The fold without training and validation queries whose documents all have one grade."""
    validation = None if fold.validation is None else without_indifferent(fold.validation)
    return structs.replace(fold, train=without_indifferent(fold.train), validation=validation)


def _some(queries: QuerySet, numbers: IntVector, whose: str) -> QuerySet:
    if not len(numbers):
        raise DatasetError(f"merging.split: no query is left for {whose}")
    return select(queries, numbers)
