"""The table of contents: written by Whoosh, read without it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import whoosh.index

from indexer.codec.contents import INDEX_NAME, newest, read_contents
from indexer.codec.whoosh_codec import whoosh_schema
from indexer.errors import IndexDamaged
from indexer.storage.index import Index


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


def test_who_reads_does_not_load_whoosh(make_index: Callable[..., Index]) -> None:
    """Nor does a writer that changes nothing; a commit does, for Whoosh writes its table."""
    folder = make_index(["heron", "stork", "crane"], sizes=[2]).folder
    code = (
        "import sys; from pathlib import Path; from indexer.storage.index import Index\n"
        "index = Index.open(Path(sys.argv[1])); print(len(index.snapshot().documents), 'whoosh' in sys.modules)\n"
        "with index.writer('the test') as writer: print(writer.wipe(), 'whoosh' in sys.modules)\n"
        "with index.writer('the test') as writer: print(writer.commit(), 'whoosh' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True).stdout
    number, _ = read_contents(folder)
    assert told == f"3 False\n{number - 1} False\n{number} True\n"


def test_a_table_of_before_is_read_until_the_next_commit(make_index: Callable[..., Index]) -> None:
    """Older tables name the segments by another path; the next commit names them by theirs."""
    index = make_index(["heron", "stork", "crane"], sizes=[2])
    (table,) = index.folder.glob("_*.toc")
    content = table.read_bytes()
    head = content[: content.rindex(b"\x80")]
    segments = [vars(one) for one in pickle.loads(content[len(head) :])]
    pickled = pickle.dumps([_Former(state) for state in segments], 2)
    table.write_bytes(head + pickled.replace(f"{__name__}\n_Former".encode(), b"indexer.whoosh_codec\nSegment"))
    assert b"indexer.codec" not in table.read_bytes()[len(head) :]
    before = read_contents(index.folder)
    assert [one.n_documents for one in before[1]] == [2, 1]
    with index.writer("the test") as writer:
        writer.commit(merge=False)
    theirs = whoosh.index.open_dir(str(index.folder), indexname=INDEX_NAME)
    assert [one.segment_id() for one in theirs._segments()] == [one.name for one in before[1]]


class _Former:
    """Pickled as a segment was."""

    def __init__(self, state: dict[str, object]) -> None:
        vars(self).update(state)


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
