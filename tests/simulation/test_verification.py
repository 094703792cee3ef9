"""Rows that anybody can check: what is equal is said to be, what differs is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from simulation import verification
from simulation.engines import InProcess
from simulation.environment import environment, keep_environment
from simulation.errors import SimulationError
from simulation.experiment import prepare, work_with
from simulation.run_folder import CURVE_KEY, ROWS, Row, read_run
from simulation.verification import EQUAL, NOTHING, UNEQUAL, read_shipped, rows_digest, ship, shipped_claims, verify
from tests.simulation.small_study import preset


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small study that is over."""
    folder = tmp_path_factory.mktemp("run") / "run"
    study = prepare(preset(), root=None, folder=folder, resume=False)
    keep_environment(folder, environment(["foltr-search"], data=study.digests))
    study.run(InProcess(), work_with(None, study.digests), tell=lambda event: None)
    return folder


@pytest.fixture
def copied(finished_run: Path, tmp_path: Path) -> Path:
    """The same folder, to be changed."""
    for path in finished_run.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def said(where: Path | str, sample: int | None = None) -> tuple[int, list[str]]:
    lines: list[str] = []
    return verify(str(where), root=None, sample=sample, say=lines.append), lines


def test_the_cells_of_a_run_are_equal(finished_run: Path) -> None:
    """All of them, or as many as are asked for."""
    code, lines = said(finished_run)
    assert (code, lines[-1]) == (EQUAL, "8 of 8 cells equal to the last digit")
    code, lines = said(finished_run, 2)
    assert (code, lines[-1]) == (EQUAL, "2 of 2 cells equal to the last digit")


def test_a_changed_digit_is_named(copied: Path) -> None:
    """The cell, the field, the round, and both values."""
    first, *others = read_run(copied).rows
    changed = msgspec.structs.replace(first, offline_ndcg=0.5)
    (copied / ROWS).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in (changed, *others)))
    code, lines = said(copied)
    (line,) = (line for line in lines if line.startswith("NOT EQUAL"))
    assert code == UNEQUAL
    assert f"offline_ndcg after round 0 was 0.5, now {first.offline_ndcg}" in line
    assert lines[-1] == "7 of 8 cells equal to the last digit"


def test_other_data_are_not_run(copied: Path) -> None:
    """A file that was another one at the time of the run: it is named, and nothing is compared."""
    text = (copied / "environment.json").read_text()
    (copied / "environment.json").write_text(text.replace('Fold1_test.txt": "', 'Fold1_test.txt": "0'))
    code, lines = said(copied)
    assert (code, lines[-1]) == (NOTHING, "0 of 0 cells equal to the last digit")
    assert "8 of 8 cells cannot be run here: other data: sample/Fold1_test.txt 0" in lines[0]


def test_a_digest_leaves_out_seconds_alone(finished_run: Path) -> None:
    """Another number of seconds is the same row, another click is not."""
    rows = read_run(finished_run).rows
    slower = [msgspec.structs.replace(row, seconds=row.seconds + 1) for row in rows]
    other = [msgspec.structs.replace(row, online_mrr=0.123) for row in rows]
    assert rows_digest(slower) == rows_digest(rows) != rows_digest(other)


def test_a_count_is_the_same_in_a_file_and_out_of_it() -> None:
    """A metric that was counted comes back from a file as a number with a point: its digest is one."""
    made = [Row(cell="a", settings={}, fold=1, seed=1, round=0, interactions=0, learned_queries=n) for n in (3, 3.0)]
    assert rows_digest(made[:1]) == rows_digest(made[1:])


def test_what_is_shipped_is_found_and_verified(
    finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished run becomes lines that are small; each is a claim that holds, until a number in it is changed."""
    monkeypatch.setattr(verification, "SHIPPED", tmp_path)
    monkeypatch.setattr(verification, "named_preset", lambda name: preset())
    path = ship("quick/small", finished_run, None)
    study, cells = read_shipped(path)
    assert (study.preset, len(cells)) == ("quick/small", 8)
    assert all(len(cell.rows) == 1 for cell in cells)
    last = [row for row in read_run(finished_run).rows if row.round == 4]
    assert sorted(_kept(row) for cell in cells for row in cell.whole()) == sorted(map(_kept, last))
    code, lines = said("reproduction", 3)
    assert (code, lines[-1]) == (EQUAL, "3 of 3 cells equal to the last digit")
    path.write_bytes(path.read_bytes().replace(b'"offline_ndcg":0.', b'"offline_ndcg":0.0'))
    code, lines = said("reproduction", 1)
    assert code == UNEQUAL
    assert "offline_ndcg after round 4 was 0.0" in lines[0]
    monkeypatch.setattr(verification, "named_preset", lambda name: preset(seeds=3))
    with pytest.raises(SimulationError, match="begun with seeds = 2, now it is seeds = 3"):
        ship("quick/small", finished_run, None)


def _kept(row: Row) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(row, query_ndcg=None, seconds=0.0))


def test_the_rows_that_come_with_the_program_are_cells_of_its_presets() -> None:
    """Every file can be read, and its preset still has every cell; points of curves are left out."""
    claims = list(shipped_claims())
    assert all(claim.rows for claim in claims)
    assert not any(CURVE_KEY in row.settings for claim in claims for row in claim.rows)


def test_some_rows_that_come_with_the_program_are_made_again() -> None:
    """Those that need no data of others: two cells, to the last digit. If not, raise NUMBERS and ship them anew."""
    free = [claim for claim in shipped_claims() if claim.cell.preset.data.dataset == "sample"]
    assert [claim.contradicted(None) for claim in free[:2]] == [""] * len(free[:2])
