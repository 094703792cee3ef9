"""Normalisation brings features to one scale and keeps what rankings are made of."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from simulation.data.queries import NORMALISATIONS, QuerySet, normalise_queries
from simulation.errors import DatasetError


def queries(features: list[list[float]], sizes: list[int]) -> QuerySet:
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    array = np.array(features, dtype=np.float32)
    return QuerySet(array, np.zeros(len(array), dtype=np.int8), offsets, tuple(map(str, range(len(sizes)))))


def test_min_max_by_hand() -> None:
    """(x - min) / (max - min) within each query; the same for all documents is 0."""
    data = queries([[2, 5], [4, 5], [10, 5], [-1, 0], [1, 8]], [3, 2])
    scaled = normalise_queries(data, "min-max").features
    expected = [[0, 0], [(4 - 2) / (10 - 2), 0], [1, 0], [0, 0], [1, 1]]
    np.testing.assert_array_equal(scaled, np.array(expected, dtype=np.float32))


def test_log_min_max_by_hand() -> None:
    """sign(x) log(1 + |x|) first, then min-max."""
    data = queries([[0, -1], [9, 1], [99, 0]], [3])
    scaled = normalise_queries(data, "log-min-max").features
    assert scaled[:, 0] == pytest.approx([0, log(10) / log(100), 1], abs=1e-7)
    assert scaled[:, 1] == pytest.approx([0, 1, 0.5], abs=1e-7)


def test_one_document_is_zeros_or_stays() -> None:
    """HarrieO's programs give zeros, ielab's leave the values; the other queries do not notice."""
    data = queries([[500, 3], [1, 2], [3, 4]], [1, 2])
    assert normalise_queries(data, "min-max").features.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert normalise_queries(data, "min-max", one_document="raw").features.tolist() == [[500, 3], [0, 0], [1, 1]]
    logged = normalise_queries(data, "log-min-max", one_document="raw").features
    assert logged[0].tolist() == pytest.approx([log(501), log(4)])


def test_none_gives_back_the_very_same() -> None:
    """ "none" copies nothing."""
    data = queries([[1, 2]], [1])
    assert normalise_queries(data, "none") is data


def test_every_query_is_scaled_on_its_own() -> None:
    """A twin that goes query by query agrees, over more queries than one step takes."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=700)
    features = rng.lognormal(sigma=4, size=(int(sizes.sum()), 3)).astype(np.float32)
    features[:, 2] = np.round(features[:, 2] % 2)
    data = queries(features.tolist(), sizes.tolist())
    scaled = normalise_queries(data, "min-max").features
    for query in range(data.n_queries):
        values = data.features[data.rows(query)].astype(np.float64)
        span = values.max(axis=0) - values.min(axis=0)
        expected = [[(x - low) / s if s else 0 for x, low, s in zip(row, values.min(axis=0), span, strict=True)]
                    for row in values]  # fmt: skip
        np.testing.assert_array_equal(scaled[data.rows(query)], np.array(expected, dtype=np.float32))


def test_unknown_words_are_refused() -> None:
    """The error lists what there is."""
    data = queries([[1, 2]], [1])
    with pytest.raises(DatasetError, match=f"one of {', '.join(NORMALISATIONS)}, not 'max'"):
        normalise_queries(data, "max")
    with pytest.raises(DatasetError, match="'zero' or 'raw', not 'one'"):
        normalise_queries(data, "min-max", one_document="one")  # type: ignore[arg-type]
