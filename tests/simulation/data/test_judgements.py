"""Judgements in files of their own, and the data set that takes its labels from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulation.data.datasets import Judgements, folds_present, load_fold, relabelled
from simulation.errors import DataFileError, DatasetError
from tests.simulation.data.written_intents import write_intents

INTENTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "letor" / "ClueWeb09" / "intents-published"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_intents_are_the_labels_of_one_fold(tmp_path: Path) -> None:
    """Two parts of two queries with two documents: grades from 0.txt, label sets from 1.txt to 4.txt, one fold."""
    write_intents(tmp_path)
    assert folds_present("clueweb09-intents", tmp_path) == (1,)
    fold = load_fold("clueweb09-intents", 1, root=tmp_path)
    assert fold.train is fold.test
    assert (fold.train.qids, fold.train.n_features) == (("1", "2", "3", "4"), 42)
    assert fold.train.grades.tolist() == [1, 0] * 4
    assert fold.train.label_sets is not None
    assert fold.train.label_sets.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0],
    ]


def test_features_without_the_labels_are_another_set(tmp_path: Path) -> None:
    """Without a file of labels the set is not there; the error names the files."""
    write_intents(tmp_path)
    (tmp_path / "ClueWeb09" / "intents-published" / "3.txt").unlink()
    assert folds_present("clueweb09", tmp_path) == (1, 2)
    with pytest.raises(DatasetError, match=r"intents-published/0.txt .*intents-published/4.txt"):
        load_fold("clueweb09-intents", 1, root=tmp_path)


def test_labels_of_other_documents_are_refused(tmp_path: Path) -> None:
    """A document that the labels do not have: file, query and document."""
    write_intents(tmp_path)
    labels = tmp_path / "ClueWeb09" / "intents-published" / "2.txt"
    labels.write_text(labels.read_text().replace("d3-1", "d9"))
    with pytest.raises(DataFileError, match=r"2\.txt: a label of document d3-1 for query 3 was expected, none came"):
        load_fold("clueweb09-intents", 1, root=tmp_path)


@pytest.mark.parametrize("line", ["1 0 d", "1 0 d -1", "1 0 d 5", "1 0 d x", ""])
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, line: str) -> None:
    """File, line, what was expected and what came."""
    file = tmp_path / "0.txt"
    file.write_text(f"1 0 a 4\n{line}\n")
    with pytest.raises(DataFileError, match=rf"0\.txt, line 2: `query set document label` .*{line!r} came"):
        Judgements.read(file)


@pytest.mark.skipif(not INTENTS.is_dir(), reason="the intents are not beside the repository, in ../shared/data/letor")
def test_the_published_intents_cover_the_features() -> None:
    """All 26,646 documents of 61 queries have labels; relevant ones as counted: 6009, and 3937 2765 2449 884."""
    fold = load_fold("clueweb09-intents", 1, root=INTENTS.parents[1])
    assert (fold.train.n_queries, len(fold.train.grades), int(fold.train.grades.sum())) == (61, 26_646, 6009)
    assert fold.train.label_sets is not None
    assert np.sum(fold.train.label_sets, axis=1).tolist() == [3937, 2765, 2449, 884]
    again = relabelled(fold.train, Judgements.read(INTENTS / "1.txt"))
    assert again.grades.tolist() == fold.train.label_sets[0].tolist()
