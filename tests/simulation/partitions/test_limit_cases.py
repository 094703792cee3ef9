"""Identities of clients that differ: what a study must give whatever the data, the ranker and the seed are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from foltr.federated.fpdgd import FPDGD
from foltr.ranking.rankers import Linear
from simulation.cells.trial import Trial
from simulation.data.queries import Fold, QuerySet
from simulation.engines import Reported
from simulation.partitions import Grades
from simulation.rounds.click_models import make_users
from simulation.rounds.federation import Population, run_round
from simulation.rounds.streams import make_streams
from simulation.run_folder import DISCOUNT, Row
from tests.simulation.judged_queries import queries
from tests.simulation.small_study import cells_of, preset

ROUNDS = 6


def judged(n_grades: int) -> QuerySet:
    """Eight queries of two documents of every grade, four features at random."""
    rng = np.random.default_rng(n_grades)
    size = 2 * n_grades
    grades = np.concatenate([rng.permutation(np.arange(size) % n_grades) for _ in range(8)])
    return queries(rng.random((8 * size, 4)), grades.tolist(), *[size] * 8)


def rows(n_grades: int, **tables: Any) -> list[Row]:
    """Of one cell on those queries: four clients or as said, six rounds of two pages, a row for each."""
    federation = {"clients": 4, "local": 2, "rounds": ROUNDS, "evaluate_every": 1} | tables.pop("federation", {})
    study = preset(
        **{"seeds": 1, "sweep": {}, "data": {"dataset": "own", "folds": [1]}, "federation": federation, **tables}
    )
    (cell,) = cells_of(study)
    data = judged(n_grades)
    events = Trial.prepared(cell, Fold(1, data, data)).events()
    return [event.row for event in events if isinstance(event, Reported)]


def values(found: list[Row]) -> list[tuple[float | None, ...]]:
    """What two runs have in common if they are the same run."""
    return [(row.offline_ndcg, row.offline_map, row.online_ndcg, row.online_max_rr, row.interactions) for row in found]


@pytest.mark.parametrize("n_grades", [3, 5])
@pytest.mark.parametrize("clicks", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_one_grade_a_client_is_an_identity(n_grades: int, clicks: str, ranker: str) -> None:
    """nDCG 1 for every client but that of grade 0: (n - 1) / n of all there is, for any B, as in Table 4.3.

    (n - 1) / n * (1 - .9995^10,000) / .0005 is 1589.23 for five grades and 1324.36 for three.
    """
    federation = {"clients": n_grades, "partition": {"kind": "grades"}}
    found = rows(n_grades, users={"clicks": clicks}, method={"name": "fpdgd", "ranker": ranker}, federation=federation)
    share = (n_grades - 1) / n_grades
    for row in found[1:]:
        assert row.online_ndcg == pytest.approx(share, abs=1e-12)
        most = (1 - DISCOUNT**row.round) / (1 - DISCOUNT)
        assert row.cumulative_ndcg == pytest.approx(share * most, abs=1e-9)
    assert round(share * (1 - DISCOUNT**10_000) / (1 - DISCOUNT), 2) == {3: 1324.36, 5: 1589.23}[n_grades]


@pytest.mark.parametrize(("grade", "learns"), [(0, False), (1, True), (2, False)])
def test_what_a_page_of_one_grade_teaches_perfect_users(grade: int, learns: bool) -> None:
    """No click at grade 0, a click everywhere at the top: no pair, no step. In between clicks are chance."""
    share = Grades().split(judged(3), 3, np.random.default_rng(0))[grade]
    method, streams = FPDGD(Linear(4)), make_streams(0, 1)
    start = method.initial(streams.model)
    users = make_users("perfect", top_grade=2)
    model, _ = run_round(method, start, Population(share, users, 1, 10), streams)
    assert (model.theta.tolist() != start.theta.tolist()) is learns


@pytest.mark.parametrize(
    ("n_grades", "partition"), [(3, {"kind": "all"}), (3, {"kind": "grades", "each": 3, "divide": "overlap"})]
)
def test_all_of_everything_is_iid(n_grades: int, partition: dict[str, Any]) -> None:
    """Every client with all queries, or with all grades of them: bit for bit what no partition gives."""
    iid, split = rows(n_grades), rows(n_grades, federation={"partition": partition})
    assert values(split) == values(iid)


def test_equal_efforts_are_one_effort() -> None:
    """Type 4 with as much from everybody: bit for bit the ordinary round, weights and all."""
    assert values(rows(3, federation={"local": [2, 2, 2, 2]})) == values(rows(3))


def test_no_proximal_term_is_fpdgd() -> None:
    """FedProx with mu = 0, bit for bit; with another mu not."""
    plain = values(rows(3, method={"name": "fpdgd"}))
    assert values(rows(3, method={"name": "fpdgd", "proximal": 0.0})) == plain
    assert values(rows(3, method={"name": "fpdgd", "proximal": 1.0})) != plain


def test_own_layers_of_one_client_are_fpdgd() -> None:
    """FedPer with one client: its own output layer is the mean of all, so every value is FPDGD's."""
    found = [
        values(rows(3, federation={"clients": 1}, method={"name": "fpdgd", "ranker": "neural", "personal": personal}))
        for personal in (False, True)
    ]
    for plain, own in zip(*found, strict=True):
        assert own == pytest.approx(plain, abs=1e-12)
    several = [values(rows(3, method={"name": "fpdgd", "ranker": "neural", "personal": own})) for own in (False, True)]
    assert several[0] != several[1]


def test_own_rankers_are_judged_on_own_labels() -> None:
    """One grade each: ideal for every client that has a relevant document, whatever its ranker; grade 0 has none."""
    method = {"name": "fpdgd", "ranker": "neural", "personal": True}
    data = {"dataset": "own", "folds": [1], "no_relevant": "zero", "evaluate_clients_on": {"kind": "grades"}}
    federation = {"clients": 3, "partition": {"kind": "grades"}}
    for row in rows(3, method=method, data=data, federation=federation):
        assert row.offline_ndcg_clients == pytest.approx(2 / 3, abs=1e-12)
        assert row.offline_ndcg_personal == pytest.approx(2 / 3, abs=1e-12)
