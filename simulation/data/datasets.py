"""Loading folds by the name of a data set or by a path: found, read, checked against the registry, brought to scale.

A path may be a folder with Fold1, Fold2, ..., a folder with a train and a test file, or one file, which makes five
folds: fold i tests on every fifth query from the i-th on and trains on the others.

Judgements may stand apart from features, in TREC's format: `query set document label`, one document of a query a line.
The published intents of thesis Section 4.3 come so, one file for each of several ways to judge the same documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from simulation.data import known_datasets
from simulation.data.cache import Cache, load_file, source_hash
from simulation.data.known_datasets import DATASETS, PARTS_OF_A_FILE, DatasetInfo, FoldFiles, folds_present
from simulation.data.letor import blocks, open_text
from simulation.data.queries import Fold, OneDocument, QuerySet, join, select, widen
from simulation.data.search_log import load_log
from simulation.data.synthetic import generated_fold
from simulation.errors import DataFileError, DatasetError

TOP_LABEL = 4


class Judgements(Struct, frozen=True):
    """What one file says."""

    path: Path
    labels: Mapping[tuple[str, str], int]
    """by query and document"""

    @classmethod
    def read(cls, path: Path) -> Judgements:
        """Read a whole file; DataFileError names the first line that cannot be read."""
        labels: dict[tuple[str, str], int] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataFileError(path, f"cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            words = line.split()
            if len(words) != 4 or not words[3].isdecimal() or int(words[3]) > TOP_LABEL:
                wanted = f"`query set document label` was expected, the label from 0 to {TOP_LABEL}"
                raise DataFileError(path, f"{wanted}, {line!r} came", line=number)
            labels[words[0], words[2]] = int(words[3])
        return cls(path, labels)

    def of(self, queries: QuerySet) -> npt.NDArray[np.int8]:
        """The label of every document `[n_docs]`; DataFileError for one that the file does not have."""
        names = queries.docids or ("",) * len(queries.grades)
        asked = np.repeat(np.array(queries.qids), np.diff(queries.offsets)).tolist()
        try:
            return np.array([self.labels[pair] for pair in zip(asked, names, strict=True)], dtype=np.int8)
        except KeyError as error:
            qid, docid = error.args[0]
            wanted = f"a label of document {docid or 'without a name'} for query {qid} was expected"
            raise DataFileError(self.path, f"{wanted}, none came") from error


def relabelled(queries: QuerySet, grades: Judgements, *label_sets: Judgements) -> QuerySet:
    """The queries with other grades, and with label sets besides; DataFileError where a file lacks a document."""
    sets = np.array([judgements.of(queries) for judgements in label_sets], dtype=np.int8)
    return replace(queries, grades=grades.of(queries), label_sets=sets if label_sets else None)


__all__ = ["DATASETS", "MOST_ACTIVE", "Askers", "folds_present", "load_fold"]

LOGS = tuple(name for name, info in DATASETS.items() if info.layout == "log")
"""data sets that say who asked"""
TRAINED_ON = 0.8
"""of a log: the share of the queries, the oldest, that is learned from (AOL4FOLTR, experiment.py)"""

MOST_ACTIVE = 100
"""users of a log, unless a study says how many (the same program)"""


class Askers(Struct, frozen=True):
    """Whose queries of a log are studied."""

    users: int = MOST_ACTIVE
    """how many: those who asked most"""
    without: tuple[str, ...] = ()
    """users to leave out"""


def load_fold(
    name_or_path: str | Path,
    number: int = 1,
    *,
    root: Path | None = None,
    normalise: str | None = None,
    one_document: OneDocument = "zero",
    askers: Askers | None = None,
    cache: Cache = "default",
) -> Fold:
    """One fold, every part with the same features.

    name_or_path    a name in DATASETS, else a path; a relative path with the name of a data set is written ./NAME
    number          from 1
    root            for names: the folder of the data set, or one that holds it under an accepted name
    normalise       one of simulation.data.queries.NORMALISATIONS; None for the default of the data set, which is
                    "none" for a path
    one_document, cache  as in `normalise_queries` and `load_file`
    askers          of a log of searches: whose queries; None for those of the hundred who asked most

    Queries without relevant documents stay. DatasetError when the set, the fold or a part of it is missing, or is not
    what the registry says; DataFileError when a file cannot be read.
    """
    info = DATASETS.get(str(name_or_path))
    if askers is not None and (info is None or info.layout != "log"):
        raise DatasetError(f"data.users: {name_or_path} does not say who asked; {', '.join(LOGS)} does")
    check_present(name_or_path, number, root)
    how = normalise if normalise is not None else info.normalise if info else "none"
    if info is not None and info.layout == "generated":
        return generated_fold(str(name_or_path), number, normalise=how, one_document=one_document, cache=cache)
    read = partial(
        load_file,
        normalise=how,
        one_document=one_document,
        n_features=info.n_features if info and not info.dense else 0,
        cache=cache,
    )
    place = known_datasets.dataset_place(name_or_path, root)
    if info is not None and info.layout == "log":
        return _log_fold(place, read, askers or Askers(), name=str(name_or_path), info=info, cache=cache)
    if place.is_file():
        return _every_fifth(place, read(place), number)
    if info is not None and info.layout == "whole":
        return _whole(place, read, str(name_or_path), info)
    return _fold_of(number, known_datasets.find_folds(place)[number], read, str(name_or_path), info)


def check_present(name_or_path: str | Path, number: int, root: Path | None) -> None:
    """DatasetError for a fold that is not there."""
    present = folds_present(name_or_path, root)
    if number not in present:
        raise DatasetError(f"{name_or_path}: fold {number} is not there, only {', '.join(map(str, present))}")


def _fold_of(
    number: int, files: FoldFiles, read: Callable[[Path], QuerySet], name: str, info: DatasetInfo | None
) -> Fold:
    """A fold as its files have it, checked, with equally many features in every part."""
    parts = [[(path, read(path)) for path in paths] for paths in (files.train, files.test, files.validation)]
    if info is not None:
        for path, data in (found for part in parts for found in part):
            _check(path, data, name, info, dense=info.dense and path in files.train)
    wide = info.n_features if info else max(data.n_features for part in parts for _, data in part)
    train, test, *validation = (join([widen(data, wide) for _, data in part]) for part in parts if part)
    return Fold(number, train, test, *validation)


def _whole(place: Path, read: Callable[[Path], QuerySet], name: str, info: DatasetInfo) -> Fold:
    """All parts as one fold with the labels of the judgements beside them."""
    judgements = [Judgements.read(place / file) for file in info.labels]
    parts = []
    for path in (path for files in known_datasets.find_folds(place).values() for path in files.test):
        parts.append(relabelled(read(path), *judgements))
        _check(path, parts[-1], name, info, dense=info.dense)
    queries = join(parts)
    return Fold(1, queries, queries)


def _log_fold(
    place: Path, read: Callable[..., QuerySet], askers: Askers, *, name: str, info: DatasetInfo, cache: Cache
) -> Fold:
    """The queries of some users in order of time: the first `TRAINED_ON` of them to learn from, the rest to test.

    Queries that the log names and the text lacks are passed over, as the text's own writer did.
    """
    files = known_datasets.find_log(place)
    if files is None:
        raise DatasetError(f"{place} has no letor.txt beside a metadata.csv any more")
    log = load_log(files.metadata, users=askers.users, without=askers.without, cache=cache)
    data = read(files.letor, queries=log.qids)
    _check(files.letor, data, name, info, dense=True)
    rows = {qid: query for query, qid in enumerate(data.qids)}
    there = [(rows[qid], asker) for qid, asker in zip(log.qids, log.askers, strict=True) if qid in rows]
    in_time = replace(select(data, [query for query, _ in there]), askers=tuple(asker for _, asker in there))
    n_train = int(len(there) * TRAINED_ON)
    if not 0 < n_train < len(there):
        raise DataFileError(files.letor, f"at least two queries of {askers.users} users were expected")
    parts = (select(in_time, range(first, past)) for first, past in ((0, n_train), (n_train, len(there))))
    return Fold(1, *parts)


def _check(path: Path, data: QuerySet, name: str, info: DatasetInfo, *, dense: bool) -> None:
    """Compare what was read with what the name promises."""
    n, top = data.n_features, int(data.grades.max())
    if n > info.n_features or (n < info.n_features and dense):
        raise DataFileError(path, f"{name} has {info.n_features} features, {n} came")
    if top > info.top_grade:
        raise DataFileError(path, f"{name} has grades from 0 to {info.top_grade}, {top} came")


def line_of_grade_above(top: int, place: Path, number: int) -> tuple[Path, int, str]:
    """The first line of a fold below `place`, a file or folder, whose grade is above `top`: file, line and grade.

    LookupError where there is none.
    """
    files = (place,) if place.is_file() else known_datasets.find_folds(place)[number].all
    for path in files:
        with open_text(path) as stream:
            lines = (text for block in blocks(stream) for text in block[:-1].split(b"\n"))
            for line, text in enumerate(lines, start=1):
                grade = text.split(maxsplit=1)[:1]
                if grade and grade[0][:1].isdigit() and float(grade[0]) > top:
                    return path, line, grade[0].decode()
    raise LookupError(f"no grade above {top} in fold {number} of {place}")


def _every_fifth(path: Path, data: QuerySet, number: int) -> Fold:
    """Fold `number` of one file: test on queries number - 1, number + 4, ..., train on the others."""
    if data.n_queries < PARTS_OF_A_FILE:
        raise DataFileError(path, f"at least {PARTS_OF_A_FILE} queries were expected to split, {data.n_queries} came")
    tested = np.arange(data.n_queries) % PARTS_OF_A_FILE == number - 1
    return Fold(number, select(data, np.flatnonzero(~tested)), select(data, np.flatnonzero(tested)))


PLACEHOLDER = "PATH"
"""for a data set that is given by its path, which is nobody else's business"""


