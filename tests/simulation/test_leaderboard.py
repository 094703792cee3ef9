"""The leaderboard, and the row of what a stranger submits."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from foltr.errors import FoltrError
from simulation import leaderboard
from simulation.attacks.registry import ATTACKS
from simulation.cli import main
from simulation.leaderboard import BOARD, Score, by_entry, by_trial, cells_of, grid, ours, shipped, submit

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
    example: str, named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of every entry that can meet it; shipped rows are not run again."""
    known = {entry: {"perfect": Score(0.5, 0.0), "lie": Score(0.4, 0.0)} for entry in leaderboard.ours()}
    monkeypatch.setattr(leaderboard, "shipped", lambda dataset, root: known)
    ran: list[str] = []
    monkeypatch.setattr(leaderboard, "values_of", lambda cells, root, jobs: ran.extend(cell.id for cell in cells) or {})
    submit(str(EXAMPLES / f"{example}.py"), "sample", root=None, jobs=1)
    assert f"{named}, entry by entry" in capsys.readouterr().out
    assert {name.removesuffix(" seed 1") for name in ran if name.endswith("seed 1")} >= {f"fpdgd {named}"}
    assert not [name for name in ran if " perfect " in name]


@pytest.mark.usefixtures("small")
def test_an_attack_that_is_called_as_a_trial_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would be shown with the numbers of that trial."""
    file = tmp_path / "own.py"
    file.write_text(
        "from simulation import AttackSettings\nclass Perfect(AttackSettings, frozen=True, tag='perfect'):\n"
        "    def send(self, scene):\n        return -scene.own\nATTACKS = {'perfect': Perfect}\n"
    )
    assert main(["sample", "--submit", str(file)]) == 2
    assert "own.py: the board has a trial 'perfect': name the attack otherwise" in capsys.readouterr().err
    ATTACKS.pop("perfect")


def test_an_attack_is_shown_entry_by_entry() -> None:
    """The best first, beside what each comes to without it; who did not meet it is left out."""
    board = {"x": {"a": Score(0.2, 0.01)}, "y": {"a": Score(0.4, 0.0), "perfect": Score(0.5, 0.02)}, "z": {}}
    assert [list(row) for row in by_entry(board, "a").rows] == [
        ["y", "0.4000 ± 0.0000", "0.5000 ± 0.0200"],
        ["x", "0.2000 ± 0.0100", "-"],
    ]


def test_what_brings_nothing_to_try_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A click model alone has no row."""
    assert main(["sample", "--submit", str(EXAMPLES / "trusting.py")]) == 2
    assert "--submit: trusting.py brings no method, rule, attack or partition" in capsys.readouterr().err


RULES = """
from simulation import RuleSettings

class {name}(RuleSettings, frozen=True, tag="{tag}"):
    share: float{default}

    def combine(self, rows, weights=None):
        return self.share * rows[0]
"""


def test_what_can_run_nowhere_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule whose settings nobody gives is one line that names them, not a board without its row."""
    own = tmp_path / "own.py"
    own.write_text(RULES.format(name="Scaled", tag="scaled", default="") + 'RULES = {"scaled": Scaled}')
    assert main(["sample", "--submit", str(own)]) == 2
    captured = capsys.readouterr()
    assert "aggregation: share is missing" in captured.err
    assert captured.out == ""


@pytest.mark.usefixtures("small")
def test_each_entry_of_a_file_is_shown_by_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the first alone."""
    own = tmp_path / "own.py"
    both = [RULES.format(name=name, tag=name.lower(), default=" = 0.5") for name in ("One", "Two")]
    own.write_text("\n".join([*both, 'RULES = {"one": One, "two": Two}']))
    assert main(["sample", "--submit", str(own), "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert all(f"fpdgd, {name}, trial by trial" in shown for name in ("one", "two"))


@pytest.mark.usefixtures("small")
def test_a_failed_cell_is_told_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The board has no row of a rule that fails everywhere, and the code is that of a study with failed cells."""
    own = tmp_path / "own.py"
    own.write_text(RULES.format(name="Short", tag="short", default=" = 0.5") + 'RULES = {"short": Short}')
    own.write_text(own.read_text().replace("rows[0]", "rows[0][:3]"))
    assert main(["sample", "--submit", str(own), "--jobs", "1"]) == 1
    captured = capsys.readouterr()
    assert "failed: short must give [46], not [3]" in captured.err
    assert "trial by trial" not in captured.out


def test_the_shipped_board_is_of_these_data_and_trials() -> None:
    """Every entry that comes with the program has its row for the sample, with a score wherever there are cells."""
    board, known = shipped("sample", None), ours()
    assert set(board) == set(known)
    for entry, ahead in ((entry, known[entry]) for entry in board):
        for group, changed in leaderboard.TRIALS.items():
            for trial, changes in changed.items():
                enough = (entry, group) != ("fpdgd, bulyan", "forgetting")  # who stay are fewer rows than it takes
                if enough and trial in board[entry]:
                    assert cells_of("sample", (entry, trial), {**ahead, **changes}, None, ())
                elif enough:
                    with pytest.raises(FoltrError):
                        cells_of("sample", (entry, trial), {**ahead, **changes}, None, ())
                else:
                    assert trial not in board[entry]


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
    partly = grid({**board, "z": {"a": Score(0.9, 0.0), "c": Score(0.4, 0.0)}}, trials, "data", new=[])
    assert [*partly.rows[-1]] == ["z", "-", "-", "-"], "one easy trial of a group is no mean of it"
    others = {"y": {"d": Score(0.4, 0.0), "c": Score(0.1, 0.0)}, "z": {"d": Score(0.3, 0.0)}}
    rows = by_trial({**board, **others}, trials, "x").rows
    assert [list(row) for row in rows] == [
        ["a", "0.5000 ± 0.0000", "2 of 2", "0.6000", "0.6000", "fpdgd"],
        ["b", "0.3000 ± 0.0000", "1 of 2", "0.2000", "0.2000", "fpdgd"],
        ["c", "0.2000 ± 0.0000", "1 of 2", "-", "0.1000", "y"],
        ["d", "0.1000 ± 0.0000", "3 of 3", "-", "0.4000", "y"],
    ]
