from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app import store as store_module
from app.learning import model_versions
from app.store import FIRST_FORMAT, StateError, Store, decode_record
from foltr.ranking.interaction import Interaction


def page(seed: int = 0) -> Interaction:
    rng = np.random.default_rng(seed)
    return Interaction(rng.random((20, 6)), rng.permutation(20)[:10], [True] + [False] * 9)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "data" / "state.sqlite")


def test_the_file_and_its_log_belong_to_the_owner_only(store: Store) -> None:
    """Folder 0700; the file, its log and its shared memory 0600, whatever the umask."""
    store.set_value("x", b"1")
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    files = list(store.path.parent.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}


def test_interactions_come_back_in_order(store: Store) -> None:
    """Pages are returned oldest first, by the meaning of their features."""
    for seed in range(3):
        store.add_interaction(page(seed), manifest_hash="m1", cap=10)
    store.add_interaction(page(9), manifest_hash="m2", cap=10)
    read = list(store.interactions("m1"))
    assert [p.ranking.tolist() for p in read] == [page(s).ranking.tolist() for s in range(3)]
    np.testing.assert_allclose(read[0].features, page(0).features, atol=2**-12)
    assert store.count_interactions() == 4


def test_the_oldest_interactions_go_beyond_the_cap(store: Store) -> None:
    """With a cap of 3, the last 3 of 5 pages stay; a cap of 0 keeps none."""
    for seed in range(5):
        store.add_interaction(page(seed), manifest_hash="m", cap=3)
    assert [p.ranking.tolist() for p in store.interactions("m")] == [page(s).ranking.tolist() for s in (2, 3, 4)]
    store.add_interaction(page(6), manifest_hash="m", cap=0)
    assert store.count_interactions() == 0


def test_one_more_page_costs_the_same_however_many_are_kept(store: Store) -> None:
    """A click does not read through a year of pages, as SQLite's steps show."""
    steps = list[int]()
    with store.transaction() as db:
        for seed in (*range(5), *[0] * 1000):
            n = [0]
            db.set_progress_handler(lambda n=n: n.__setitem__(0, n[0] + 1), 1)  # type: ignore[misc]
            store.add_interaction(page(seed), manifest_hash="m", cap=500)
            steps.append(n[0])
        db.set_progress_handler(None, 0)
    assert store.count_interactions() == 500
    assert steps[-1] < 2 * steps[4]


def test_interactions_hold_features_ranking_clicks_types_and_hashes_only(store: Store) -> None:
    """The table has no column for a text, a path or a time."""
    columns = [row[1] for row in store.rows("PRAGMA table_info(interactions)")]
    assert columns == ["id", "manifest_hash", "record", "query", "marks"]


def test_clearing_leaves_nothing_on_the_disk(store: Store) -> None:
    """After clear_interactions no byte of a stored page is left in the file or its log."""
    store.add_interaction(page(), manifest_hash="needle-manifest", cap=10)
    store.set_value("last page", b"needle-page")
    store.clear_interactions()
    assert store.count_interactions() == 0
    assert store.value("last page") is None
    content = b"".join(f.read_bytes() for f in store.path.parent.iterdir())
    assert b"needle" not in content


def test_a_failed_transaction_is_undone_whole(store: Store) -> None:
    """Nested blocks belong to the outermost: if it fails, all of them are undone."""

    def fail() -> None:
        with store.transaction():
            store.add_interaction(page(), manifest_hash="m", cap=10)
            store.set_value("x", b"1")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert store.count_interactions() == 0
    assert store.value("x") is None
    store.set_value("x", b"2")
    assert store.value("x") == b"2"


def test_many_threads_share_one_store(store: Store) -> None:
    """Eight threads adding 20 pages each lose none."""

    def add() -> None:
        for seed in range(20):
            store.add_interaction(page(seed), manifest_hash="m", cap=1000)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.count_interactions() == 160


def test_processes_that_start_at_once_make_one_file(tmp_path: Path) -> None:
    """Six processes that open a missing state file together all succeed, and all their values are kept."""
    program = "import sys; from app.store import Store; from pathlib import Path; " + (
        "Store(Path(sys.argv[1])).set_value(sys.argv[2], b'1')"
    )
    path = tmp_path / "state.sqlite"
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), f"k{i}"]) for i in range(6)]
    assert [process.wait() for process in running] == [0] * 6
    assert all(Store(path).value(f"k{i}") == b"1" for i in range(6))


