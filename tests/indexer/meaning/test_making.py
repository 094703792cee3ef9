"""Making vectors after the text index: all of them, once, most wanted first, whatever happens meanwhile.

The process that encodes: what it may do, and how it ends.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexer.confined.confinement import available, rights_left
from indexer.confined.pool import WorkerPool
from indexer.errors import LockedError
from indexer.files.crawl import CrawlRules
from indexer.meaning.encoder import EncodingFailed, NoEncoder, kind_of, load
from indexer.meaning.making import EncodingProcess, VectorMaker
from indexer.meaning.vectors import VectorWriter, n_with_vectors, read
from indexer.postings import Vectors
from indexer.prepare import PreparedFile
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from indexer.update import Job, Updater, open_catalogue
from tests.tiny_encoder import write_encoder
from tests.waiting import until

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).resolve().parents[3]
SEED = 5


class Place:
    """A folder of files with its index and a tiny encoder."""

    def __init__(self, base: Path, pool: WorkerPool[PreparedFile]) -> None:
        self.files, self.index = base / "files", base / "index"
        self.files.mkdir()
        self.encoder = str(write_encoder(base / "encoder"))
        self.kind = kind_of(self.encoder)
        self.catalogue: Catalogue
        self.catalogue, _ = open_catalogue(self.index, base / "catalogue.sqlite")
        self._updater = Updater(Job(self.index, self.catalogue, (str(self.files),), CrawlRules(), "test", "1"), pool)
        self.n_loads = 0

    def write(self, name: str, text: str, *, changed: float = 1e9) -> None:
        (self.files / name).write_text(text)
        os.utime(self.files / name, (changed, changed))

    def update(self) -> None:
        self._updater.scan()

    def start(self) -> EncodingProcess:
        self.n_loads += 1
        return EncodingProcess(partial(load, self.encoder))

    def maker(self, **options: Any) -> VectorMaker:
        return VectorMaker(self.catalogue, self.index, self.kind, self.start, **options)

    def make(self) -> None:
        maker = self.maker()
        while maker.step():
            pass

    @property
    def coverage(self) -> tuple[int, int]:
        return n_with_vectors(Index.open(self.index).snapshot(), self.index, self.kind)

    def vector_of(self, name: str) -> Vectors:
        """The first vector of a file's document."""
        (doc_id,) = self.catalogue.doc_ids_of(str(self.files / name))
        rows = Index.open(self.index).snapshot().documents
        records = read(self.index, self.kind.name)
        (found, *_) = records[records["content"] == rows["content"][rows["doc_id"] == doc_id]]
        return np.asarray(found["vector"] * found["scale"])


@pytest.fixture
def place(tmp_path: Path, pool: WorkerPool[PreparedFile]) -> Iterator[Place]:
    one = Place(tmp_path, pool)
    yield one
    one.catalogue.close()


def test_all_documents_get_vectors_and_copies_share_them(place: Place) -> None:
    for name, text in {"a.txt": "car", "b.txt": "heron", "copy of b.txt": "heron", "empty.txt": ""}.items():
        place.write(name, text)
    place.update()
    place.make()
    assert len(read(place.index, place.kind.name)) == 2
    np.testing.assert_allclose(place.vector_of("a.txt"), [1, 0, 0], atol=1e-6)
    np.testing.assert_array_equal(place.vector_of("b.txt"), place.vector_of("copy of b.txt"))
    assert place.coverage == (2, 2)


def test_a_long_document_has_passages_first_and_windows_after_all_others(place: Place) -> None:
    """2,100 words: eight passages, and 30 windows when the short one, older, has been read; till then it waits."""
    place.write("long.txt", "car heron tax " * 700, changed=2e9)
    place.write("short.txt", "heron")
    place.update()
    maker = place.maker()
    while maker.step(0.0001):
        pass
    records = read(place.index, place.kind.name)
    assert (records["place"] >= 0).tolist() == [False] * 9 + [True] * 30
    assert records["place"][9:].tolist() == [70 * i for i in range(30)]
    assert (place.coverage, maker.n_done, maker.n_total) == ((2, 2), 2, 2)
    place.make()
    assert (len(read(place.index, place.kind.name)), place.n_loads) == (39, 1)


def test_only_the_most_wanted_long_documents_may_be_read_whole(place: Place) -> None:
    """One of two at a time, the newer first; passages have both."""
    for name, changed in (("older.txt", 1e9), ("newer.txt", 2e9)):
        place.write(name, f"car heron {name} " * 400, changed=changed)
    place.update()
    for n_windows, n_done in ((17, 1), (34, 2)):
        maker = place.maker(most_long=1)
        while maker.step():
            pass
        records = read(place.index, place.kind.name)
        assert (np.count_nonzero(records["place"] >= 0), maker.n_done, maker.n_total) == (n_windows, n_done, 2)
        assert place.coverage == (n_done, 2)


