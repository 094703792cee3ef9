"""Made-up queries are the same for a key, look like the sets they imitate, and hold a signal that can be learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from simulation.data.datasets import DATASETS, load_fold
from simulation.data.letor import parse_file
from simulation.data.queries import QuerySet, normalise_queries
from simulation.data.synthetic import (
    MQ2007_SHAPE,
    MSLR_SHAPE,
    SHAPES,
    Shape,
    generated_fold,
    make_queries,
    make_world,
    write_sample,
)

SAMPLES = Path(__file__).resolve().parents[3] / "simulation" / "samples" / "letor-60"


def made(shape: Shape, n_queries: int, *, key: int = 0) -> QuerySet:
    return make_queries(shape, make_world(shape, 1), n_queries, key=(1, key))


@pytest.mark.parametrize("shape", [MSLR_SHAPE, MQ2007_SHAPE])
def test_grades_have_their_shares(shape: Shape) -> None:
    """Within .05 of the shape's shares over 150 queries, most of them 0."""
    grades = made(shape, 150).grades
    shares = np.bincount(grades, minlength=len(shape.shares)) / len(grades)
    np.testing.assert_allclose(shares, shape.shares, atol=0.05)


def test_sizes_are_those_of_the_sets_that_are_imitated() -> None:
    """About 120 documents a query like MSLR, 41 like MQ2007 (69,623 / 1,692)."""
    assert np.diff(made(MSLR_SHAPE, 150).offsets).mean() == pytest.approx(120, abs=14)
    assert np.diff(made(MQ2007_SHAPE, 150).offsets).mean() == pytest.approx(69_623 / 1_692, abs=4)


def test_raw_features_span_orders_of_magnitude_and_scaled_ones_do_not() -> None:
    """MSLR's shape has values above 100,000 and below -10; MQ2007's lies between 0 and 1."""
    raw, scaled = made(MSLR_SHAPE, 20).features, made(MQ2007_SHAPE, 20).features
    assert float(raw.max()) > 1e5
    assert float(raw.min()) < -10
    assert (float(scaled.min()), float(scaled.max())) == (0, 1)
    assert np.isfinite(raw).all()


def correlation(train: QuerySet, test: QuerySet) -> float:
    """Of least squares' scores with the grades of other queries."""

    def centred(data: QuerySet) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.diff(data.offsets)
        columns = np.column_stack((data.features.astype(np.float64), data.grades))
        means = np.add.reduceat(columns, data.offsets[:-1], axis=0) / sizes[:, np.newaxis]
        columns -= np.repeat(means, sizes, axis=0)
        return columns[:, :-1], columns[:, -1]

    features, grades = centred(train)
    weights = np.linalg.lstsq(features, grades, rcond=None)[0]
    features, grades = centred(test)
    return float(np.corrcoef(features @ weights, grades)[0, 1])


@pytest.mark.parametrize(("shape", "how"), [(MSLR_SHAPE, "log-min-max"), (MQ2007_SHAPE, "none")])
def test_a_linear_ranker_learns_the_signal(shape: Shape, how: str) -> None:
    """Least squares on some queries orders the documents of others; where all is noise it does not."""
    train, test = (normalise_queries(made(shape, 60, key=key), how) for key in (0, 1))
    assert correlation(train, test) > 0.3
    noise = replace(shape, noise=1e6)
    train, test = (normalise_queries(made(noise, 60, key=key), how) for key in (0, 1))
    assert abs(correlation(train, test)) < 0.1


def test_folds_keep_one_world_and_the_registrys_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other queries in every fold and part, the counts of the registry, the second time from the cache."""
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path))
    small = replace(SHAPES["synthetic-mq2007"], n_queries=(90, 20, 20))
    monkeypatch.setitem(SHAPES, "synthetic-mq2007", small)
    fold = load_fold("synthetic-mq2007", 1)
    info = DATASETS["synthetic-mq2007"]
    assert fold.train.n_features == info.n_features
    assert fold.validation is not None
    assert int(fold.train.grades.max()) == info.top_grade
    sizes = (fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries)
    assert sizes == small.n_queries
    again = load_fold("synthetic-mq2007", 1)
    np.testing.assert_array_equal(again.train.features, fold.train.features)
    assert not again.train.features.flags.writeable
    without = generated_fold("synthetic-mq2007", 1, cache="off")
    np.testing.assert_array_equal(without.test.features, fold.test.features)
    other = generated_fold("synthetic-mq2007", 2, cache="off")
    assert other.test.features.shape != fold.test.features.shape


def test_the_shapes_are_those_of_the_registry() -> None:
    """Feature counts and grades agree."""
    for name, shape in SHAPES.items():
        info = DATASETS[name]
        assert (shape.n_features, len(shape.shares) - 1) == (info.n_features, info.top_grade)


def test_the_bundled_sample_is_what_the_function_writes(tmp_path: Path) -> None:
    """The same queries, documents and grades, and values to the last of three decimals; under 400 KB."""
    write_sample(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in SAMPLES.iterdir())
    assert sum((SAMPLES / name).stat().st_size for name in names) < 400_000
    for name in names:
        written, bundled = parse_file(tmp_path / name), parse_file(SAMPLES / name)
        assert (written.qids, written.docids) == (bundled.qids, bundled.docids)
        np.testing.assert_array_equal(written.grades, bundled.grades)
        np.testing.assert_allclose(written.features, bundled.features, atol=0.0011)
