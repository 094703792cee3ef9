"""One cell: its rows, its methods, its rankers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from foltr.federated.registry import METHODS
from simulation.cells.parts import fold_of, participants
from simulation.cells.trial import Circumstances, cell_events
from simulation.engines import CellFailed, Finished, InProcess
from simulation.environment import build
from simulation.experiment import work_with
from simulation.labels.label_rankers import LABEL_RANKERS
from tests.simulation.small_study import cells_of, preset, rows_of


def test_rows_do_not_depend_on_the_other_cells() -> None:
    """A cell on its own gives the rows that it gives within a study."""
    cells, work = cells_of(preset()), work_with(None)
    everything = rows_of(InProcess().run(cells, work))
    last = rows_of(InProcess().run(cells[-1:], work))
    assert last == [row for row in everything if row.cell == cells[-1].id]


@pytest.mark.parametrize(
    ("alike", "said"),
    [
        (Circumstances({**build(), "numpy": "1.0"}, {}), "numpy 1.0, here"),
        (Circumstances(build(), {"sample/Fold1_test.txt": "0123"}), "sample/Fold1_test.txt 0123, here"),
    ],
    ids=["build", "data"],
)
def test_a_machine_that_is_not_like_that_of_the_study_gives_no_rows(alike: Circumstances, said: str) -> None:
    """As a node of a cluster with another numpy, or with other data in the same place: the cell fails and says it."""
    _, failed = cell_events(cells_of(preset())[0], root=None, alike=alike)
    assert isinstance(failed, CellFailed)
    assert said in failed.message


def test_rows_come_at_the_start_every_so_often_and_at_the_end() -> None:
    """Round 0, each evaluate_every rounds, and the last; online values begin with the first round."""
    study = preset(seeds=1, sweep={}, federation={"clients": 3, "local": 2, "rounds": 5, "evaluate_every": 2})
    rows = rows_of(InProcess().run(cells_of(study)[:1], work_with(None)))
    assert [row.round for row in rows] == [0, 2, 4, 5]
    assert [row.interactions for row in rows] == [0, 2 * 3 * 2, 4 * 3 * 2, 5 * 3 * 2]
    assert rows[0].online_ndcg is None
    assert all(row.online_ndcg is not None and 0 <= row.online_ndcg <= 1 for row in rows[1:])
    assert all(row.offline_max_rr is not None for row in rows)


@pytest.mark.parametrize(("name", "fixed"), [("least-squares", True), ("ranksvm", True), ("lambdarank", False)])
def test_a_baseline_that_draws_nothing_says_so(name: str, fixed: bool) -> None:
    """Its row would be the same with any seed; one that shuffles its queries has rows of its own by seed."""
    study = preset(seeds=2, sweep={}, method={"name": name}, data={"dataset": "sample", "folds": [1]})
    cell = cells_of(study)[0]
    cells = [cell, replace(cell, id=f"{cell.id}-again", seed=2)]
    first, second = rows_of(InProcess().run(cells, work_with(None)))
    assert (first.fixed, second.fixed) == (fixed, fixed)
    assert (first.query_ndcg == second.query_ndcg) or not fixed


def test_values_of_single_queries_come_with_the_last_row() -> None:
    """Their mean is the row's offline nDCG; where several folds judge the same queries there are none."""
    everything = preset(seeds=1, sweep={}, data={"dataset": "sample", "folds": [1, 2]})
    *earlier, last = rows_of(InProcess().run(cells_of(everything)[:1], work_with(None)))
    assert [row.query_ndcg for row in earlier] == [None] * 2
    assert last.query_ndcg
    assert last.offline_ndcg == pytest.approx(math.fsum(last.query_ndcg) / len(last.query_ndcg), abs=1e-6)
    for folds, kept in (([1], True), ([1, 2], False)):
        study = preset(seeds=1, sweep={}, data={"dataset": "sample", "folds": folds, "evaluate_on": "train"})
        *_, last = rows_of(InProcess().run(cells_of(study)[:1], work_with(None)))
        assert (last.query_ndcg is not None) == kept


