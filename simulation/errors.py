"""The errors of the laboratory.

FoltrError (foltr.errors)
└── SimulationError      the laboratory cannot do what was asked
    ├── DatasetError     a data set is missing, incomplete, or not what its name promises
    │   └── DataFileError   a line or a part of a data file cannot be read
    └── PresetError      a preset or a setting of a study is not valid

Front ends turn any of them into one line and exit code 2.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

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


@contextmanager
def heard_interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets beside raising: numpy turns one that falls into a comparison into its own TypeError.

    An error that comes after it leaves as KeyboardInterrupt. Nothing is heard where SIGINT is ignored, or in a thread.
    """
    heard = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield heard
        return
    then = before

    def hear(number: int, frame: FrameType | None) -> None:
        heard.set()
        then(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    except Exception as error:
        if heard.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