def test_a_file_of_an_older_format_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing steps are applied once, and the contents stay."""
    path = tmp_path / "state.sqlite"
    with Store(path) as old:
        old.add_interaction(page(), manifest_hash="m", cap=10)
    step = ("ALTER TABLE interactions ADD COLUMN note TEXT", "CREATE TABLE extra (id INTEGER)")
    monkeypatch.setattr(store_module, "LATER", (*store_module.LATER, step))
    for _ in range(2):
        with Store(path) as new:
            assert new.count_interactions() == 1
            assert new.rows("SELECT note FROM interactions") == [(None,)]
            assert new.rows("PRAGMA user_version") == [(FIRST_FORMAT + len(store_module.LATER),)]


def test_a_step_that_fails_leaves_the_old_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an upgrade breaks half way, the file is as before, and the old program still reads it."""
    path = tmp_path / "state.sqlite"
    with Store(path) as old:
        old.set_value("x", b"1")
    broken = ("CREATE TABLE extra (id)", "SELECT nonsense")
    monkeypatch.setattr(store_module, "LATER", (*store_module.LATER, broken))
    with pytest.raises(StateError, match="nonsense"):
        Store(path)
    monkeypatch.undo()
    with Store(path) as again:
        assert again.value("x") == b"1"
        assert again.rows("SELECT name FROM sqlite_master WHERE name = 'extra'") == []


@pytest.mark.parametrize(("version", "writer"), [(99, "a newer"), (FIRST_FORMAT - 1, "an unreleased")])
def test_a_file_of_a_strange_format_is_left_alone(tmp_path: Path, version: int, writer: str) -> None:
    """The error names the formats and the remedy, and the file is not touched."""
    path = tmp_path / "state.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(
        StateError, match=rf"{writer} foltr-search \(format {version}, this one reads {FIRST_FORMAT} to"
    ):
        Store(path)
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)


def test_strange_and_damaged_files_are_refused(tmp_path: Path) -> None:
    """A database of another program, rubbish and a folder each give one clear error."""
    other, rubbish = tmp_path / "other.sqlite", tmp_path / "rubbish.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE notes (x)")
    rubbish.write_bytes(b"this is no database" * 100)
    with pytest.raises(StateError, match="another program"):
        Store(other)
    with pytest.raises(StateError, match="damaged"):
        Store(rubbish)
    with pytest.raises(StateError, match="cannot be opened"):
        Store(tmp_path)


def test_a_record_is_read_or_said_to_be_damaged() -> None:
    """Stored records come back as they are; other bytes give the requested error, with the remedy."""
    assert decode_record(msgspec.msgpack.encode(("heron", 3)), tuple[str, int], StateError, "it") == ("heron", 3)
    for stored in (b"", b"\xc1", msgspec.msgpack.encode((3, "heron"))):
        with pytest.raises(StateError, match=r"^it is damaged: .*; begin anew$"):
            decode_record(stored, tuple[str, int], StateError, "it", "; begin anew")


def test_nobody_is_told_to_throw_away_what_a_newer_version_kept() -> None:
    """After a downgrade, a record with one more field is called newer, and the user is not told to start anew."""
    newer = msgspec.msgpack.encode({"name": "heron", "legs": 2})
    with pytest.raises(StateError, match=r"^it is of a newer version of this program: [^;]*`legs`$"):
        decode_record(newer, Bird, StateError, "it", "; begin anew")


class Bird(msgspec.Struct, forbid_unknown_fields=True):
    name: str


LEARNING = """
import sys
from pathlib import Path
import numpy as np
from app.learning.learner import Learner
from app.learning.pick_keys import load_key
from app.learning.picks import Picks
from app.settings import LearningSettings
from app.store import Store

folder = Path(sys.argv[1])
store = Store(folder / "state.sqlite")
picks = Picks(store, load_key(folder / "key", store))
names = [f"f{i}" for i in range(8)]
learner = Learner(store, theta0=np.zeros(8), feature_names=names, manifest_hash="m", settings=LearningSettings())
rng = np.random.default_rng(0)
while True:
    picks.record(["term"], f"/docs/{learner.model.n_pages}", "", type="text", now=1e9)
    learner.learn(rng.random((30, 8)), rng.permutation(30)[:10], rng.random(10) < 0.3)
    sys.stdout.write(f"{learner.model.n_pages} {learner.model.theta.tobytes().hex()}\\n")  # in one piece, if at all
    sys.stdout.flush()
"""


@pytest.mark.parametrize("n_lessons", [1, 7, 40])
def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path, n_lessons: int) -> None:
    """A process that learns in a loop is killed: every lesson it reported is there, theta and page together.

    At most the one lesson in flight may be there too, or be missing, as a whole.
    """
    learning = subprocess.Popen([sys.executable, "-c", LEARNING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert learning.stdout is not None
    reported: list[list[str]] = []
    while True:
        line = learning.stdout.readline().split()
        if not line:
            break
        reported.append(line)
        if len(reported) == n_lessons:
            os.kill(learning.pid, signal.SIGKILL)
    learning.wait()
    n_reported, last_theta = int(reported[-1][0]), reported[-1][1]

    with Store(tmp_path / "state.sqlite") as store:
        assert store.rows("PRAGMA integrity_check") == [("ok",)]
        model = model_versions.load(store, "linear")
        assert model is not None
        assert model.n_pages in (n_reported, n_reported + 1)
        assert store.count_interactions() == model.n_pages
        if model.n_pages == n_reported:
            assert model.theta.tobytes().hex() == last_theta
        documents = store.rows("SELECT count(*) FROM picked_documents")[0][0]
        assert documents >= n_reported
