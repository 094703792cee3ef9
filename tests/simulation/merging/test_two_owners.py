"""A cell of a merging study: its rows, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foltr.ranking.rankers import Linear
from simulation.cells.cell import Cell
from simulation.cells.evaluation import judge
from simulation.data.queries import QuerySet
from simulation.engines import CellFailed, InProcess
from simulation.errors import FoltrError
from simulation.experiment import work_with
from simulation.labels.label_rankers import LeastSquares, learned_scorer
from simulation.merging.two_owners import ALPHAS, alpha_curve, check_merging, chosen_alpha, combined, with_scores
from simulation.run_folder import CURVE_KEY, Row
from tests.simulation.judged_queries import queries, random_queries
from tests.simulation.small_study import cells_of, preset, rows_of

SPLIT = {"kind": "groups", "groups": 3}


def study(method: str = "least-squares", data: dict[str, Any] | None = None, **merging: Any) -> Cell:
    """One cell on the first fold of the sample."""
    tables = {
        "data": {"dataset": "sample", "folds": [1], **(data or {})},
        "method": {"name": method},
        "merging": {"split": SPLIT, **merging},
    }
    return cells_of(preset(seeds=1, sweep={}, **tables))[0]


def rows(cell: Cell) -> list[Row]:
    events = list(InProcess().run([cell], work_with(None)))
    assert [event for event in events if isinstance(event, CellFailed)] == []
    return rows_of(events)


def named(found: list[Row]) -> dict[tuple[Any, Any], Row]:
    """The rows of a table by ranker and client."""
    return {(row.settings["ranker"], row.settings.get("client")): row for row in found if CURVE_KEY not in row.settings}


def curve_of(found: list[Row]) -> dict[Any, float | None]:
    """nDCG by alpha."""
    return {row.settings[CURVE_KEY]: row.offline_ndcg for row in found if CURVE_KEY in row.settings}


def test_a_row_for_each_ranker_of_each_client() -> None:
    """M1, M2 and Mfull once, what is merged once for each client, and the curve over alpha."""
    found = rows(study())
    assert list(named(found)) == [
        ("M1", None), ("M2", None), ("Mfull", None),
        ("linear", 1), ("stacked", 1), ("D_merge", 1), ("linear", 2), ("stacked", 2), ("D_merge", 2),
    ]  # fmt: skip
    assert list(curve_of(found)) == ALPHAS.tolist()
    assert len(found) == 9 + 101


def test_the_curve_leads_from_one_owner_to_the_other_through_what_clients_chose() -> None:
    """alpha = 0 is M1, alpha = 1 is M2, and a linear row stands on the curve at its alpha."""
    found = rows(study())
    curve, by_name = curve_of(found), named(found)
    assert curve[0.0] == by_name["M1", None].offline_ndcg
    assert curve[1.0] == by_name["M2", None].offline_ndcg
    for client in (1, 2):
        chosen = by_name["linear", client]
        assert chosen.chosen_alpha is not None
        assert chosen.offline_ndcg == curve[chosen.chosen_alpha]


def test_each_learns_from_what_it_owns() -> None:
    """D_merge holds half as many queries as its client; two owners and nobody have all queries together."""
    counts = {key: row.learned_queries or 0 for key, row in named(rows(study())).items()}
    first, second, everything = (counts[name, None] for name in ("M1", "M2", "Mfull"))
    assert first >= second > 0
    assert first + second < everything
    assert [counts["linear", client] for client in (1, 2)] == [
        min(owned // 2, everything - first - second) for owned in (first, second)
    ]
    assert all(counts[name, c] == counts["linear", c] for name in ("stacked", "D_merge") for c in (1, 2))


def test_every_part_of_the_test_queries() -> None:
    """The rows say where they were judged; a study without merging has owners and Mfull alone."""
    found = rows(study(judged_on=["all", "first", "second"], merge_on="nothing"))
    assert [(row.settings["merging.on"], row.settings["ranker"]) for row in found] == [
        (on, ranker) for ranker in ("M1", "M2", "Mfull") for on in ("all", "first", "second")
    ]
    n_queries = {row.settings["merging.on"]: len(row.query_ndcg or ()) for row in found}
    assert n_queries["first"] + n_queries["second"] <= n_queries["all"]


def test_the_same_seed_gives_the_same_rows_of_trees() -> None:
    """Search, held-back queries and all."""
    pytest.importorskip("lightgbm", reason="LightGBM is not installed: the extra `lambdamart`")
    small = {"name": "lambdamart", "trees": 5, "trials": 2}
    cell = cells_of(preset(seeds=1, sweep={}, method=small, merging={"split": SPLIT}))[0]
    assert rows(cell) == rows(cell)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (study(method="fpdgd"), "method.name: 'fpdgd' does not learn from labels; least-squares, ranksvm, "),
        (study(split={"kind": "years"}), "merging.split.kind: there is no 'years'; there are category, feature, "),
        (
            study(split={"kind": "category", "feature": 0, "category": 1}),
            "merging.split.feature: which of the features",
        ),
        (study(split={"kind": "feature", "feature": 0}), "merging.split.feature: expected int >= 1"),
        (study(data={"evaluate_on": "train"}), "data.learn_from, data.evaluate_on: owners learn from train"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(cell: Cell, message: str) -> None:
    """One line with the key."""
    assert cell.preset.merging is not None
    with pytest.raises(FoltrError, match=message):
        check_merging(cell, cell.preset.merging)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (study(split={"kind": "qids", "first": [900, 999], "second": [0, 999]}), "no query is left for client 1"),
        (
            study(split={"kind": "feature", "feature": 1, "second": "others"}),
            "no query is left for D_merge of client 1",
        ),
        (study(merge_on="validation"), "merging.merge_on: fold 1 has no validation queries"),
    ],
)
def test_a_client_without_queries_is_named(cell: Cell, message: str) -> None:
    """Only the data can tell."""
    events = list(InProcess().run([cell], work_with(None)))
    assert [event.message for event in events if isinstance(event, CellFailed) and message in event.message]


def test_the_ends_of_the_grid_are_the_two_rankers() -> None:
    """alpha = 0 is exactly the first, alpha = 1 exactly the second, even where a sum would round."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=30) * 1e17, rng.normal(size=30)
    assert len(ALPHAS) == 101
    assert combined(ALPHAS[0], first, second).tolist() == first.tolist()
    assert combined(ALPHAS[-1], first, second).tolist() == second.tolist()
    assert combined(0.25, np.array([4.0]), np.array([8.0])).tolist() == [0.75 * 4 + 0.25 * 8]


