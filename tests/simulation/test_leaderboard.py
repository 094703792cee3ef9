"""The leaderboard, and the row of what a stranger submits."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from simulation import leaderboard
from simulation.cli import main
from simulation.leaderboard import BOARD, Score, by_trial, cells_of, grid, ours, shipped, submit

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds, three trials, and only plain FPDGD and the median of what comes with the program."""
    federation = {**leaderboard.BASE["federation"], "rounds": 2, "evaluate_every": 2}
    monkeypatch.setattr(leaderboard, "BASE", {**leaderboard.BASE, "federation": federation})
    trials = {"clicks": {"perfect": {}}, "attacks": {"lie": leaderboard.attacked("lie")}}
    trials["partitions"] = {"by queries": {"federation.partition": {"kind": "queries"}}}
    monkeypatch.setattr(leaderboard, "TRIALS", trials)
    kept = {name: changes for name, changes in ours().items() if name in ("fpdgd", "fpdgd, median", "foltr-es")}
    monkeypatch.setattr(leaderboard, "ours", lambda: kept)


@pytest.mark.usefixtures("small")
def test_a_method_gets_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    """By the command: marked among all others, and trial by trial beside the best; what cannot be is empty."""
    assert main(["sample", "--submit", str(EXAMPLES / "sign_pdgd.py"), "--jobs", "1"]) == 0
    rows = {line.split("  ")[0].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert {"> sign-pdgd", "fpdgd", "fpdgd, median", "foltr-es", "perfect", "lie", "by queries"} <= set(rows)
    assert rows["foltr-es"].split()[2] == "-"
    assert " of 4 " in rows["perfect"]
    assert " of 3 " in rows["lie"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("example", "named"), [("silent", "silent"), ("in_order", "by in-order")])
def test_an_attack_or_a_partition_is_a_trial_that_all_meet(
    example: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every entry that can meet it; shipped rows are not run again."""
    known = {entry: {"perfect": Score(0.5, 0.0), "lie": Score(0.4, 0.0)} for entry in leaderboard.ours()}
    monkeypatch.setattr(leaderboard, "shipped", lambda dataset, root: known)
    ran: list[str] = []
    monkeypatch.setattr(leaderboard, "values_of", lambda cells, root, jobs: ran.extend(cell.id for cell in cells) or {})
    submit(str(EXAMPLES / f"{example}.py"), "sample", root=None, jobs=1)
    assert {name.removesuffix(" seed 1") for name in ran if name.endswith("seed 1")} >= {f"fpdgd {named}"}
    assert not [name for name in ran if " perfect " in name]


def test_what_brings_nothing_to_try_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A click model alone has no row."""
    assert main(["sample", "--submit", str(EXAMPLES / "trusting.py")]) == 2
    assert "--submit: trusting.py brings no method, rule, attack or partition" in capsys.readouterr().err


def test_the_shipped_board_is_of_these_data_and_trials() -> None:
    """Every entry that comes with the program has its row for the sample, with a score wherever there are cells."""
    board, known = shipped("sample", None), ours()
    assert set(board) == set(known)
    for entry, ahead in ((entry, known[entry]) for entry in board):
        for group, changed in leaderboard.TRIALS.items():
            for trial, changes in changed.items():
                enough = (entry, group) != ("fpdgd, bulyan", "forgetting")  # who stay are fewer rows than it takes
                can_be = enough and bool(cells_of("sample", (entry, trial), {**ahead, **changes}, None, ()))
                assert (trial in board[entry]) == can_be, (entry, trial)


def test_a_board_is_read_as_it_is_written() -> None:
    """Means and errors, four digits; one line for each entry and data set."""
    with BOARD.open(encoding="utf-8", newline="") as lines:
        read = [(line["entry"], line["data"]) for line in csv.DictReader(lines)]
    assert len(read) == len(set(read))


def test_tables_by_hand() -> None:
    """Means of groups, the worst attack, and the place of an entry among those that met the trial."""
    trials = {"clicks": {"a": {}, "b": {}}, "attacks": {"c": {}, "d": {}}}
    board = {
        "x": {"a": Score(0.5, 0.0), "b": Score(0.3, 0.0), "c": Score(0.2, 0.0), "d": Score(0.1, 0.0)},
        "fpdgd": {"a": Score(0.6, 0.0), "b": Score(0.2, 0.0)},
    }
    shown = grid(board, trials, "data", new=["x"])
    assert [list(row) for row in shown.rows] == [["> x", "0.4000", "0.1500", "0.1000"], ["fpdgd", "0.4000", "-", "-"]]
    rows = by_trial({**board, "y": {"d": Score(0.4, 0.0), "c": Score(0.1, 0.0)}}, trials, "x").rows
    assert [list(row) for row in rows] == [
        ["a", "0.5000 ± 0.0000", "2 of 2", "0.6000", "0.6000", "fpdgd"],
        ["b", "0.3000 ± 0.0000", "1 of 2", "0.2000", "0.2000", "fpdgd"],
        ["c", "0.2000 ± 0.0000", "1 of 2", "-", "0.1000", "y"],
        ["d", "0.1000 ± 0.0000", "2 of 2", "-", "0.4000", "y"],
    ]
