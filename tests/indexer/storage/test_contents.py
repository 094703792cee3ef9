"""The table of contents, read without Whoosh."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import whoosh.index

from indexer.errors import IndexDamaged
from indexer.storage.contents import INDEX_NAME, newest, read_contents
from indexer.storage.index import Index
from indexer.whoosh_schema import whoosh_schema


def test_it_reads_what_whoosh_reads(make_index: Callable[..., Index]) -> None:
    """Number, names, counts and deletions of the segments, as Whoosh's own reader finds them in the same file."""
    index = make_index(["heron", "stork", "crane", "egret"] * 2, sizes=[6], removed=[1])
    number, segments = read_contents(index.folder)
    theirs = whoosh.index.open_dir(str(index.folder), indexname=INDEX_NAME, schema=whoosh_schema())
    assert number == newest(index.folder) == theirs.latest_generation() == 3
    assert [(one.name, one.n_documents, one.deleted) for one in segments] == [
        (one.segment_id(), one.doc_count_all(), frozenset(one.deleted_docs())) for one in theirs._segments()
    ]
    assert sum(len(one.deleted) for one in segments) == 1
    assert read_contents(make_index([]).folder) == (0, [])


def damaged(folder: Path, change: Callable[[bytes], bytes]) -> None:
    (table,) = folder.glob("_*.toc")
    table.write_bytes(change(table.read_bytes()))


class Evil:
    """Pickled, it asks for a function to be called."""

    def __reduce__(self) -> object:
        return print, ("it ran",)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:3] + b"\0" + content[4:],
        lambda content: content[: content.rindex(b"\x80")] + pickle.dumps([Evil()]),
    ],
    ids=["half", "empty", "other byte order", "asks for a call"],
)
def test_a_damaged_one_is_told_and_runs_nothing(
    tmp_path: Path, change: Callable[[bytes], bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    """IndexDamaged, whatever is wrong; of the pickle nothing but segments is made."""
    Index.open(tmp_path)
    damaged(tmp_path, change)
    with pytest.raises(IndexDamaged, match="cannot be read"):
        read_contents(tmp_path)
    assert "it ran" not in capfd.readouterr().out
