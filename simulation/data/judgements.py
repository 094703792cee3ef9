"""Judgements apart from features, in TREC's format: `query set document label`, one document of a query a line.

The published intents of thesis Section 4.3 come so, one file for each of several ways to judge the same documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simulation.data.queries import QuerySet
from simulation.errors import DataFileError

TOP_LABEL = 4


@dataclass(frozen=True, slots=True)
class Judgements:
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
