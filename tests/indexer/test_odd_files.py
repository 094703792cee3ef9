"""Odd numbers, names and contents of one file are that file's affair: the rest of the folder is indexed and found."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry, Skipped
from indexer.extract.source import Limits
from indexer.files.crawl import Crawl, CrawlRules
from indexer.files.ignore_rules import IgnoreRules
from indexer.prepare import PreparedFile, prepare_file
from indexer.progress import UpdateSummary
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from indexer.update import Job, Updater, open_catalogue

Pool = WorkerPool[PreparedFile]
RULES = CrawlRules(ignore=IgnoreRules(hidden=True))


class Folder:
    """A folder in which files lie, one of them odd, and its index."""

    def __init__(self, base: Path, pool: Pool) -> None:
        self.files, self.index, self.pool = base / "files", base / "index", pool
        self.files.mkdir()
        self.catalogue: Catalogue = open_catalogue(self.index, base / "catalogue.sqlite")[0]
        self._n = itertools.count()

    def scan(self) -> UpdateSummary:
        """Write a neighbour before and one after whatever else is there, and index."""
        n = next(self._n)
        for place in ("0", "zz"):
            (self.files / f"{place}.txt").write_text(f"heron{n}")
        job = Job(self.index, self.catalogue, (str(self.files),), RULES, "the test", "1")
        summary = Updater(job, self.pool).scan()
        numbers = Index.open(self.index).snapshot().postings("body", f"heron{n}").docs
        assert numbers.size == 2, "a neighbour of the odd file is not found"
        return summary

    def state(self, path: str) -> str:
        """Whether a file is "indexed" or "named", failed (its kind), passed over (the rule), or "" unknown."""
        if (row := self.catalogue.file(path)) is not None:
            return row.known.failure or row.known.state
        found = Crawl([str(self.files)], RULES).locate(path)
        return found.rule if isinstance(found, Skipped) else ""

    def not_looked_at(self) -> list[str]:
        return [one.path for one in self.catalogue.skipped() if one.kind == "unreadable"]


@pytest.fixture
def folder(tmp_path: Path, pool: Pool) -> Iterator[Folder]:
    made = Folder(tmp_path, pool)
    yield made
    made.catalogue.close()


class Odd:
    """An entry of a folder whose numbers, or the asking for them, are odd."""

    def __init__(self, entry: os.DirEntry[str], stat: Callable[[], Any]) -> None:
        self._entry, self._stat, self.name, self.path = entry, stat, entry.name, entry.path

    def is_symlink(self) -> bool:
        return False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return self._stat()


@contextmanager
def answering(name: str, stat: Callable[[], Any]) -> Iterator[None]:
    """The system answers so when it is asked for the numbers of the file `name`."""
    real = os.scandir

    @contextmanager
    def scandir(path: str) -> Iterator[Any]:
        with real(path) as entries:
            yield [Odd(entry, stat) if entry.name == name else entry for entry in entries]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("indexer.files.crawl.os.scandir", scandir)
        yield


WIDE = st.integers(-(2**70), 2**70) | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 0])
SEVERAL = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@SEVERAL
@given(modified=WIDE, changed=WIDE, size=WIDE, inode=WIDE, device=WIDE)
@example(modified=10_413_792_000 * 10**9, changed=0, size=5, inode=2**64 - 1, device=2**64 - 1)
def test_odd_numbers_of_a_file_are_kept_as_well_as_they_can(
    folder: Folder, modified: int, changed: int, size: int, inode: int, device: int
) -> None:
    """Dates beyond 2262, sizes and numbers of files beyond 63 bits: the file is indexed, or named as too large."""
    path = folder.files / "odd.txt"
    path.write_text("egret")
    mode = path.stat().st_mode
    status = SimpleNamespace(
        st_mode=mode, st_size=size, st_mtime_ns=modified, st_ctime_ns=changed, st_ino=inode, st_dev=device
    )
    with answering("odd.txt", lambda: status):
        folder.scan()
        assert folder.catalogue.file(str(path)) is not None
        again = folder.scan()
    assert folder.state(str(path)) in ("indexed", "too-large")
    assert (again.n_changed, again.n_unchanged) == (2, 1), "its own numbers tell that it has not changed"
    assert np.isfinite(Index.open(folder.index).snapshot().documents["modified"]).all()


@pytest.mark.parametrize("seconds", [-(2**40), -(2**31), 0, 9_223_372_036, 9_223_372_037, 10_413_792_000, 2**40])
def test_dates_that_the_file_system_holds_are_indexed(folder: Folder, seconds: int) -> None:
    """A file of the year 2300, as a clock that was wrong makes it, is found and stops nothing."""
    path = folder.files / "odd.txt"
    path.write_text("egret")
    try:
        os.utime(path, (seconds, seconds))
    except (OSError, OverflowError):
        pytest.skip("the file system does not take such a date")
    assert folder.scan().n_new == 3
    assert folder.state(str(path)) == "indexed"


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), OverflowError("too large"), ValueError("odd"), RuntimeError("no")]
)
def test_a_file_that_cannot_be_asked_is_named_and_what_was_known_of_it_kept(folder: Folder, error: Exception) -> None:
    """A damaged disk answers for one file with an error: that file is listed as unreadable, and stays found."""

    def refuse() -> Any:
        raise error

    path = folder.files / "odd.txt"
    path.write_text("egret")
    folder.scan()
    with answering("odd.txt", refuse):
        summary = folder.scan()
    assert summary.n_removed == 0
    assert summary.unavailable[0].startswith(str(path))
    assert folder.not_looked_at() == [str(path)]
    assert folder.state(str(path)) == "indexed"


ENDINGS = st.sampled_from(
    ["", ".txt", ".md", ".html", ".pdf", ".eml", ".zip", ".docx", ".xls", ".json", ".rtf", ".ics", ".\udcff"]
)
CURATED = [
    b"a\nb", b"a\rb", b"\x1b[2J", "\u202eabc".encode(), b"\xff\xfe", b"a" * 250, "e\u0301".encode(), b" ", b"-rf",
    "\u00e9".encode(), b"a\tb", b"\x01\x7f", b"a.\xff\xff", b"~", b"%s", b"con", b"\xed\xa0\x80",
]  # fmt: skip
NAMES = st.sampled_from(CURATED) | st.binary(min_size=1, max_size=240)


@SEVERAL
@given(name=NAMES, ending=ENDINGS, content=st.binary(max_size=300))
def test_odd_names_and_contents_stop_nothing(folder: Folder, name: bytes, ending: str, content: bytes) -> None:
    """Bytes that are no UTF-8, line ends, marks of direction, 250 bytes; whatever stands in the file."""
    plain = name.replace(b"/", b"_").replace(b"\0", b"_") + os.fsencode(ending)
    if plain in (b".", b"..", b"0.txt", b"zz.txt"):
        return
    path = os.fsencode(folder.files) + b"/" + plain
    Path(os.fsdecode(path)).write_bytes(content)
    try:
        folder.scan()
        assert folder.state(os.fsdecode(path)), "the odd file is neither indexed nor named"
    finally:
        os.unlink(path)


def test_two_names_that_look_the_same_are_two_files(folder: Folder) -> None:
    """A name with one letter for an accent and one with two are kept apart."""
    paths = [folder.files / f"{name}.txt" for name in ("\u00e9", "e\u0301")]
    for path in paths:
        path.write_text("egret")
    folder.scan()
    assert [folder.state(str(path)) for path in paths] == ["indexed", "indexed"]


ODD_DOCUMENTS: list[dict[str, Any]] = [
    {"n_words": 2**70}, {"title": 5}, {"sketch": None}, {"language": "no such"}, {"type": "no such"}, {"part": None},
    {"message_ids": (1,)}, {"content_hash": None}, {"starts": (2**70,)}, {"modified": "yesterday"}, {"fields": {}},
    {"modified": 1e308}, {"truncated": "\udcff"}, {"properties": ((1, 2),)}, {"message_ids": ("\udcff",)},
    {"text_z": 5}, {"fields": {"body": None}},
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_DOCUMENTS, ids=lambda odd: "-".join(odd))
def test_a_document_that_cannot_be_stored_fails_alone(folder: Folder, odd: dict[str, Any]) -> None:
    """Whatever a reader gives that index or catalogue cannot take: its file fails with its name, or is stored."""
    path = folder.files / "odd.txt"
    path.write_text("egret")

    class Readers:
        """In the place of the processes: one answer is changed."""

        def run(self, entries: Iterator[FileEntry], stop: object) -> Iterator[tuple[FileEntry, PreparedFile]]:
            for entry in entries:
                found = prepare_file(entry.path, Limits())
                if entry.path == str(path):
                    documents = tuple(msgspec.structs.replace(one, **odd) for one in found.documents)
                    found = msgspec.structs.replace(found, documents=documents)
                yield entry, found

        def close(self) -> None: ...

    folder.pool = Readers()  # type: ignore[assignment]
    summary = folder.scan()
    assert folder.state(str(path)) in ("crashed", "indexed")
    assert summary.n_failed == (folder.state(str(path)) == "crashed")
    writer: AbstractContextManager[Any] = Index.open(folder.index).writer("the test")
    with writer as opened:
        assert opened.doc_ids() == folder.catalogue.doc_ids()


def test_a_root_that_lies_in_another_root_is_indexed_once(folder: Folder) -> None:
    """A single file that is chosen beside its folder, as the data of another program may be, is one file."""
    path = folder.files / "lone.txt"
    path.write_text("egret")
    job = Job(folder.index, folder.catalogue, (str(folder.files), str(path)), RULES, "the test", "1")
    assert Updater(job, folder.pool).scan().n_new == 1
    assert not Updater(job, folder.pool).scan().changed_anything