def test_what_was_removed_meanwhile_is_not_read_on(place: Place) -> None:
    """A long document is in hand when its file goes: nothing of it is left."""
    place.write("long.txt", "car heron tax " * 3000)
    place.update()
    maker = place.maker()
    while maker.step(0.0001) and maker._now is None:
        pass
    assert place.coverage == (0, 1)
    (place.files / "long.txt").unlink()
    place.update()
    while maker.step():
        pass
    assert not read(place.index, place.kind.name)["content"].any()


def test_a_text_at_which_the_encoder_ends_is_named_and_the_others_go_on(place: Place) -> None:
    for name, text in {"a.txt": "car", "odd.txt": "tax", "c.txt": "heron"}.items():
        place.write(name, text)
    place.update()
    maker = VectorMaker(place.catalogue, place.index, place.kind, lambda: EncodingProcess(one_that_ends_at_tax))
    while maker.step():
        pass
    (path,) = maker.failed
    assert (Path(path).name, place.coverage) == ("odd.txt", (2, 3))
    assert "exit code 3" in maker.failed[path]


class EndsAtTax:
    def encode(self, texts: list[str]) -> Vectors:
        return os._exit(3) if "tax" in texts[0] else np.ones((len(texts), 3), dtype=np.float32)


def one_that_ends_at_tax() -> EndsAtTax:
    return EndsAtTax()


def test_what_changed_is_made_anew_and_nothing_else(place: Place) -> None:
    place.write("a.txt", "car")
    place.write("b.txt", "heron")
    place.update()
    place.make()
    before, heron = read(place.index, place.kind.name)["content"].tolist(), place.vector_of("b.txt")
    place.make()
    assert place.n_loads == 1
    place.write("a.txt", "tax", changed=2e9)
    place.update()
    place.make()
    np.testing.assert_allclose(place.vector_of("a.txt"), [0, 0, 1], atol=1e-6)
    assert place.n_loads == 2
    np.testing.assert_array_equal(place.vector_of("b.txt"), heron)
    assert len(set(before) & set(read(place.index, place.kind.name)["content"].tolist())) == 1


def test_what_was_removed_is_dropped_without_loading_anything(place: Place) -> None:
    """Two of five contents are dead: more than a quarter of the records, so the file is written anew."""
    for i in range(5):
        place.write(f"{i}.txt", f"car {i}")
    place.update()
    place.make()
    for i in (1, 3):
        (place.files / f"{i}.txt").unlink()
    place.update()
    place.make()
    assert (len(read(place.index, place.kind.name)), place.n_loads) == (3, 1)
    assert place.coverage == (3, 3)


def test_an_index_that_is_made_anew_finds_its_vectors_again(place: Place) -> None:
    """Whoever makes vectors meanwhile sees it empty, then with one file of five: what it lacks is not gone."""
    for i in range(5):
        place.write(f"{i}.txt", f"car {i}")
    place.update()
    place.make()
    other, _ = open_catalogue(place.index, place.catalogue.path, rebuild=True)
    other.close()
    place.make()
    place._updater.update([str(place.files / "3.txt")])
    place.make()
    assert (len(read(place.index, place.kind.name)), place.coverage) == (5, (1, 1))
    place.update()
    place.make()
    assert (place.n_loads, place.coverage) == (1, (5, 5))


def test_the_most_wanted_come_first_then_the_newest(place: Place) -> None:
    for i in range(4):
        place.write(f"{i}.txt", f"car {i}", changed=1e9 + i)
    place.update()
    (opened,) = place.catalogue.doc_ids_of(str(place.files / "1.txt"))
    maker = place.maker(wanted=lambda doc_ids: (doc_ids == opened).astype(float))
    while maker.step(0.0001):
        pass
    rows = Index.open(place.index).snapshot().documents
    order = [rows["doc_id"][rows["content"] == c][0] for c in read(place.index, place.kind.name)["content"]]
    paths = [place.catalogue.documents([i])[i].path for i in map(int, order)]
    assert [Path(path).name for path in paths] == ["1.txt", "3.txt", "2.txt", "0.txt"]


def test_a_document_in_a_language_that_the_encoder_does_not_know_has_none(place: Place) -> None:
    place.write("german.txt", "Der Reiher ist nicht der Storch, und das Wasser ist mit dem Schilf. " * 3)
    place.write("english.txt", "The heron is not the stork, and the water is with the reeds and the fish of it. " * 3)
    place.update()
    snapshot = Index.open(place.index).snapshot()
    english = type(place.kind)(place.kind.name, frozenset({"en"}))
    assert n_with_vectors(snapshot, place.index, english) == (0, 1)
    assert n_with_vectors(snapshot, place.index, place.kind) == (0, 2)


def test_what_is_searched_meanwhile_does_not_wait_and_two_do_not_write(place: Place) -> None:
    place.write("a.txt", "car")
    place.update()
    with closing(VectorWriter(place.index, place.kind.name)), pytest.raises(LockedError):
        place.maker().step()
    place.make()
    assert place.coverage == (1, 1)