def fold_digests(dataset: str, fold: Fold, root: Path | None) -> dict[str, str]:
    """Which bytes a fold was made of, by the name of each file: what ties a row of results to the data measured on.

    Of `mq2008/Fold1/train.txt` it is BLAKE2b with 20 bytes of everything in it, as it lies on disk (`b2sum -l 160 FILE`
    prints the same); of a part that is made up, the same of its numbers.
    """
    info = DATASETS.get(dataset)
    name = dataset if info else PLACEHOLDER
    if info is not None and info.layout == "generated":
        parts = {"train": fold.train, "test": fold.test, "validation": fold.validation}
        return {f"{name}/Fold{fold.number}/{part}": _digest(data) for part, data in parts.items() if data}
    place = known_datasets.dataset_place(dataset, root)
    if place.is_file():
        return {name: source_hash(place)}
    return {
        f"{name}/{path.relative_to(place).as_posix()}": source_hash(path) for path in _files(place, fold.number, info)
    }


def fold_digest(digests: Mapping[str, str]) -> str:
    """One digest of a fold's files, whatever their names: BLAKE2b with 20 bytes of theirs, sorted, a line each."""
    text = "".join(f"{digest}\n" for digest in sorted(digests.values()))
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def impostor(dataset: str, fold: Fold, digests: Mapping[str, str]) -> str:
    """`NOT LETOR 4.0 MQ2007: 1,438 queries in fold 1, it has 1,692`: data that are not those of that name; else "".

    They are recognised by their bytes if the set was ever at hand here, else by the number of their queries.
    """
    info = DATASETS.get(dataset)
    if info is None or info.layout == "generated":
        return ""
    title, n = info.title.partition(",")[0], sum(part.n_queries for part in fold.parts)
    if info.digests:
        return "" if fold_digest(digests) in info.digests else f"NOT {title}: other bytes in fold {fold.number}"
    if info.n_queries and n != info.n_queries:
        return f"NOT {title}: {n:,} queries in fold {fold.number}, it has {info.n_queries:,}"
    return ""


def _files(place: Path, number: int, info: DatasetInfo | None) -> tuple[Path, ...]:
    """The files that a fold is read from, those of labels beside it too."""
    if log := known_datasets.find_log(place):
        return log
    folds = known_datasets.find_folds(place)
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
