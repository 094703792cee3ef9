"""A cell of a merging study: its rows, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.cells.cell import Cell
from simulation.engines import CellFailed, InProcess
from simulation.errors import FoltrError
from simulation.experiment import work_with
from simulation.merging.two_owners import ALPHAS, check_merging
from simulation.run_folder import CURVE_KEY, Row
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
