"""Where data sets lie, and which files are their folds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simulation.data.datasets import DATASETS, folds_present, load_fold
from simulation.data.queries import NORMALISATIONS
from simulation.errors import DataFileError, DatasetError
from tests.simulation.data.written_folds import lines, write_folds

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_the_registry_keeps_its_own_rules() -> None:
    """Every entry has known words, a page unless it is ours, and folder names of its own unless it adds labels."""
    names = [folder.lower() for info in DATASETS.values() if not info.labels for folder in info.folders]
    assert len(names) == len(set(names))
    for info in DATASETS.values():
        assert info.normalise in NORMALISATIONS
        assert info.page.startswith("http") or info.sample
        assert info.licence.endswith(".")


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
                file = "metadata.csv" if info.layout == "log" else "test"
                assert all(part in str(caught.value) for part in (info.page, info.licence, info.folders[0], file))


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
    """A train and a test file are enough, in any capitals."""
    (tmp_path / "Train.TXT").write_text(lines(1, 2, width=3))
    (tmp_path / "test.txt").write_text(lines(7, 1, width=2))
    fold = load_fold(tmp_path, 1)
    assert (fold.train.n_queries, fold.test.n_queries, fold.validation) == (2, 1, None)
    assert fold.test.features.tolist() == [[7, 1, 0], [7, 1, 0]]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """An unknown name lists the known ones; a folder the layouts and what it has; an absent fold those there are."""
    with pytest.raises(DatasetError, match=r"neither a data set .*mq2007.* nor a file or folder"):
        load_fold("mq2006", 1)
    with pytest.raises(DatasetError, match=r"Fold1, Fold2, .* was expected"):
        load_fold(tmp_path, 1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "training.txt").touch()
    with pytest.raises(DatasetError, match=r"was expected, full/training\.txt came"):
        load_fold(tmp_path, 1)
    with pytest.raises(DatasetError, match="sample: fold 4 is not there, only 1, 2, 3"):
        load_fold("sample", 4)


@pytest.mark.parametrize("part", ["train", "test"])
def test_a_fold_that_lacks_a_file_is_named(tmp_path: Path, part: str) -> None:
    """No study runs on the other folds as if this one had never been there."""
    write_folds(tmp_path / "MQ2008", 3)
    (tmp_path / "MQ2008" / "Fold2" / f"{part}.txt").unlink()
    for arguments in (("mq2008", tmp_path), (tmp_path / "MQ2008", None)):
        with pytest.raises(DatasetError, match=rf"Fold2 has no {part} file beside t\w+.txt"):
            folds_present(*arguments)  # type: ignore[arg-type]


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the root and as a path."""

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    for arguments in (("mq2008", tmp_path), (tmp_path, None)):
        with pytest.raises(DatasetError, match="cannot be read: Permission denied"):
            folds_present(*arguments)  # type: ignore[arg-type]


def test_finding_folds_needs_no_compiler() -> None:
    """What lists data sets does not wait for numba."""
    code = (
        "import sys, simulation.data.known_datasets as p; p.folds_present('sample'); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
