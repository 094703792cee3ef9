"""Made-up judged queries with a planted signal, so that every study runs where no data set is.

A document of query q has latent traits z ~ N(shift_q, 1) in R^8. Its relevance is

    r = z . w + 0.5 z_0 z_1 + 0.4 max(z_2, 0)^2 + ease_q + N(0, noise^2)

and its grade counts the thresholds below r, which are set so that grades have the shares of `Shape`. A feature sees the
traits through s = z . loading + N(0, 1), and shows them as its family does: counts over orders of magnitude, scores
with many zeros, log probabilities, ratios, switches; one in eight has no loading and is noise. A linear ranker can
learn the first term, and only a nonlinear one the rest. Weights, loadings and thresholds (the `World`) are the same for
all folds.

Folds have names of the registry and are kept in the cache; the small sample is written as LETOR text:

    python -m simulation.data.synthetic FOLDER
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from foltr.arithmetic import dots, exp, length, log, table
from foltr.arrays import FloatArray, Int64Vector
from simulation.data.cache import VERSION, Cache, chosen_folder, kept, read_binary
from simulation.data.queries import Fold, OneDocument, QuerySet, min_max, normalise_queries

N_TRAITS = 8
_WORLD, _QUERIES = range(2)
_CALIBRATION = 50_000
"""documents that thresholds are set by"""


class Shape(msgspec.Struct, frozen=True):
    """How large the data is and how its numbers lie."""

    n_features: int
    shares: tuple[float, ...]
    """of the grades from 0; they sum to 1"""
    documents: float
    """median number of candidates of a query"""
    spread: float
    """standard deviation of the logarithm of that number"""
    fewest: int
    n_queries: tuple[int, int, int]
    """train, validation, test"""
    noise: float = 1.6
    query_scale: bool = False
    """features come with min-max by query and six decimals, as in LETOR 4.0"""


MSLR_SHAPE = Shape(136, (0.52, 0.32, 0.13, 0.02, 0.01), 110.0, 0.45, 10, (1000, 200, 200))
"""shares of grades and sizes near those of MSLR-WEB10K: 120 documents on average"""

MQ2007_SHAPE = Shape(46, (0.74, 0.20, 0.06), 40.0, 0.2, 6, (1017, 339, 339), query_scale=True)
"""shares of grades and sizes near those of MQ2007: 41 documents on average"""


class World(msgspec.Struct, frozen=True, eq=False):
    """What relates documents, features and grades."""

    weights: FloatArray
    """[N_TRAITS]"""
    loadings: FloatArray
    """[N_TRAITS, n_features]"""
    families: Int64Vector
    """[n_features] index into FAMILIES"""
    levels: FloatArray
    """[n_features] where the feature's values lie, in units of its family"""
    thresholds: FloatArray
    """[top_grade], ascending"""


