"""A log of real searches, written as AOL4FOLTR is, becomes a fold of its users' own queries in order of time."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.cells.trial import cell_events
from simulation.data.datasets import Askers, folds_present, load_fold
from simulation.data.known_datasets import DATASETS
from simulation.data.search_log import load_log, read_log
from simulation.engines import Finished, Reported
from simulation.errors import DataFileError, DatasetError

N_FEATURES = 103
ENTRIES = [
    (0, 71845, "2006-03-01 07:00:00"), (1, 12, "2006-03-01 08:00:00"), (2, 71845, "2006-03-02 09:30:00"),
    (3, 9, "2006-03-03 10:00:00"), (4, 71845, "2006-03-04 11:00:00"), (5, 12, "2006-03-05 12:00:00"),
    (6, 9, "2006-03-06 13:00:00"), (7, 12, "2006-05-07 00:00:00"), (8, 7, "2006-05-08 00:00:00"),
]  # fmt: skip
"""qid, user, time: 12 and 71845 asked three times, 9 twice, 7 once"""


def letor_text(qids: list[int]) -> str:
    """20 candidates for each query, of which number `qid` was clicked; feature 1 tells which, feature 2 is "nan"."""
    rows = []
    for qid in qids:
        for document in range(20):
            others = " ".join(f"{feature}:{float(qid)}" for feature in range(3, N_FEATURES + 1))
            rows.append(f"{int(document == qid)} qid:{qid} 1:{document / 4} 2:nan {others}\n")
    return "".join(rows)


def metadata(entries: list[tuple[int, int, str]]) -> str:
    """As pandas writes it: a set of documents in quotes, a query with a comma and one with a line end."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["qid", "user_id", "timestamp", "query", "target_doc_id", "candidate_doc_ids"])
    for qid, user, time in entries:
        table.writerow([qid, user, time, f"maps, of\n{qid}", f"d{qid}", str({f"d{n}" for n in range(20)})])
    return text.getvalue()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOLTR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "AOL4FOLTR"
    folder.mkdir(parents=True)
    (folder / "metadata.csv").write_text(metadata(ENTRIES), newline="")
    (folder / "letor.txt.gz").write_bytes(gzip.compress(letor_text([0, 1, 2, 3, 4, 6, 7, 8]).encode()))
    return tmp_path / "data"


def test_those_who_asked_most_come_first_and_queries_in_order_of_time(root: Path) -> None:
    """Two users: 12 and 71845, three queries each; without 71845 only 12 stays. Lines out of order are put in order."""
    log = read_log(root / "AOL4FOLTR" / "metadata.csv", users=2)
    assert log.qids == ("0", "1", "2", "4", "5", "7")
    assert log.askers == ("71845", "12", "71845", "71845", "12", "12")
    assert read_log(root / "AOL4FOLTR" / "metadata.csv", users=2, without=["71845"]).qids == ("1", "5", "7")
    (root / "backwards.csv").write_text(metadata(ENTRIES[::-1]), newline="")
    assert read_log(root / "backwards.csv", users=2) == log


def test_a_fold_learns_from_the_oldest_four_fifths(root: Path) -> None:
    """Of 12's and 71845's six queries the text lacks number 5; four of five are learned from, the last is the test."""
    fold = load_fold("aol4foltr", 1, root=root, normalise="none", askers=Askers(users=2))
    assert folds_present("aol4foltr", root) == (1,)
    assert fold.train.qids == ("0", "1", "2", "4")
    assert fold.train.askers == ("71845", "12", "71845", "71845")
    assert (fold.test.qids, fold.test.askers) == (("7",), ("12",))
    assert fold.train.features.shape == (80, N_FEATURES)
    assert [int(np.flatnonzero(fold.train.grades[fold.train.rows(q)])[0]) for q in range(4)] == [0, 1, 2, 4]
    assert fold.train.features[7, 0] == 1.75
    assert not fold.train.features[:, 1].any()


def test_scaled_within_a_query_and_again_from_the_cache(root: Path) -> None:
    """Min-max by default: documents 0 to 19 get 0 to 1, what a query's documents share gets 0; a second load agrees."""
    fold = load_fold("aol4foltr", 1, root=root, askers=Askers(users=3))
    np.testing.assert_allclose(fold.train.features[:20, 0], np.arange(20) / 19, rtol=1e-6)
    assert not fold.train.features[:, 1:].any()
    again = load_fold("aol4foltr", 1, root=root, askers=Askers(users=3))
    assert again.train.qids == fold.train.qids
    assert again.train.askers == fold.train.askers
    np.testing.assert_array_equal(again.train.features, fold.train.features)


def test_other_users_are_other_entries_of_the_cache(root: Path) -> None:
    """The same text, other people: nothing of the former answer comes back."""
    two = load_fold("aol4foltr", 1, root=root, askers=Askers(users=2))
    one = load_fold("aol4foltr", 1, root=root, askers=Askers(users=2, without=("12",)))
    assert two.train.n_queries == 4
    assert one.train.qids + one.test.qids == ("0", "2", "4")


def test_what_cannot_be_read_is_named(root: Path, tmp_path: Path) -> None:
    """Too many users, nobody left, a missing column, a short line, a bad line of the text with its own number."""
    path = root / "AOL4FOLTR" / "metadata.csv"
    with pytest.raises(DatasetError, match=r"data\.users: 5 were asked for, .*metadata\.csv has 4"):
        load_log(path, users=5)
    with pytest.raises(DatasetError, match=r"data\.without: nobody is left"):
        load_log(path, users=1, without=["12"])
    (tmp_path / "other.csv").write_text("qid,user,timestamp\n1,2,3\n")
    with pytest.raises(DataFileError, match="a column user_id was expected, qid, user, timestamp came"):
        read_log(tmp_path / "other.csv", users=1)
    (tmp_path / "short.csv").write_text("qid,user_id,timestamp\n1,2\n")
    with pytest.raises(DataFileError, match="line 2: 3 columns were expected, 2 came"):
        read_log(tmp_path / "short.csv", users=1)
    text = letor_text([0, 1, 2, 4]).replace("1 qid:4 1:1.0", "1 qid:4 1:x")
    (root / "AOL4FOLTR" / "letor.txt.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataFileError, match=r"line 65: feature 1: a finite decimal number was expected, 'x' came"):
        load_fold("aol4foltr", 1, root=root, askers=Askers(users=2))


def test_only_a_log_knows_who_asked() -> None:
    """`data.users` for another data set is refused with the name of the key."""
    with pytest.raises(DatasetError, match=r"data\.users: sample does not say who asked; aol4foltr does"):
        load_fold("sample", 1, askers=Askers(users=2))
    assert DATASETS["aol4foltr"].n_features == N_FEATURES


def test_the_preset_runs_on_it(root: Path) -> None:
    """Each of two users begins with its own first queries: four pages in all, then nobody has one left."""
    tables = load_tables("quick/aol4foltr")
    tables["data"] |= {"users": 2, "without": []}
    tables["federation"] |= {"clients": 2, "rounds": 3, "evaluate_every": 1}
    tables["sweep"] = {"federation.partition": [{"kind": "users"}]}
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    events = list(cell_events(cell, root=root))
    rows = [event.row for event in events if isinstance(event, Reported)]
    assert isinstance(events[-1], Finished)
    assert [row.interactions for row in rows] == [0, 4, 4, 4]
    assert rows[1].offline_mrr == rows[3].offline_mrr
    assert rows[3].online_ndcg is None
