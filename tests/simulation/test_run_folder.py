"""What a run leaves behind: rows that outlive a killed process, folders that are never overwritten."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from simulation import run_folder
from simulation.errors import SimulationError
from simulation.run_folder import (
    METRICS,
    Row,
    RowWriter,
    begin_run,
    hold,
    read_run,
    replace_file,
    resume_run,
    write_csv,
)

PRESET = {"data": {"dataset": "synthetic"}, "method": {"name": "fpdgd", "learning_rate": 0.1}}

WRITE_FOR_EVER = """
import sys
from pathlib import Path
from simulation.run_folder import Row, RowWriter

with RowWriter(Path(sys.argv[1])) as writer:
    for number in range(10**9):
        cell = f"cell-{number // 5}"
        text = {"text": "x" * 3000}
        writer.write(Row(cell=cell, settings=text, fold=1, seed=1, round=number % 5, interactions=number))
        if number % 5 == 4:
            writer.finish(cell)
        if number == 100:
            print("writing", flush=True)
"""


def row(cell: str = "a", *, number: int = 0, **values: float) -> Row:
    return Row(cell=cell, settings={"users.clicks": "perfect"}, fold=1, seed=2, round=number, interactions=5, **values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    begin_run(tmp_path / "run", PRESET)
    return tmp_path / "run"


def test_what_is_written_is_read_back(folder: Path) -> None:
    """Rows come back in their order and equal to what was written, at once, with the cells that were finished."""
    rows = [row(number=0, offline_ndcg=0.1 + 0.2), row(number=1), row("b")]
    with RowWriter(folder) as writer:
        for n, one in enumerate(rows, 1):
            writer.write(one)
            assert len(read_run(folder).rows) == n
        writer.finish("a", seconds=1.5)
    stored = read_run(folder)
    assert stored.rows == tuple(rows)
    assert stored.finished == {"a"}
    assert stored.complete == tuple(rows[:2])


def test_a_killed_writer_loses_at_most_the_line_it_was_writing(folder: Path) -> None:
    """After kill -9 everything but a cut last line is read, and the run goes on without a glued line."""
    child = subprocess.Popen([sys.executable, "-c", WRITE_FOR_EVER, str(folder)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"writing\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    stored = read_run(folder)
    assert len(stored.rows) > 100
    assert [r.interactions for r in stored.rows] == list(range(len(stored.rows)))
    assert len(stored.finished) in (len(stored.rows) // 5, len(stored.rows) // 5 - 1)

    kept = resume_run(folder)
    assert len(kept.rows) == 5 * len(kept.finished)
    with RowWriter(folder) as writer:
        writer.write(row("new"))
    assert read_run(folder).rows == (*kept.rows, row("new"))


@pytest.mark.parametrize("cut", [1, 50])
def test_a_cut_last_line_is_passed_over(folder: Path, cut: int) -> None:
    """A line without its end is no row, and the next one does not hang on to it."""
    with RowWriter(folder) as writer:
        writer.write(row(number=0))
        writer.write(row(number=1))
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert [r.round for r in read_run(folder).rows] == [0]
    with RowWriter(folder) as writer:
        writer.write(row(number=2))
    assert [r.round for r in read_run(folder).rows] == [0, 2]


def test_a_damaged_line_in_the_middle_is_an_error_with_its_place(folder: Path) -> None:
    """Only the end of a file may be broken by a kill; anything else names file and line."""
    (folder / "rows.jsonl").write_bytes(b'{"cell": 3}\n')
    with pytest.raises(SimulationError, match=r"rows\.jsonl, line 1: wanted a Row"):
        read_run(folder)


def test_going_on_takes_out_the_rows_of_unfinished_cells(folder: Path) -> None:
    """A cell that was not finished begins again, so its rows would be there twice."""
    with RowWriter(folder) as writer:
        writer.write(row("a"))
        writer.write(row("b"))
        writer.finish("a")
        writer.write(row("b", number=1))
    assert resume_run(folder).rows == (row("a"),)
    assert read_run(folder).rows == (row("a"),)


def test_a_finished_cell_whose_rows_are_lost_is_not_finished(folder: Path) -> None:
    """It runs again, and no run is over without a row."""
    with RowWriter(folder) as writer:
        writer.write(row("a"))
        writer.finish("a")
    (folder / "rows.jsonl").write_bytes(b"")
    assert resume_run(folder).finished == frozenset()


def test_a_folder_with_a_run_is_refused_and_left_alone(folder: Path) -> None:
    """Without --resume nothing in a used folder is touched."""
    with RowWriter(folder) as writer:
        writer.write(row())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(SimulationError, match="holds a run already: use --resume"):
        begin_run(folder, PRESET)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """A run does not mix with somebody's other files."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SimulationError, match="is not empty"):
        begin_run(tmp_path, PRESET)
    with pytest.raises(SimulationError, match="this is a file"):
        begin_run(tmp_path / "thesis.tex", PRESET)


def test_an_empty_folder_is_taken_and_the_preset_is_in_it(tmp_path: Path) -> None:
    """The resolved preset can be read back as TOML."""
    begin_run(tmp_path, PRESET)
    assert tomllib.loads((tmp_path / "preset.toml").read_text()) == PRESET
    assert resume_run(tmp_path).rows == ()


def test_one_process_at_a_time_writes_a_run(folder: Path) -> None:
    """Rows of two that go on with it would be there twice; a kill lets the next one in."""
    program = "import sys; from simulation.run_folder import *; held = hold(Path(sys.argv[1])); print(); input()"
    command = [sys.executable, "-uc", program, str(folder)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"\n"
    with pytest.raises(SimulationError, match="another process runs there now"):
        hold(folder)
    other.kill()
    other.communicate()
    hold(folder).close()


def test_two_processes_that_begin_at_once_do_not_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both found it empty; one of them begins, and the other's preset is not put over its own."""
    check = run_folder.check_new
    with monkeypatch.context() as first:
        first.setattr(run_folder, "check_new", lambda folder: (first.undo(), check(folder), begin_run(folder, PRESET)))
        with pytest.raises(SimulationError, match=r"another process runs there now|holds a run already"):
            begin_run(tmp_path, {"data": {"dataset": "other"}})
    assert tomllib.loads((tmp_path / "preset.toml").read_text()) == PRESET


def test_the_table_has_the_settings_as_columns(folder: Path) -> None:
    """Every number can be read back exactly; what was not measured, or not swept for a row, is empty."""
    other = Row(cell="b", settings={"method.epsilon": 2.5}, fold=1, seed=2, round=3, interactions=4)
    with write_csv(folder, [row(offline_ndcg=0.1 + 0.2), other]).open(newline="") as file:
        first, second = csv.DictReader(file)
    assert list(first)[:4] == ["cell", "users.clicks", "method.epsilon", "fold"]
    assert float(first["offline_ndcg"]) == 0.1 + 0.2
    assert (first["method.epsilon"], second["users.clicks"], second["offline_ndcg"]) == ("", "", "")
    assert set(METRICS) < set(first)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """A write that fails leaves the old content and no name for readers to trip over; the umask says who reads."""
    os.umask(0o027)
    path = tmp_path / "summary.json"
    replace_file(path, b"old")
    with pytest.raises(TypeError):
        replace_file(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    replace_file(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]
