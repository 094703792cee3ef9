"""Folds are found by name or path, are what the registry says, or are refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulation.data.datasets import DATASETS, folds_present, load_fold
from simulation.data.queries import QuerySet
from simulation.errors import DataFileError, DatasetError
from tests.simulation.data.written_folds import lines, write_folds

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data" / "letor"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_the_sample_comes_with_the_program() -> None:
    """Three folds of 40 and 20 queries, 46 features from 0 to 1, grades 0 to 2, documents with ids."""
    assert folds_present("sample") == (1, 2, 3)
    tests = []
    for number in (1, 2, 3):
        fold = load_fold("sample", number)
        assert (fold.train.n_queries, fold.test.n_queries, fold.validation) == (40, 20, None)
        assert fold.train.n_features == fold.test.n_features == 46
        assert set(fold.train.grades) == set(fold.test.grades) == {0, 1, 2}
        assert len(set(fold.train.docids)) == len(fold.train.grades)
        assert not set(fold.train.qids) & set(fold.test.qids)
        assert float(fold.train.features.min()) == 0
        assert float(fold.train.features.max()) == 1
        tests += fold.test.qids
    assert sorted(map(int, tests)) == list(range(1, 61))


def test_a_sample_is_never_taken_for_the_whole(tmp_path: Path) -> None:
    """`mslr` does not accept the folder MSLR-sample, neither below the root nor as the root."""
    write_folds(tmp_path / "MSLR-sample", 1, width=136)
    assert load_fold("mslr-sample", 1, root=tmp_path).train.n_features == 136
    for root in (tmp_path, tmp_path / "MSLR-sample"):
        with pytest.raises(DatasetError, match="MSLR-WEB10K"):
            load_fold("mslr", 1, root=root)


def test_another_set_under_the_name_is_refused(tmp_path: Path) -> None:
    """Feature counts and grades must be those of the registry; the file is named."""
    write_folds(tmp_path / "wide" / "MQ2007", 1, width=47)
    with pytest.raises(DataFileError, match=r"train\.txt: mq2007 has 46 features, 47 came"):
        load_fold("mq2007", 1, root=tmp_path / "wide")
    write_folds(tmp_path / "narrow" / "MQ2007", 1, width=42)
    with pytest.raises(DataFileError, match="mq2007 has 46 features, 42 came"):
        load_fold("mq2007", 1, root=tmp_path / "narrow")
    write_folds(tmp_path / "graded" / "MQ2007", 1, grade=3)
    with pytest.raises(DataFileError, match="mq2007 has grades from 0 to 2, 3 came"):
        load_fold("mq2007", 1, root=tmp_path / "graded")


def test_yahoo_names_its_files_and_leaves_zeros_out(tmp_path: Path) -> None:
    """set1.train.txt and so on; features that no line mentions are columns of zeros up to the registry's count."""
    folder = tmp_path / "ltrc_yahoo"
    folder.mkdir()
    for part, first in (("train", 1), ("valid", 5), ("test", 9)):
        (folder / f"set1.{part}.txt").write_text(lines(first, 3, width=699))
    fold = load_fold("yahoo", 1, root=tmp_path)
    assert fold.train.n_features == fold.test.n_features == 700
    assert float(fold.test.features[:, 699].max()) == 0


def test_normalisation_is_the_registrys_unless_named(tmp_path: Path) -> None:
    """mslr comes with log and min-max; "none" gives the raw values; a path stays raw unless asked."""
    write_folds(tmp_path / "WEB10K", 1, width=136)
    raw = load_fold("mslr", 1, root=tmp_path, normalise="none").train
    assert raw.features[:, 0].tolist() == [100, 100, 101, 101, 102, 102]
    assert not load_fold("mslr", 1, root=tmp_path).train.features.any()
    assert load_fold(tmp_path / "WEB10K", 1).train.features[0, 0] == 100
    assert not load_fold(tmp_path / "WEB10K", 1, normalise="min-max").train.features.any()


def test_queries_without_relevant_documents_stay() -> None:
    """The sample has some; what they count as is for the evaluation to say."""
    test = load_fold("sample", 1).test
    assert any(not test.grades[test.rows(query)].any() for query in range(test.n_queries))


def total(*parts: QuerySet | None) -> tuple[int, int]:
    """Queries and documents."""
    return sum(part.n_queries for part in parts if part), sum(len(part.grades) for part in parts if part)


@needs_data
@pytest.mark.parametrize(
    ("name", "folds", "queries", "documents"),
    [("mq2008", 5, 784, 15_211), ("mslr-sample", 1, 89, 9_122), ("clueweb09", 5, 61, 26_646)],
)
def test_the_real_sets_have_their_published_sizes(name: str, folds: int, queries: int, documents: int) -> None:
    """Each fold has all queries and documents of the set, no query twice, and features from 0 to 1."""
    assert folds_present(name, SHARED) == tuple(range(1, folds + 1))
    for number in (1, folds):
        fold = load_fold(name, number, root=SHARED)
        assert total(fold.train, fold.test, fold.validation) == (queries, documents)
        assert not set(fold.train.qids) & set(fold.test.qids)
        assert int(max(fold.train.grades)) == DATASETS[name].top_grade
        assert np.isfinite(fold.train.features).all()
        assert (fold.train.features.min(), fold.train.features.max()) == (0, 1)
