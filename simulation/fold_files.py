"""Which files make the folds of a data set: the layouts that owners use, and the spellings that they take on disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from simulation.errors import DatasetError

_ENDINGS = ("", ".gz", ".xz")
_PARTS = {
    "train": ("train.txt", "set1.train.txt", "train.letor", "train.svm", "train.dat"),
    "validation": (
        "vali.txt", "valid.txt", "validation.txt", "val.txt", "set1.valid.txt", "vali.letor", "vali.svm", "vali.dat",
    ),
    "test": ("test.txt", "set1.test.txt", "test.letor", "test.svm", "test.dat"),
}  # fmt: skip
_FOLD = re.compile(r"fold[-_ ]?(\d{1,3})", re.IGNORECASE)
_TEST_PART = re.compile(r"fold[-_ ]?(\d{1,3})[-_]test\.(?:txt|letor|svm|dat)(?:\.gz|\.xz)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoldFiles:
    """The files of one fold; several are one after the other."""

    train: tuple[Path, ...]
    test: tuple[Path, ...]
    validation: tuple[Path, ...] = ()


def find_folds(folder: Path) -> dict[int, FoldFiles]:
    """The folds in a folder by their numbers, {} when there are none.

    Fold1, Fold2, ... with train and test files come first; then disjoint parts Fold1_test.txt, ..., of which fold i
    tests on part i and trains on all others; then train and test files in the folder itself, as fold 1.
    """
    if not folder.is_dir():
        return {}
    entries = entries_of(folder)
    numbered = ((match, path) for path in entries if path.is_dir() and (match := _FOLD.fullmatch(path.name)))
    folds = {int(match[1]): split for match, path in numbered if (split := _split(path)) is not None}
    if folds:
        return dict(sorted(folds.items()))
    parts = {int(match[1]): path for path in entries if path.is_file() and (match := _TEST_PART.fullmatch(path.name))}
    if len(parts) > 1:
        parts = dict(sorted(parts.items()))
        return {n: FoldFiles(tuple(p for m, p in parts.items() if m != n), (path,)) for n, path in parts.items()}
    split = _split(folder)
    return {1: split} if split is not None else {}


def entries_of(folder: Path) -> list[Path]:
    """What a folder holds, sorted; DatasetError where it may not be looked into."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DatasetError(f"{folder} cannot be read: {error.strerror or error}") from error


def _split(folder: Path) -> FoldFiles | None:
    """Train, validation and test file of one folder; None without the first and the last."""
    found = {part: _first(folder, names) for part, names in _PARTS.items()}
    if not found["train"] or not found["test"]:
        return None
    return FoldFiles(**found)


def _first(folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The first spelling that is there, plain before compressed."""
    paths = (folder / (name + ending) for ending in _ENDINGS for name in names)
    return next(((path,) for path in paths if path.is_file()), ())
