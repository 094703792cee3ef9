"""Errors say where, and travel between processes."""

from __future__ import annotations

import pickle
from pathlib import Path

from foltr.errors import FoltrError
from simulation.errors import DataFileError, DatasetError, PresetError, SimulationError


def test_a_data_file_error_names_file_and_line() -> None:
    """With the line where one is known, else the file alone."""
    assert (
        str(DataFileError(Path("a.txt"), "x was expected, y came", line=3)) == "a.txt, line 3: x was expected, y came"
    )
    assert str(DataFileError(Path("a.txt"), "cannot be read")) == "a.txt: cannot be read"


def test_errors_come_whole_from_another_process() -> None:
    """A worker's error is the same behind a pickle as before it."""
    for error in (DataFileError(Path("a.txt"), "no", line=3), DataFileError(Path("a.txt"), "no"), DatasetError("no")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
    assert pickle.loads(pickle.dumps(DataFileError(Path("a.txt"), "no", line=3))).line == 3


def test_the_tree_is_one() -> None:
    """Front ends catch every one of them as a FoltrError."""
    for kind in (DataFileError, DatasetError, PresetError):
        assert issubclass(kind, SimulationError)
    assert issubclass(SimulationError, FoltrError)