def test_vectors_survive_a_rebuild_of_the_index(place: Place, tmp_path: Path) -> None:
    """They are found by what the texts hold: the same texts need no second reading."""
    place.write("a.txt", "car")
    place.update()
    place.make()
    place.catalogue.close()
    place.catalogue, _ = open_catalogue(place.index, tmp_path / "catalogue.sqlite", rebuild=True)
    place._updater.job = Job(place.index, place.catalogue, (str(place.files),), CrawlRules(), "test", "1")
    place.update()
    place.make()
    assert (place.coverage, place.n_loads) == ((1, 1), 1)


CHILD = """
import sys
from pathlib import Path
from functools import partial
from indexer.meaning.encoder import kind_of, load
from indexer.meaning.making import EncodingProcess
from indexer.meaning.making import VectorMaker
from indexer.storage.catalogue import Catalogue

base = Path(sys.argv[1])
encoder = str(base / "encoder")
start = lambda: EncodingProcess(partial(load, encoder))
maker = VectorMaker(Catalogue.open(base / "catalogue.sqlite"), base / "index", kind_of(encoder), start)
print("ready", flush=True)
while maker.step(0.001):
    print(maker.n_done, flush=True)
print("done", flush=True)
"""


def test_killed_at_any_moment_it_goes_on_where_it_was(place: Place, tmp_path: Path) -> None:
    """kill -9 by lot: what was acknowledged stays, no record is broken or double, and the last run ends complete."""
    n_files = 200
    for i in range(n_files):
        place.write(f"{i}.txt", "car heron tax " * 30 + f"file {i}")
    place.update()
    lot, n_kills = random.Random(SEED), 0
    while True:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        said = child.stdout.readline().strip() if n_kills < 3 else "done"
        if said == "done":
            child.communicate()
            break
        time.sleep(lot.random() * 0.05)
        child.send_signal(signal.SIGKILL)
        said = ([said, *child.communicate()[0].split()])[-1]
        n_kills += 1
        if said == "done":
            break
        assert place.coverage[0] >= int(said)
    assert n_kills
    place.make()
    contents = read(place.index, place.kind.name)["content"]
    assert place.coverage == (n_files, n_files)
    starts = read(place.index, place.kind.name)["start"]
    assert len(set(zip(contents.tolist(), starts.tolist(), strict=True))) == len(contents)
    for name in ("0.txt", "199.txt"):
        np.testing.assert_allclose(place.vector_of(name), np.full(3, 3**-0.5), atol=0.01)


pytest.importorskip("onnxruntime")


class Taken:
    """What an encoder could do that a text took over."""

    def __init__(self, encode: Callable[[Sequence[str]], Vectors]) -> None:
        self.encode = encode


def one_that_tries() -> Taken:
    """Its numbers: how many of the rights are left, and whether the file that the text names can be read."""
    return Taken(_tried)


def _tried(texts: Sequence[str]) -> Vectors:
    try:
        is_read = bool(Path(texts[0]).read_bytes())
    except OSError:
        is_read = False
    return np.array([[len(rights_left("/", None)), is_read]], dtype=np.float32)


def one_that_dies() -> Taken:
    return Taken(lambda texts: os._exit(3))


def encoded(load_it: Callable[[], object], texts: list[str]) -> Vectors:
    process = EncodingProcess(load_it)  # type: ignore[arg-type]
    try:
        return process.encode(texts)
    finally:
        process.close()


def test_it_gives_the_vectors_of_the_encoder(tmp_path: Path) -> None:
    folder = str(write_encoder(tmp_path))
    texts = ["car", "heron tax", "car heron"]
    np.testing.assert_array_equal(encoded(partial(load, folder), texts), load(folder).encode(texts))


@pytest.mark.skipif(not available(), reason="this system confines no process")
def test_a_text_that_takes_it_over_has_nothing(tmp_path: Path) -> None:
    """Neither folders nor writing, sockets, programs or signals, nor a file of the user's."""
    (tmp_path / "secret").write_text("a secret")
    assert encoded(one_that_tries, [str(tmp_path / "secret")]).tolist() == [[0, 0]]


def test_why_there_is_no_encoder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoEncoder, match=r"wanted a folder with model\.onnx"):
        EncodingProcess(partial(load, str(tmp_path)))


def test_a_text_that_ends_it_is_named_as_that() -> None:
    with pytest.raises(EncodingFailed, match="exit code 3"):
        encoded(one_that_dies, ["a text"])


def one_that_raves() -> Taken:
    return Taken(lambda texts: np.full((len(texts), 3), np.nan, dtype=np.float32))


def test_what_is_no_vector_is_refused() -> None:
    """Not a number, or too few: a process that was taken over may answer anything."""
    with pytest.raises(EncodingFailed, match="24 bytes for 2 texts, which are no vectors"):
        encoded(one_that_raves, ["a text", "another"])


PARENT = """
import sys
from functools import partial
from indexer.meaning.encoder import load
from indexer.meaning.making import EncodingProcess

one = EncodingProcess(partial(load, sys.argv[1]))
print(one._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what runs is seen in /proc")
def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """However that goes: here by kill -9."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(write_encoder(tmp_path))],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    place = Path("/proc", parent.stdout.readline().strip())
    assert place.exists()
    parent.kill()
    parent.communicate()
    until(lambda: not place.exists())
