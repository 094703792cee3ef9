"""The table of contents, read and replaced without Whoosh."""

from __future__ import annotations

import pickle
import subprocess
import sys
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


def test_only_the_first_commit_of_an_index_loads_whoosh(make_index: Callable[..., Index]) -> None:
    """What adds, removes and merges later writes tables that Whoosh reads, and does without it."""
    folder = make_index(["heron", "stork", "crane"], sizes=[2]).folder
    code = (
        "import sys; from pathlib import Path; from indexer.storage.index import Index\n"
        "with Index.open(Path(sys.argv[1])).writer('the test') as writer:\n"
        "    writer.remove([1]); print(writer.commit(merge=False), writer.optimize(), 'whoosh' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True).stdout
    number, segments = read_contents(folder)
    assert told == f"{number - 1} {number} False\n"
    theirs = whoosh.index.open_dir(str(folder), indexname=INDEX_NAME, schema=whoosh_schema())
    assert [one.doc_count_all() for one in theirs._segments()] == [one.n_documents for one in segments] == [2]


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