def test_linear_rankers_combined_are_a_linear_ranker() -> None:
    """Mixing scores is mixing thetas: what a device's blend of two linear rankers is."""
    data, rng = random_queries(), np.random.default_rng(1)
    one, two = rng.normal(size=(2, data.n_features))
    judged = judge(data)
    x = data.features.astype(np.float64)
    curve = alpha_curve(judged, x @ one, x @ two)
    for alpha, found in zip(ALPHAS[::10], curve[::10], strict=True):
        assert found == judged.evaluate(Linear(data.n_features), (1 - alpha) * one + alpha * two)


def test_the_chosen_alpha_by_hand() -> None:
    """(1 - a) 1 < a 3 puts the relevant document first: a > 1/4, so .26 is the smallest of the best."""
    judged = judge(queries([[0.0], [0.0]], [0, 1], 2))
    assert chosen_alpha(judged, np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 0.26


def test_of_equal_alphas_the_smallest_is_chosen() -> None:
    """Where both rank alike nothing speaks for the second."""
    judged = judge(queries([[0.0], [0.0]], [0, 1], 2))
    assert chosen_alpha(judged, np.array([0.0, 1.0]), np.array([0.0, 5.0])) == 0.0


def test_scores_become_the_last_features() -> None:
    """In the order of the rankers; everything else is as it was."""
    data = queries([[1.0], [2.0], [3.0]], [0, 1, 2], 2, 1)
    stacked = with_scores(data, lambda q: 10.0 * q.features[:, 0], lambda q: -q.features[:, 0].astype(np.float64))
    assert stacked.features.tolist() == [[1, 10, -1], [2, 20, -2], [3, 30, -3]]
    assert stacked.qids == data.qids
    assert stacked.grades.tolist() == data.grades.tolist()


def test_a_stacked_ranker_beats_both_where_each_knows_one_half() -> None:
    """Grades are a + b; one owner has only seen a, the other b (the other feature never varied in its queries)."""
    rng = np.random.default_rng(5)

    def asked(varies: tuple[float, float], n: int) -> QuerySet:
        features = rng.integers(0, 3, size=(n * 8, 2)) * varies
        return queries(features, features.sum(axis=1).astype(int).tolist(), *[8] * n)

    one, two = (
        learned_scorer(LeastSquares(), asked(varies, 20), np.random.default_rng(0)) for varies in ((1, 0), (0, 1))
    )
    stacked = learned_scorer(LeastSquares(), with_scores(asked((1, 1), 20), one, two), np.random.default_rng(0))
    test = asked((1, 1), 50)
    judged = judge(test)
    first, second, both = (
        judged.evaluate_scores(found).ndcg for found in (one(test), two(test), stacked(with_scores(test, one, two)))
    )
    assert both > 0.999
    assert max(first, second) < 0.95
