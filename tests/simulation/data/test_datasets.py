"""Folds are found by name or path, are what the registry says, or are refused with a reason."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simulation.data.datasets import DATASETS, folds_present, load_fold
from simulation.data.queries import NORMALISATIONS, QuerySet
from simulation.errors import DataFileError, DatasetError

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data" / "letor"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the data sets are not beside the repository")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path_factory.mktemp("cache")))


def lines(first: int, queries: int, *, width: int = 46, grade: int = 1) -> str:
    """Queries `first`, ... of two documents each; feature 1 of a document is its query, the last is 1."""
    return "".join(f"{g} qid:{q} 1:{q} {width}:1\n" for q in range(first, first + queries) for g in (grade, 0))


def write_folds(folder: Path, count: int, ending: str = ".txt", *, width: int = 46, grade: int = 1) -> None:
    for number in range(1, count + 1):
        fold = folder / f"Fold{number}"
        fold.mkdir(parents=True)
        for part, first in (("train", 100), ("vali", 200), ("test", 300)):
            text = lines(first * number, 3, width=width, grade=grade).encode()
            (fold / f"{part}{ending}").write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)


def test_the_registry_keeps_its_own_rules() -> None:
    """Every entry has known words, a page unless it is ours, and folder names of its own."""
    names = [folder.lower() for info in DATASETS.values() for folder in info.folders]
    assert len(names) == len(set(names))
    for info in DATASETS.values():
        assert info.normalise in NORMALISATIONS
        assert info.page.startswith("http") or info.sample
        assert info.licence.endswith(".")


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


@pytest.mark.parametrize("ending", [".txt", ".txt.gz"])
def test_a_named_set_is_found_in_its_folder_and_above(tmp_path: Path, ending: str) -> None:
    """`root` may be the set's folder, or hold it in any capitals; compressed files too."""
    write_folds(tmp_path / "mq2008", 2, ending)
    for root in (tmp_path, tmp_path / "mq2008"):
        assert folds_present("mq2008", root) == (1, 2)
        fold = load_fold("mq2008", 2, root=root)
        assert fold.number == 2
        assert fold.train.qids == ("200", "201", "202")
        assert fold.test.qids == ("600", "601", "602")
        assert fold.validation is not None
        assert fold.validation.qids == ("400", "401", "402")


def test_a_missing_set_says_where_to_get_it() -> None:
    """Owner's page, layout and licence are in the error, with and without a root."""
    for name, info in DATASETS.items():
        if info.page:
            for root in (None, Path(__file__).parent):
                with pytest.raises(DatasetError) as caught:
                    load_fold(name, 1, root=root)
                assert all(part in str(caught.value) for part in (info.page, info.licence, info.folders[0], "test"))


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


def test_disjoint_test_parts_rotate(tmp_path: Path) -> None:
    """Fold i tests on part i and trains on all others, in order."""
    for number in (1, 2, 3):
        (tmp_path / f"Fold{number}_test.txt").write_text(lines(10 * number, 2, width=5 + number))
    assert folds_present(tmp_path) == (1, 2, 3)
    fold = load_fold(tmp_path, 2)
    assert fold.train.qids == ("10", "11", "30", "31")
    assert fold.train.features[:, 0].tolist() == [10, 10, 11, 11, 30, 30, 31, 31]
    assert fold.test.qids == ("20", "21")
    assert fold.train.n_features == fold.test.n_features == 8


def test_one_file_is_five_folds(tmp_path: Path) -> None:
    """Each query is tested once and never trained on in the same fold."""
    path = tmp_path / "all.txt"
    path.write_text(lines(0, 12))
    assert folds_present(path) == (1, 2, 3, 4, 5)
    fold = load_fold(path, 2)
    assert fold.test.qids == ("1", "6", "11")
    assert fold.test.features[:, 0].tolist() == [1, 1, 6, 6, 11, 11]
    assert fold.train.n_queries == 9
    tested = [qid for number in range(1, 6) for qid in load_fold(path, number).test.qids]
    assert sorted(map(int, tested)) == list(range(12))
    path.write_text(lines(0, 4))
    with pytest.raises(DataFileError, match="at least 5 queries"):
        load_fold(path, 1)


def test_one_split_in_a_folder_is_one_fold(tmp_path: Path) -> None:
    """A train and a test file are enough."""
    (tmp_path / "train.txt").write_text(lines(1, 2, width=3))
    (tmp_path / "test.txt").write_text(lines(7, 1, width=2))
    fold = load_fold(tmp_path, 1)
    assert (fold.train.n_queries, fold.test.n_queries, fold.validation) == (2, 1, None)
    assert fold.test.features.tolist() == [[7, 1, 0], [7, 1, 0]]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """An unknown name lists the known ones; an empty folder the layouts; an absent fold those that are there."""
    with pytest.raises(DatasetError, match=r"neither a data set .*mq2007.* nor a file or folder"):
        load_fold("mq2006", 1)
    with pytest.raises(DatasetError, match=r"Fold1, Fold2, .* was expected"):
        load_fold(tmp_path, 1)
    with pytest.raises(DatasetError, match="sample: fold 4 is not there, only 1, 2, 3"):
        load_fold("sample", 4)


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the root and as a path."""

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    for arguments in (("mq2008", tmp_path), (tmp_path, None)):
        with pytest.raises(DatasetError, match="cannot be read: Permission denied"):
            folds_present(*arguments)  # type: ignore[arg-type]


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


def test_finding_folds_needs_no_compiler() -> None:
    """What lists data sets does not wait for numba."""
    code = "import sys, simulation.data.places as p; p.folds_present('sample'); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
