"""Made-up folds by the names of the registry, kept in the cache; and the small sample that is written as LETOR text.

python -m simulation.synthetic_folds FOLDER    writes the sample's files
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from simulation.letor import LetorText
from simulation.letor_binary import VERSION, read_binary, write_binary
from simulation.letor_cache import Cache, chosen_folder
from simulation.normalisation import OneDocument, normalise_queries
from simulation.queries import Fold, QuerySet
from simulation.synthetic import MQ2007_SHAPE, MSLR_SHAPE, make_queries, make_world

SHAPES = {"synthetic": MSLR_SHAPE, "synthetic-mq2007": MQ2007_SHAPE}

SAMPLE_SHAPE = replace(MQ2007_SHAPE, documents=15.0, spread=0.5, fewest=1, n_queries=(20, 20, 20))

GENERATION = 1
"""Grows whenever the same arguments make other queries."""

_SEED = 2021
_PARTS = ("train", "validation", "test")


def generated_fold(
    name: str,
    number: int,
    *,
    normalise: str = "none",
    one_document: OneDocument = "zero",
    cache: Cache = "default",
) -> Fold:
    """Fold `number` of a made-up set: other queries in each fold and part, one world for all of them."""
    shape, folder = SHAPES[name], chosen_folder(cache)

    def make(part: int) -> QuerySet:
        queries = make_queries(shape, make_world(shape, _SEED), shape.n_queries[part], key=(_SEED, number, part))
        return normalise_queries(queries, normalise, one_document=one_document)

    arguments = repr((shape, GENERATION, _SEED, normalise, one_document)).encode()
    mark = hashlib.blake2b(arguments, digest_size=10).hexdigest()
    train, validation, test = (
        _kept(folder / f"{name}-{number}-{_PARTS[part]}-{mark}.v{VERSION}" if folder else None, partial(make, part))
        for part in range(len(_PARTS))
    )
    return Fold(number, train, test, validation)


def _kept(binary: Path | None, make: Callable[[], QuerySet]) -> QuerySet:
    """What `make` gives, from its binary where that is there; a folder that refuses is done without."""
    if binary is None:
        return make()
    kept = read_binary(binary)
    if kept is None:
        kept = LetorText(make(), (), None)
        with contextlib.suppress(OSError):
            binary.parent.mkdir(parents=True, exist_ok=True)
            write_binary(binary, kept)
            kept = read_binary(binary, verify=False) or kept
    return kept.queries


def write_sample(folder: Path) -> None:
    """Write Fold1_test.txt to Fold3_test.txt, 20 queries each: three decimals, zeros left out, docids in comments.

    Query ids go on from file to file. Some queries have no relevant document, as in MQ2008.
    """
    world = make_world(SAMPLE_SHAPE, _SEED)
    for part, count in enumerate(SAMPLE_SHAPE.n_queries):
        queries = make_queries(SAMPLE_SHAPE, world, count, key=(_SEED, 0, part))
        text = "".join(_lines_of(queries, query, 1 + 20 * part + query) for query in range(count))
        (folder / f"Fold{part + 1}_test.txt").write_text(text, encoding="ascii", newline="\n")


def _lines_of(queries: QuerySet, query: int, qid: int) -> str:
    """The lines of one query."""
    rows = queries.rows(query)
    lines = []
    for document, row in enumerate(range(rows.start, rows.stop)):
        values = enumerate(np.round(queries.features[row].astype(np.float64), 3).tolist(), start=1)
        features = " ".join(f"{feature}:{value:g}" for feature, value in values if value)
        lines.append(f"{queries.grades[row]} qid:{qid} {features} #docid = made-up-{qid:02d}-{document:03d}\n")
    return "".join(lines)


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]))
