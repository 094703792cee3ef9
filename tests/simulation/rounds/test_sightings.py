"""What a guard's suspicions are worth, to somebody who knows who was malicious."""

from __future__ import annotations

import pytest

from foltr.federated.guard import GuardVerdict, Suspicion
from simulation.engines import InProcess
from simulation.experiment import work_with
from simulation.rounds.federation import Sightings
from simulation.run_folder import Row
from tests.simulation.small_study import cells_of, preset, rows_of


def verdict(*suspects: int, alert: bool = True, left_out: tuple[int, ...] = ()) -> GuardVerdict:
    return GuardVerdict(alert, 1.0, tuple(Suspicion(c, 1.0, "") for c in suspects), "", left_out=left_out)


def test_shares_by_hand() -> None:
    """Of ten clients 8 and 9 are malicious: in four rounds 1 of 2 and 2 of 2 found, 1 of 8 honest wronged once."""
    sightings = Sightings(10, 2)
    for one in (verdict(9), verdict(8, 3, left_out=(9, 8)), verdict(), verdict(alert=False)):
        sightings.add(one)
    shares = {"guard_alert": 3 / 4, "suspected_malicious": (1 + 2) / (4 * 2), "suspected_honest": 1 / (4 * 8)}
    assert sightings.since_last_row() == shares
    assert sightings.since_last_row() == {}


def test_where_nobody_is_malicious_nobody_is_missed() -> None:
    """No share of nobody, to either side."""
    for n_malicious, seen in ((0, "suspected_honest"), (3, "suspected_malicious")):
        sightings = Sightings(3, n_malicious)
        sightings.add(verdict(1))
        assert sightings.since_last_row() == {"guard_alert": 1.0, seen: 1 / 3}


def last_rows(**federation: object) -> list[Row]:
    size = {"clients": 10, "local": 5, "rounds": 6, "evaluate_every": 3, **federation}
    study = preset(seeds=1, sweep={}, federation=size)
    return rows_of(InProcess().run(cells_of(study)[:1], work_with(None)))


def test_a_cell_with_a_guard_tells() -> None:
    """Colluders who send one row are found in every round; without a guard, and before the first round, nothing."""
    lie = {"attack": {"attack": "lie", "z": 1.5}, "malicious": 2}
    first, *rest = last_rows(guard=True, **lie)
    assert first.guard_alert is None
    assert [row.suspected_malicious for row in rest] == [1.0, 1.0]
    assert [row.guard_alert for row in rest] == [1.0, 1.0]
    assert all(row.guard_alert is None for row in last_rows(**lie))
    assert all(row.suspected_malicious is None for row in last_rows(guard=True))


@pytest.mark.parametrize("method", ["each", "batch"])
def test_the_four_verbs_tell_as_the_compiled_rounds_do(method: str) -> None:
    """A cap that caps nothing goes by the four verbs, none is compiled, and the guard sees the same."""
    size = {"clients": 10, "local": 5, "rounds": 3, "guard": True, "malicious": 2, "attack": {"attack": "lie"}}
    seen = []
    for cap in ({}, {"longest_step": 1e6}):
        study = preset(seeds=1, sweep={}, federation=size, method={"name": "fpdgd", "update": method, **cap})
        rows = rows_of(InProcess().run(cells_of(study)[:1], work_with(None)))
        seen.append([(row.guard_alert, row.suspected_malicious, row.suspected_honest) for row in rows])
    assert seen[0] == seen[1]
