"""One cell: its rows, its methods, its rankers."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from foltr.federated.registry import METHODS
from simulation.engines import Finished, InProcess
from simulation.errors import PresetError
from simulation.experiment import work_with
from simulation.federation import Shown
from simulation.label_rankers import LABEL_RANKERS
from simulation.results import DISCOUNT
from simulation.trial import Tally, check_method
from tests.simulation.small_study import cells_of, preset, rows_of


def test_rows_do_not_depend_on_the_other_cells() -> None:
    """A cell on its own gives the rows that it gives within a study."""
    cells, work = cells_of(preset()), work_with(None)
    everything = rows_of(InProcess().run(cells, work))
    last = rows_of(InProcess().run(cells[-1:], work))
    assert last == [row for row in everything if row.cell == cells[-1].id]


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
    first, second = rows_of(InProcess().run(cells_of(study), work_with(None)))
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


@pytest.mark.parametrize("name", [*METHODS, *LABEL_RANKERS])
def test_every_method_runs_as_a_cell(name: str) -> None:
    """With its own defaults; those trained on labels give one row, at round 0."""
    study = preset(seeds=1, sweep={}, method={"name": name}, federation={"clients": 2, "local": 2, "rounds": 2})
    events = list(InProcess().run(cells_of(study)[:1], work_with(None)))
    assert isinstance(events[-1], Finished), events[-1]
    assert [row.round for row in rows_of(events)] == ([0] if name in LABEL_RANKERS else [0, 1, 2])


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


def test_a_tally_discounts_rounds_and_averages_between_rows() -> None:
    """Cumulative: mean nDCG of the round times gamma^(t - 1); the means begin anew after each row."""
    tally = Tally()
    tally.add(Shown(2, ndcg=1.0, reciprocal_rank=2.0, max_rr=0.5, clicks=1))
    tally.add(Shown(2, ndcg=2.0, reciprocal_rank=1.0, max_rr=1.5, clicks=3))
    assert tally.means_since_last_row() == (3.0 / 4, 3.0 / 4, 2.0 / 4)
    assert tally.means_since_last_row() is None
    assert math.isclose(tally.cumulative_ndcg, 1.0 / 2 + DISCOUNT * 2.0 / 2)
    assert tally.interactions == 4


@pytest.mark.parametrize(
    ("federation", "fault"),
    [
        (
            {"malicious": 4, "attack": {"attack": "lie"}},
            "federation.malicious: wanted at most the 3 of federation.clients, got 4",
        ),
        ({"malicious": 1}, "federation.attack: what do the malicious do"),
        ({"malicious": 1, "attack": {"attack": "lies"}}, "federation.attack.attack: there is no 'lies'"),
        ({"malicious": 2, "attack": {"attack": "lie"}}, "federation.attack: lie: no z for 2 malicious of 3"),
        ({"malicious": 1, "attack": {"attack": "fang-krum"}}, "federation.attack: fang-krum: 1 malicious need 4"),
        ({"aggregation": {"rule": "krum", "n_malicious": 1}}, "federation.aggregation: krum needs at least 5 clients"),
        ({"aggregation": {"rule": "trimmed-mean", "n_malicious": 2}}, "trimmed-mean needs at least 5 clients, not 3"),
    ],
)
def test_what_so_few_clients_cannot_do_is_refused(federation: dict[str, Any], fault: str) -> None:
    """More attackers than clients, an attack or a rule that needs more: before anything runs, by its key."""
    study = preset(federation={"clients": 3, "local": 2, "rounds": 2, **federation})
    with pytest.raises(PresetError, match=re.escape(fault)):
        check_method(cells_of(study)[0])


def test_a_rule_of_the_methods_own_is_refused_by_its_own_key() -> None:
    """method.aggregation, where the preset says it there."""
    rule = {"rule": "krum", "n_malicious": 3, "strict": False}
    cell = cells_of(preset(method={"name": "fpdgd", "aggregation": rule}))[0]
    with pytest.raises(PresetError, match=r"^method.aggregation: krum needs at least 6 clients, not 3$"):
        check_method(cell)


def test_clicks_drawn_for_each_page_leave_no_malicious_user() -> None:
    """users.mix = "page" and poisoned clicks do not go together."""
    users = {"clicks": ["perfect", "navigational"], "mix": "page"}
    federation = {"clients": 3, "local": 2, "rounds": 2, "malicious": 1, "attack": {"attack": "poisoned-clicks"}}
    cell = cells_of(preset(users=users, federation=federation, sweep={}))[0]
    with pytest.raises(PresetError, match=r"^users.mix: "):
        check_method(cell)
