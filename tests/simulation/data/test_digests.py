"""What ties a row of results to the bytes it was measured on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from simulation.data.cache import load_file, source_hash
from simulation.data.datasets import fold_digests, impostor, load_fold
from simulation.data.synthetic import SHAPES
from simulation.environment import read_environments
from simulation.errors import SimulationError
from simulation.experiment import prepare
from simulation.study import run_study
from tests.simulation.data.written_folds import write_folds
from tests.simulation.small_study import preset


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path_factory.mktemp("cache")))


def blake(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=20).hexdigest()


def test_files_have_the_digest_that_b2sum_prints(tmp_path: Path) -> None:
    """All files of the fold and no others, compressed ones as they lie on disk, by names without the user's folders."""
    write_folds(tmp_path / "mq2008", 2, ".txt.gz")
    found = fold_digests("mq2008", load_fold("mq2008", 2, root=tmp_path), tmp_path)
    fold = tmp_path / "mq2008" / "Fold2"
    assert found == {f"mq2008/Fold2/{path.name}": blake(path) for path in fold.iterdir()}
    by_path = fold_digests(str(tmp_path / "mq2008"), load_fold(tmp_path / "mq2008", 1), None)
    assert sorted(by_path) == [f"PATH/Fold1/{part}.txt.gz" for part in ("test", "train", "vali")]


def test_made_up_folds_differ_by_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same fold has the same digests, another fold or another scale others."""
    small = replace(SHAPES["synthetic-mq2007"], n_queries=(30, 10, 10))
    monkeypatch.setitem(SHAPES, "synthetic-mq2007", small)
    kinds = [(1, "none"), (1, "none"), (2, "none"), (1, "log-min-max")]
    folds = [load_fold("synthetic-mq2007", number, normalise=how) for number, how in kinds]
    one, again, other, scaled = (set(fold_digests("synthetic-mq2007", fold, None).values()) for fold in folds)
    assert one == again
    assert len(one) == 3
    assert not one & (other | scaled)


def test_a_name_alone_does_not_make_a_data_set(tmp_path: Path) -> None:
    """Another file in a folder MQ2008, fewer queries in a folder MQ2007: neither is the set; made-up data are."""
    said = {}
    for name in ("mq2008", "mq2007"):
        write_folds(tmp_path / name, 1)
        fold = load_fold(name, 1, root=tmp_path)
        said[name] = impostor(name, fold, fold_digests(name, fold, tmp_path))
    n = sum(part.n_queries for part in fold.parts)
    assert said == {
        "mq2008": "NOT LETOR 4.0 MQ2008: other bytes in fold 1",
        "mq2007": f"NOT LETOR 4.0 MQ2007: {n} queries in fold 1, it has 1,692",
    }
    assert impostor("sample", load_fold("sample", 1), {}) == ""


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the cache knows of an untouched file is not read again; a changed file is."""
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1\n")
    os.utime(path, (1e9, 1e9))
    load_file(path, normalise="min-max")
    monkeypatch.setattr("simulation.data.cache.content_hash", lambda path: "read again")
    assert source_hash(path) == blake(path)
    path.write_text("0 qid:1 1:1\n")
    assert source_hash(path) == "read again"


def test_a_run_keeps_digests_and_does_not_go_on_with_other_data(tmp_path: Path) -> None:
    """environment.json has them at each start; one changed byte is refused by name when the run is to go on."""
    write_folds(tmp_path / "data", 1)
    study = preset(seeds=1, sweep={}, data={"dataset": str(tmp_path / "data")})
    folder, test = tmp_path / "out", tmp_path / "data" / "Fold1" / "test.txt"
    shared = {"root": None, "jobs": 1, "engine": "local", "command": ["x"], "again": "x"}
    assert run_study(study, folder=folder, resume=False, **shared) == 0  # type: ignore[arg-type]
    (entry,) = read_environments(folder)
    assert entry.data["PATH/Fold1/test.txt"] == blake(test)
    test.write_text(test.read_text().replace("qid:301", "qid:309"))
    with pytest.raises(
        SimulationError, match=r"cannot go on in .*: it was begun with PATH/Fold1/test.txt = [0-9a-f]{40}"
    ):
        prepare(study, root=None, folder=folder, resume=True)
