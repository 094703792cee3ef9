"""Loading folds by the name of a data set or by a path: found, read, checked against the registry, brought to scale.

A path may be a folder with Fold1, Fold2, ..., a folder with a train and a test file, or one file, which makes five
folds: fold i tests on every fifth query from the i-th on and trains on the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from simulation.dataset_info import DATASETS, DatasetInfo
from simulation.errors import DataFileError, DatasetError
from simulation.fold_files import FoldFiles, find_folds
from simulation.letor_cache import Cache, NonContiguous, load_file
from simulation.normalisation import OneDocument
from simulation.queries import Fold, QuerySet
from simulation.query_subsets import joined, selected, widened
from simulation.synthetic_folds import generated_fold

__all__ = ["DATASETS", "DatasetInfo", "folds_present", "load_fold"]

_SAMPLES = Path(__file__).parent / "samples"
_PARTS_OF_A_FILE = 5


def load_fold(
    name_or_path: str | Path,
    number: int = 1,
    *,
    root: Path | None = None,
    normalise: str | None = None,
    one_document: OneDocument = "zero",
    non_contiguous: NonContiguous = "merge",
    cache: Cache = "default",
) -> Fold:
    """One fold, every part with the same features.

    name_or_path    a name in DATASETS, else a path; a relative path with the name of a data set is written ./NAME
    number          from 1
    root            for names: the folder of the data set, or one that holds it under an accepted name
    normalise       one of simulation.normalisation.NORMALISATIONS; None for the default of the data set, which is
                    "none" for a path
    one_document, non_contiguous, cache  as in `normalise_queries` and `load_file`

    Queries without relevant documents stay. DatasetError when the set, the fold or a part of it is missing, or is not
    what the registry says; DataFileError when a file cannot be read.
    """
    info = DATASETS.get(str(name_or_path))
    how = normalise if normalise is not None else info.normalise if info else "none"
    present = folds_present(name_or_path, root)
    if number not in present:
        raise DatasetError(f"{name_or_path}: fold {number} is not there, only {', '.join(map(str, present))}")
    if info is not None and info.layout == "generated":
        return generated_fold(str(name_or_path), number, normalise=how, one_document=one_document, cache=cache)
    read = partial(
        load_file,
        non_contiguous=non_contiguous,
        normalise=how,
        one_document=one_document,
        n_features=info.n_features if info and not info.dense else 0,
        cache=cache,
    )
    place = _place(name_or_path, info, root)
    if place.is_file():
        return _every_fifth(place, read(place), number)
    return _fold_of(number, find_folds(place)[number], read, str(name_or_path), info)


def folds_present(name_or_path: str | Path, root: Path | None = None) -> tuple[int, ...]:
    """The numbers of the folds that are there; DatasetError when there is none."""
    info = DATASETS.get(str(name_or_path))
    if info is not None and info.layout == "generated":
        return tuple(range(1, info.n_folds + 1))
    place = _place(name_or_path, info, root)
    return tuple(range(1, _PARTS_OF_A_FILE + 1)) if place.is_file() else tuple(find_folds(place))


def _fold_of(
    number: int, files: FoldFiles, read: Callable[[Path], QuerySet], name: str, info: DatasetInfo | None
) -> Fold:
    """A fold as its files have it, checked, with equally many features in every part."""
    parts = [[(path, read(path)) for path in paths] for paths in (files.train, files.test, files.validation)]
    if info is not None:
        for path, data in (found for part in parts for found in part):
            _check(path, data, name, info, dense=info.dense and path in files.train)
    wide = info.n_features if info else max(data.n_features for part in parts for _, data in part)
    train, test, *validation = (joined([widened(data, wide) for _, data in part]) for part in parts if part)
    return Fold(number, train, test, *validation)


def _place(name_or_path: str | Path, info: DatasetInfo | None, root: Path | None) -> Path:
    """The folder or file where a data set is; DatasetError says what was looked for."""
    if name_or_path == "sample":
        return _SAMPLES / DATASETS["sample"].folders[0]
    if info is not None:
        return _named_folder(str(name_or_path), info, root)
    place = Path(name_or_path)
    if place.is_file() or find_folds(place):
        return place
    known = ", ".join(DATASETS)
    if not place.exists():
        raise DatasetError(f"{name_or_path} is neither a data set ({known}) nor a file or folder")
    raise DatasetError(f"{place}: {_EXPECTED['folds']}, or {_EXPECTED['one split']}, was expected")


def _named_folder(name: str, info: DatasetInfo, root: Path | None) -> Path:
    """The folder of a registered data set below `root`, or `root` itself unless its name is that of another set."""
    if root is not None and root.is_dir():
        accepted = {folder.lower() for folder in info.folders}
        below = sorted(path for path in root.iterdir() if path.name.lower() in accepted)
        others = {folder.lower() for other in DATASETS.values() for folder in other.folders} - accepted
        itself = [root] if root.resolve().name.lower() not in others else []
        for folder in (*below, *itself):
            if find_folds(folder):
                return folder
    where = f"not in {root}" if root is not None else "no folder of data was named"
    raise DatasetError(
        f"{name} ({info.title}) is not there: {where}. Its owner publishes it at {info.page}. "
        f"Expected: a folder {' or '.join(info.folders)} with {_EXPECTED[info.layout]}. {info.licence}"
    )


_EXPECTED = {
    "folds": "Fold1, Fold2, ... with train.txt, vali.txt and test.txt each (or .txt.gz, .txt.xz)",
    "one split": "train.txt and test.txt, perhaps vali.txt (Yahoo: set1.train.txt and so on; or .txt.gz, .txt.xz)",
    "test parts": "the disjoint files Fold1_test.txt, Fold2_test.txt, ... (or .txt.gz, .txt.xz)",
}


def _check(path: Path, data: QuerySet, name: str, info: DatasetInfo, *, dense: bool) -> None:
    """Compare what was read with what the name promises."""
    n, top = data.n_features, int(data.grades.max())
    if n > info.n_features or (n < info.n_features and dense):
        raise DataFileError(path, f"{name} has {info.n_features} features, {n} came")
    if top > info.top_grade:
        raise DataFileError(path, f"{name} has grades from 0 to {info.top_grade}, {top} came")


def _every_fifth(path: Path, data: QuerySet, number: int) -> Fold:
    """Fold `number` of one file: test on queries number - 1, number + 4, ..., train on the others."""
    if data.n_queries < _PARTS_OF_A_FILE:
        raise DataFileError(path, f"at least {_PARTS_OF_A_FILE} queries were expected to split, {data.n_queries} came")
    tested = np.arange(data.n_queries) % _PARTS_OF_A_FILE == number - 1
    return Fold(number, selected(data, np.flatnonzero(~tested)), selected(data, np.flatnonzero(tested)))
