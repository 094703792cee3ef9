"""What was acknowledged is there after a power cut: every sync of both programs is asked for by name here.

A process does something, says that it is done, and is killed; then the folder is rebuilt as a disk may have it
(power_cut.py): once with nothing but what was synced, and with draws of what was not.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from app.federation import membership
from app.learning.pick_keys import load_key
from app.search.saved import SavedSearches
from app.store import Store
from federation_server import backup as server_backup
from federation_server.forgetting.tombstones import Restored, TombstoneFile
from federation_server.vault import Vault
from indexer.meaning import vectors
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from tests.whole.power_cut import COMPILER, Disk, compiled

ROOT = Path(__file__).resolve().parents[2]
N_DRAWS = 16
pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux",
    reason="wanted a C compiler and Linux: what is synced is seen by a library",
)

CHILD = """
import os, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
{before}
print("before", flush=True)
sys.stdin.readline()
{act}
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("library"))


@pytest.fixture
def disk(library: Path, tmp_path: Path) -> Disk:
    """A disk with an empty folder."""
    root = tmp_path / "root"
    root.mkdir()
    made = Disk(root, tmp_path / "kept", library)
    made.settle()
    return made


def after_the_power_went(disk: Disk, act: str, before: str = "") -> Iterator[Path]:
    """Do `act` after `before`, which is on the disk; then the folder in one of the states in which it may come back."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(before=before, act=act), disk.root], cwd=ROOT, text=True,
        env=os.environ | disk.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "before\n"
    disk.settle()
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"
    child.kill()
    child.communicate()
    for draw in range(-1, N_DRAWS):
        target = disk.root.with_name(f"after{draw}")
        disk.rebuild(target, Random(draw) if draw >= 0 else None)
        yield target


def state(folder: Path) -> Store:
    store = Store(folder / "state.sqlite")
    assert store.rows("PRAGMA integrity_check") == [("ok",)]
    return store


def values(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with state(folder) as store:
        return store.rows(sql)


def whole(folder: Path) -> bool:
    """Vectors are derived: what is counted is there, however much is counted."""
    records = vectors.read(folder, "e")
    return not len(records) or bool((np.asarray(records["scale"]) > 0).all())


STORE = "from app.store import Store\nstore = Store(folder / 'state.sqlite')\n"
MEMBERSHIP = STORE + "from app.federation import membership\n"
VECTORS = (
    "from indexer.meaning import vectors\nfrom indexer.meaning.vectors import Passage\nimport numpy as np\n"
    "def some(first): return vectors.records_of(first, [Passage(0, 9, '')] * 90, np.ones((90, 384)))\n"
    "writer = vectors.VectorWriter(folder, 'e')"
)
SERVER = (
    "from federation_server.database import connect, upgrade, writing\n"
    "engine = connect(f'sqlite:///{folder}/s.sqlite'); upgrade(engine)\n"
)
DURABLE: dict[str, tuple[str, str, Callable[[Path], bool]]] = {
    "a pick": (
        STORE + "from app.learning.picks import Picks\npicks = Picks(store, b'k' * 32)",
        "picks.record(['heron'], '/heron.txt', '', type='text', now=1e9)",
        lambda folder: len(values(folder, "SELECT * FROM picks")) == 1,
    ),
    "a value that must stay": (
        STORE,
        "store.set_value('x', b'1', durable=True)",
        lambda folder: bool(values(folder, "SELECT * FROM meta")),
    ),
    "where a group stands": (
        MEMBERSHIP,
        "membership.save_standing(store, membership.Standing(synced=7))",
        lambda folder: membership.load_standing(state(folder)).synced == 7,
    ),
    "that a group was left": (
        MEMBERSHIP + "from app.federation.membership import RANKER_SEEN, ROSTER_SEEN, STANDING_KEY\n"
        "for key in (STANDING_KEY, ROSTER_SEEN, RANKER_SEEN): store.set_value(key, b'x')",
        "membership.erase(store)",
        lambda folder: not values(folder, "SELECT * FROM meta"),
    ),
    "a pick before a log that began anew": (
        STORE + "store.set_value('x', b'1')",
        "store.set_value('pick', b'1', durable=True)\nfor _ in range(8): store.set_value('big', os.urandom(800_000))",
        lambda folder: values(folder, "SELECT count(*) FROM meta WHERE key = 'pick'") == [(1,)],
    ),
    "the key of picks": (
        STORE + "from app.learning.pick_keys import load_key",
        "(folder.parent / 'key').write_bytes(load_key(folder / 'key', store))",
        lambda folder: load_key(folder / "key", state(folder)) == (folder.parent / "key").read_bytes(),
    ),
    "a saved search": (
        "from app.search.saved import SavedSearches\nsaved = SavedSearches(folder / 's.toml')\nsaved.save('old', 'x')",
        "saved.save('new', 'heron')",
        lambda folder: SavedSearches(folder / "s.toml").all() == {"old": "x", "new": "heron"},
    ),
    "a backup": (
        "from app.paths import Paths\nfrom app.backup import write_backup\n"
        "(folder / 'config.toml').write_text('x'); paths = Paths(folder, folder / 'data')",
        "write_backup(paths, folder / 'b.zip', now=1e9)",
        lambda folder: zipfile.ZipFile(folder / "b.zip").testzip() is None,
    ),
    "what was restored": (
        "from app.paths import Paths\nfrom app.backup import restore, write_backup\n"
        "from app.data_folder import create_data_folder\n"
        "paths = Paths(folder, folder / 'data'); create_data_folder(paths)\n"
        + STORE.replace("folder /", "paths.data_dir /")
        + "store.set_value('x', b'1'); store.close()\npaths.config_file.write_text('x')\n"
        "write_backup(paths, folder / 'b.zip', now=1e9)\npaths.config_file.write_text('y')\n"
        "store = Store(paths.state); store.set_value('x', b'2'); store.close()",
        "restore(paths, folder / 'b.zip')",
        lambda folder: (state(folder / "data").value("x"), (folder / "config.toml").read_text()) == (b"1", "x"),
    ),
    "a copied file": (
        "from app import file_operations\n(folder / 'a.txt').write_text('heron'); (folder / 'to').mkdir()",
        "file_operations._copy(str(folder / 'a.txt'), str(folder / 'to' / 'a.txt'))",
        lambda folder: (folder / "to" / "a.txt").read_text() == "heron",
    ),
    "a catalogue's commit": (
        "from indexer.storage import catalogue, catalogue_writing\none = catalogue.Catalogue.open(folder / 'c.sqlite')",
        "catalogue_writing.CatalogueWriter(one).commit(catalogue_writing.Batch(), generation=7)",
        lambda folder: Catalogue.open(folder / "c.sqlite").generation == 7,
    ),
    "an empty index": (
        "from indexer.storage.index import Index",
        "Index.open(folder / 'index')",
        lambda folder: Index.open(folder / "index").generation == 0,
    ),
    "vectors": (VECTORS, "for first in (1, 2, 3): writer.append(some(first))", whole),
    "the first vectors": (VECTORS, "writer.append(some(1))", whole),
    "a server's keys": (
        "from federation_server.vault import Vault",
        "Vault.generate().write(folder / 'keys')",
        lambda folder: bool(Vault.read(folder / "keys").column_keys),
    ),
    "a server that was made": (
        "import subprocess",
        "make = 'import sys; from federation_server.cli import main; sys.exit(main())'\n"
        "os.environ['FOLTR_SERVER_FOLDER'] = str(folder / 'server')\n"
        "subprocess.run([sys.executable, '-c', make, 'init'], check=True, stdout=2)\n"
        "(folder.parent / 'names').write_text(' '.join(sorted(os.listdir(folder / 'server'))))",
        lambda folder: all(
            (folder / "server" / name).stat().st_size for name in (folder.parent / "names").read_text().split()
        ),
    ),
    "a server's backup": (
        SERVER + "from federation_server import backup",
        "backup.write(engine, folder / 'backup', now=7)",
        lambda folder: server_backup.verify(folder / "backup").made == 7,
    ),
    "a server's row": (
        SERVER + "from sqlalchemy import insert\nfrom federation_server.tables import nonces\n"
        "row = {column.name: 'x' if column.type.python_type is str else 1 for column in nonces.columns}",
        "with writing(engine) as connection: connection.execute(insert(nonces).values(**row))",
        lambda folder: sqlite_rows(folder / "s.sqlite", "SELECT count(*) FROM nonces") == [(1,)],
    ),
    "who was forgotten": (
        "from federation_server.forgetting.tombstones import *",
        "TombstoneFile(folder / FILE).append(Restored(3))",
        lambda folder: TombstoneFile(folder / "tombstones.jsonl").read() == (Restored(3),),
    ),
}


def sqlite_rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return database.execute(sql).fetchall()


@pytest.mark.parametrize("what", DURABLE)
def test_what_was_acknowledged_is_there_after_a_power_cut(what: str, disk: Disk) -> None:
    """Each thing that is said to be durable, whatever of the rest the disk has kept."""
    before, act, is_there = DURABLE[what]
    for folder in after_the_power_went(disk, act, before):
        assert is_there(folder), folder.name


def search_alone(disk: Disk, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command of the program on this disk, to its end."""
    own = {"HOME": str(disk.root), "FOLTR_CONFIG_DIR": str(disk.root / "config"), "FOLTR_MEANING__ENABLED": "false"}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments], cwd=ROOT, text=True, capture_output=True, check=False,
        env=os.environ | own | {"FOLTR_DATA_DIR": str(disk.root / "data")} | disk.environment(),
    )  # fmt: skip


def test_what_index_has_acknowledged_is_found_after_a_power_cut(disk: Disk, tmp_path: Path) -> None:
    """The first `index` of a device and a later one; searched for without another."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for word in ("heron", "stork"):
        (notes / f"{word}.txt").write_text(word)
        done = search_alone(disk, "index", str(notes))
        assert done.returncode == 0, done.stderr
        disk.cut()
        found = search_alone(disk, "search", "--paths0", word)
        assert found.stdout == f"{notes / word}.txt\0", found.stderr
        disk.settle()