def test_centralised_pdgd_is_one_client_with_all_pages() -> None:
    """pdgd sees the pages of every client of a round: as many interactions as the federation."""
    study = preset(seeds=1, sweep={}, method={"name": "pdgd"})
    twin = preset(seeds=1, sweep={}, federation={"clients": 1, "local": 3 * 2, "rounds": 4, "evaluate_every": 2})
    alone, by_hand = (rows_of(InProcess().run(cells_of(p)[:1], work_with(None))) for p in (study, twin))
    assert alone == by_hand
    assert alone[-1].interactions == 4 * 3 * 2


@pytest.mark.parametrize(("local", "spread"), [(2, 0.0), ([1, 3], 0.0), (2, 0.5)], ids=["alike", "unlike", "spread"])
def test_centralised_pdgd_sees_the_pages_of_all_users(local: int | list[int], spread: float) -> None:
    """Of several kinds of users, each as often as it searches."""
    federation, method = {"clients": 2, "local": local, "rounds": 2}, {"name": "pdgd"}
    users = {"clicks": ["pbm", "poison"], "spread": spread}
    cell = cells_of(preset(federation=federation, method=method, users=users, sweep={}, seeds=1))[0]
    drawn = participants(cell, fold_of(cell, None)).users
    assert (drawn.mixed, len(drawn.click)) == (True, 2 if local == 2 else 4)
    assert np.mean(drawn.click[:, 0] == 1.0) == (0.5 if local == 2 else 0.75)


def test_a_share_without_a_relevant_document_counts_for_nothing() -> None:
    """The mean over clients is that of the others: a client that holds only grade 0 has no nDCG."""
    data = {"dataset": "sample", "folds": [1], "evaluate_clients_on": {"kind": "grades"}}
    rows = rows_of(InProcess().run(cells_of(preset(data=data, sweep={}, seeds=1)), work_with(None)))
    assert [row.offline_ndcg_clients for row in rows] == [1.0] * 3


@pytest.mark.parametrize("name", [*METHODS, *LABEL_RANKERS])
def test_every_method_runs_as_a_cell(name: str) -> None:
    """With its own defaults; those trained on labels give one row, at round 0."""
    study = preset(seeds=1, sweep={}, method={"name": name}, federation={"clients": 2, "local": 2, "rounds": 2})
    events = list(InProcess().run(cells_of(study)[:1], work_with(None)))
    assert isinstance(events[-1], Finished), events[-1]
    assert [row.round for row in rows_of(events)] == ([0] if name in LABEL_RANKERS else [0, 1, 2])


def test_max_rr_is_that_of_honest_users() -> None:
    """Attackers click what is bad: a spoilt ranking would look good. Round 0 is as without them."""
    attacked = {"attack": {"attack": "poisoned-clicks"}, "malicious": 2, "clients": 3, "local": 2, "rounds": 1}
    in_peace = {"clients": 3, "local": 2, "rounds": 1}
    (first, *_), (twin, *_) = (
        rows_of(InProcess().run(cells_of(preset(seeds=1, sweep={}, federation=federation))[:1], work_with(None)))
        for federation in (attacked, in_peace)
    )
    assert first.offline_max_rr == twin.offline_max_rr


def test_fedips_pages_come_from_a_ranker_trained_on_labels() -> None:
    """logging_share decides who shows the pages, `indifferent` which queries are asked: both change what is learned."""
    method, federation = {"name": "fedips"}, {"clients": 2, "local": 2, "rounds": 2}
    curves = []
    for share, indifferent in ((0.0, "keep"), (0.2, "keep"), (0.2, "drop")):
        study = preset(
            seeds=1,
            sweep={},
            method=method,
            federation=federation,
            users={"clicks": "fedips", "k": 5, "logging_share": share},
            data={"dataset": "sample", "folds": [1], "indifferent": indifferent},
        )
        curves.append([row.online_ndcg for row in rows_of(InProcess().run(cells_of(study), work_with(None)))])
    assert all(len(curve) == 3 for curve in curves)
    assert len({tuple(curve) for curve in curves}) == 3