def make_world(shape: Shape, seed: int) -> World:
    rng = np.random.default_rng([seed, _WORLD])
    weights = rng.normal(size=N_TRAITS)
    weights /= length(weights)
    n = shape.n_features
    loadings = rng.normal(size=(N_TRAITS, n)) * (rng.random(size=(N_TRAITS, n)) < 0.4)
    loadings[:, rng.permutation(n)[: n // 8]] = 0.0
    families, levels = rng.integers(len(FAMILIES), size=n), rng.random(size=n)
    traits, ease = rng.normal(size=(_CALIBRATION, N_TRAITS)) * np.hypot(1.0, _SHIFT), rng.normal(size=_CALIBRATION)
    found = _relevance(traits, ease * _EASE, weights) + rng.normal(size=_CALIBRATION) * shape.noise
    return World(weights, loadings, families, levels, np.quantile(found, np.cumsum(shape.shares)[:-1]))


def make_queries(shape: Shape, world: World, n_queries: int, *, key: tuple[int, ...]) -> QuerySet:
    """`n_queries` queries of a world; the same `key` (non-negative integers) gives the same queries.

    Of the numbers drawn, one in 4,000 takes the library's logarithm, whose last bit six decimals do not show.
    """
    rng = np.random.default_rng([*key, _QUERIES])
    sizes = exp(rng.normal(log(shape.documents), shape.spread, size=n_queries)).astype(np.int64)
    sizes = np.maximum(sizes, shape.fewest)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    n_docs = int(offsets[-1])
    shift = rng.normal(scale=_SHIFT, size=(n_queries, N_TRAITS))
    ease = rng.normal(scale=_EASE, size=n_queries)
    traits = rng.normal(size=(n_docs, N_TRAITS)) + np.repeat(shift, sizes, axis=0)
    relevance = _relevance(traits, np.repeat(ease, sizes), world.weights) + rng.normal(size=n_docs) * shape.noise
    features = _features(world, traits, rng)
    if shape.query_scale:
        features = np.round(min_max(features, offsets), 6)
    return QuerySet(
        features.astype(np.float32),
        np.searchsorted(world.thresholds, relevance).astype(np.int8),
        offsets,
        tuple(str(10 + 3 * query) for query in range(n_queries)),
    )


_SHIFT, _EASE = 0.4, 1.2
"""standard deviations between queries: of traits, and of how many relevant documents there are"""


def _relevance(traits: FloatArray, ease: FloatArray, weights: FloatArray) -> FloatArray:
    """The noiseless part of r, [n_docs]."""
    bent = 0.5 * traits[:, 0] * traits[:, 1] + 0.4 * np.maximum(traits[:, 2], 0.0) ** 2
    found: FloatArray = dots(traits, weights) + bent + ease
    return found


def _features(world: World, traits: FloatArray, rng: np.random.Generator) -> FloatArray:
    """What the features show, [n_docs, n_features], rounded to six decimals as LETOR files are."""
    seen = table(traits, world.loadings.T) + rng.normal(size=(len(traits), world.loadings.shape[1]))
    for family, show in enumerate(FAMILIES):
        columns = world.families == family
        seen[:, columns] = show(seen[:, columns], world.levels[columns])
    return np.round(seen, 6)


FAMILIES: tuple[Callable[[FloatArray, FloatArray], FloatArray], ...] = (
    lambda seen, level: np.floor(exp(np.minimum(1 + 7 * level + 1.2 * seen, 18.0))),  # a count
    lambda seen, level: np.maximum(40 * level * (0.5 - level) + 6 * seen, 0.0),  # a score
    lambda seen, level: np.minimum(-5 - 20 * level + 3 * seen, 0.0),  # a log probability
    lambda seen, level: 1 / (1 + exp(1 + 2 * level - seen)),  # a ratio
    lambda seen, level: (seen > level).astype(np.float64),  # a switch
)
"""How a feature shows what it sees: (s, level) -> values"""

SHAPES = {"synthetic": MSLR_SHAPE, "synthetic-mq2007": MQ2007_SHAPE}

SAMPLE_SHAPE = msgspec.structs.replace(MQ2007_SHAPE, documents=15.0, spread=0.5, fewest=1, n_queries=(20, 20, 20))

GENERATION = 1
"""Grows whenever the same arguments make other queries."""

_SEED = 2021
_PARTS = ("train", "validation", "test")


def generated_fold(
    name: str, number: int, *, normalise: str = "none", one_document: OneDocument = "zero", cache: Cache = "default"
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
    """What `make` gives, from its binary where there is one; without one where the folder refuses."""
    if binary is None:
        return make()
    found = read_binary(binary)
    return kept(binary, make()) if found is None else found


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
    rows = queries.rows(query)
    lines = []
    for document, row in enumerate(range(rows.start, rows.stop)):
        values = enumerate(np.round(queries.features[row].astype(np.float64), 3).tolist(), start=1)
        features = " ".join(f"{feature}:{value:g}" for feature, value in values if value)
        lines.append(f"{queries.grades[row]} qid:{qid} {features} #docid = made-up-{qid:02d}-{document:03d}\n")
    return "".join(lines)


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]))
