"""Which bytes a fold was made of: what ties a row of results to the data that it was measured on.

Of a file it is BLAKE2b with 20 bytes of everything in it, as it lies on disk (`b2sum -l 160 FILE` prints the same); of
a fold that is made up, the same of its numbers. The cache of parsed files has hashed each file already.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from simulation.data.cache import source_hash
from simulation.data.places import DATASETS, DatasetInfo, dataset_place, find_folds, find_log
from simulation.data.queries import Fold, QuerySet

PLACEHOLDER = "PATH"
"""for a data set that is given by its path, which is nobody else's business"""


def fold_digests(dataset: str, fold: Fold, root: Path | None) -> dict[str, str]:
    """By the name of each file, `mq2008/Fold1/train.txt`, its digest; by that of each part where nothing is a file."""
    info = DATASETS.get(dataset)
    name = dataset if info else PLACEHOLDER
    if info is not None and info.layout == "generated":
        parts = {"train": fold.train, "test": fold.test, "validation": fold.validation}
        return {f"{name}/Fold{fold.number}/{part}": _digest(data) for part, data in parts.items() if data}
    place = dataset_place(dataset, root)
    if place.is_file():
        return {name: source_hash(place)}
    return {
        f"{name}/{path.relative_to(place).as_posix()}": source_hash(path) for path in _files(place, fold.number, info)
    }


def _files(place: Path, number: int, info: DatasetInfo | None) -> tuple[Path, ...]:
    """The files that a fold is read from, those of labels beside it too."""
    if log := find_log(place):
        return (log.letor, log.metadata)
    folds = find_folds(place)
    if info is not None and info.layout == "whole":
        parts = (path for files in folds.values() for path in files.test)
        return (*parts, *(place / file for file in info.labels))
    return folds[number].all


def _digest(data: QuerySet) -> str:
    """Of grades, ends of queries and features as they are learned from."""
    digest = hashlib.blake2b(digest_size=20)
    for values in (data.grades, data.offsets, data.features):
        digest.update(np.ascontiguousarray(values).data.cast("B"))
    return digest.hexdigest()
