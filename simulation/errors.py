"""The errors of the laboratory.

FoltrError (foltr.errors)
└── SimulationError      the laboratory cannot do what was asked
    ├── DatasetError     a data set is missing, incomplete, or not what its name promises
    │   └── DataFileError   a line or a part of a data file cannot be read
    └── PresetError      a preset or a setting of a study is not valid

Front ends turn any of them into one line and exit code 2.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from foltr.errors import FoltrError


class SimulationError(FoltrError):
    """The laboratory cannot do what was asked."""


class DatasetError(SimulationError):
    """A data set is missing, incomplete, or not what its name promises."""


class DataFileError(DatasetError):
    """A data file cannot be read: file, line (from 1; None for the file as a whole), what was wanted, what came."""

    def __init__(self, path: Path, message: str, *, line: int | None = None) -> None:
        self.path = path
        self.message = message
        self.line = line
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> tuple[partial[DataFileError], tuple[Path, str]]:
        """How another process gets it: as it was made."""
        return partial(DataFileError, line=self.line), (self.path, self.message)


class PresetError(SimulationError):
    """A preset or a setting of a study is not valid."""
