"""Segments on disk: what is written is read, damage is named, and Whoosh answers as over its own codec.

The table of contents: written by Whoosh, read without it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import whoosh.index
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from indexer.codec.segment_writing import Chosen, write_columns, write_segment
from indexer.codec.segments import (
    EXTENSIONS,
    INDEX_NAME,
    NAMES,
    Columns,
    FieldLists,
    SegmentFiles,
    mapped_columns,
    newest,
    read_contents,
)
from indexer.codec.whoosh_codec import whoosh_schema
from indexer.errors import IndexDamaged
from indexer.postings import encode
from indexer.schema import DOCUMENT
from indexer.storage.index import Index

Places = Mapping[bytes, Mapping[int, list[int]]]
"""term -> document -> ascending positions; () for a tag, which has none"""
N_DOCUMENTS = 6
TERMS = st.sampled_from([b"a", b"ab", b"b", b"\xc3\xa9", b"zz"])
POSITIONS = st.lists(st.integers(0, 40) | st.integers(0, 70_000), min_size=1, max_size=4, unique=True).map(sorted)
FIELD = st.dictionaries(TERMS, st.dictionaries(st.integers(0, N_DOCUMENTS - 1), POSITIONS, min_size=1), max_size=4)


def lists_of(places: Places) -> FieldLists:
    """What a buffer gives for these positions."""
    terms = sorted(places)
    runs = [(doc, places[term][doc]) for term in terms for doc in sorted(places[term])]
    codes = [encode(np.diff(positions, prepend=0))[0] for _, positions in runs]
    return FieldLists(
        terms,
        np.array([len(places[term]) for term in terms], dtype=np.int64),
        np.array([doc for doc, _ in runs], dtype=np.int64),
        np.array([len(positions) for _, positions in runs], dtype=np.int64),
        np.array([code.size for code in codes], dtype=np.int64),
        np.concatenate([np.zeros(0, dtype=np.uint8), *codes]),
    )


def written(folder: Path, segment: Mapping[str, Places]) -> SegmentFiles:
    """A segment of these fields, read back."""
    documents = np.zeros(N_DOCUMENTS, dtype=DOCUMENT)
    documents["doc_id"] = np.arange(N_DOCUMENTS) * 10
    documents["n_body"] = 7
    write_segment(folder, "s", documents=documents, fields={name: [lists_of(p)] for name, p in segment.items()})
    return SegmentFiles(folder, "s")


@pytest.fixture(scope="session")
def segment_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("segments")


@settings(max_examples=30, deadline=None)
@given(body=FIELD, title=FIELD)
def test_a_segment_reads_as_it_was_written(segment_folder: Path, body: Places, title: Places) -> None:
    """Terms, frequencies, documents, occurrences and positions come back for every field."""
    segment = written(segment_folder, {"body": body, "title": title})
    for field, places in (("body", body), ("title", title), ("name", {})):
        assert segment.all_terms(field) == sorted(places)
        assert segment.n_terms(field) == len(places)
        assert segment.document_frequencies(field).tolist() == [len(places[term]) for term in sorted(places)]
        for i, term in enumerate(sorted(places)):
            docs = sorted(places[term])
            counts = [len(places[term][doc]) for doc in docs]
            assert (segment.find(field, term), segment.term(field, i)) == (i, term)
            assert segment.frequencies(field, i) == (len(docs), sum(counts))
            assert [column.tolist() for column in segment.postings(field, i)] == [docs, counts]
            for wanted in (docs, docs[1:], docs[:1], []):
                in_docs, positions = segment.positions(field, i, np.array(wanted, dtype=np.int64))
                expected = [(doc, position) for doc in wanted for position in places[term][doc]]
                assert list(zip(in_docs.tolist(), positions.tolist(), strict=True)) == expected
    assert segment.documents["doc_id"].tolist() == [0, 10, 20, 30, 40, 50]
    assert segment.total_lengths["body"] == 7 * N_DOCUMENTS


@settings(max_examples=30, deadline=None)
@given(places=FIELD, sought=st.binary(max_size=3))
def test_a_term_that_is_not_there_has_its_place_among_the_others(
    segment_folder: Path, places: Places, sought: bytes
) -> None:
    """`position_of` is the number of smaller terms; `find` says -1 for what is not there."""
    segment = written(segment_folder, {"body": places})
    assert segment.position_of("body", sought) == sum(term < sought for term in places)
    place = segment.position_of("body", sought)
    for start in range(place + 1):
        assert segment.position_of("body", sought, start, start + 3) == min(place, start + 3)
    assert segment.find("body", sought) == (sorted(places).index(sought) if sought in places else -1)
    assert segment.find("no such field", sought) == -1


@settings(max_examples=30, deadline=None)
@given(places=FIELD, bounds=st.tuples(st.integers(0, 4), st.integers(0, 4)))
def test_lists_for_merging_are_those_that_were_written(
    segment_folder: Path, places: Places, bounds: tuple[int, int]
) -> None:
    """Any run of terms comes back with all its arrays."""
    start, stop = sorted(min(bound, len(places)) for bound in bounds)
    segment = written(segment_folder, {"body": places})
    if not places:
        return
    found = segment.field_lists("body", start, stop)
    expected = lists_of({term: places[term] for term in sorted(places)[start:stop]})
    assert found.terms == expected.terms
    for name in ("df", "docs", "tf", "position_lengths", "positions"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    without = segment.field_lists("body", start, stop, positions=False)
    assert without.positions.size == 0
    assert (without.terms, without.docs.tolist(), without.tf.tolist()) == (
        found.terms,
        *map(list, (found.docs, found.tf)),
    )


@pytest.mark.parametrize(("top", "width"), [(1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)])
def test_numbers_are_kept_in_the_narrowest_array(tmp_path: Path, top: int, width: int) -> None:
    """One, two or four bytes for each gap between two documents, and the byte that says so."""
    lists = replace(lists_of({b"ext=pdf": {0: [], top: []}}), tf=np.ones(2, dtype=np.int64))
    write_segment(tmp_path, "t", documents=np.zeros(top + 1, dtype=DOCUMENT), fields={"tag": [lists]})
    assert (tmp_path / "t.pst").stat().st_size == 1 + 2 * width
    assert SegmentFiles(tmp_path, "t").postings("tag", 0)[0].tolist() == [0, top]


def test_a_list_of_ones_costs_one_byte_a_document(tmp_path: Path) -> None:
    """Tags: three gaps of one byte, no occurrences, no positions, and the byte that says so."""
    lists = replace(lists_of({b"ext=pdf": {0: [], 2: [], 5: []}}), tf=np.ones(3, dtype=np.int64))
    write_segment(tmp_path, "t", documents=np.zeros(6, dtype=DOCUMENT), fields={"tag": [lists]})
    assert (tmp_path / "t.pst").stat().st_size == 1 + 3
    segment = SegmentFiles(tmp_path, "t")
    assert [column.tolist() for column in segment.postings("tag", 0)] == [[0, 2, 5], [1, 1, 1]]
    assert segment.positions("tag", 0, np.array([0, 2]))[1].size == 0


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[: len(data) // 2], lambda data: b"",
                                    lambda data: data + b"x", lambda data: os.urandom(len(data) + 3)])  # fmt: skip
def test_a_file_that_is_not_whole_is_named(tmp_path: Path, extension: str, damage: Callable[[bytes], bytes]) -> None:
    """Cut short, emptied, grown or overwritten: IndexDamaged at opening, and nothing else."""
    written(tmp_path, {"body": {b"a": {0: [1], 3: [2, 9]}, b"b": {1: [300]}}})
    path = tmp_path / f"s{extension}"
    path.write_bytes(damage(path.read_bytes()))
    if extension == ".doc" and path.stat().st_size % DOCUMENT.itemsize == 0:
        assert len(SegmentFiles(tmp_path, "s").documents) != N_DOCUMENTS  # for the table of contents to say
    else:
        with pytest.raises(IndexDamaged, match="segment s"):
            SegmentFiles(tmp_path, "s")


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_overwritten_bytes_are_read_or_named(segment_folder: Path, data: st.DataObject) -> None:
    """Bytes changed in place cannot all be noticed, but reading them never fails in another way than IndexDamaged."""
    written(segment_folder, {"body": {b"a": {0: [1], 3: [2, 9]}, b"b": {1: [300]}}, "tag": {b"t": {1: [0]}}})
    path = segment_folder / f"s{data.draw(st.sampled_from(EXTENSIONS[1:]))}"
    content = bytearray(path.read_bytes())
    for _ in range(3):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        segment = SegmentFiles(segment_folder, "s")
        for field in segment.fields:
            segment.all_terms(field)
            for i in range(min(segment.n_terms(field), 3)):
                docs, _ = segment.postings(field, i)
                segment.positions(field, i, docs)
    except IndexDamaged:
        pass


def rows(n: int, first: int = 0) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Documents whose every number tells which document and which column it is of."""
    made = np.zeros(n, dtype=DOCUMENT)
    for i, name in enumerate(DOCUMENT.names or ()):
        made[name] = ((np.arange(first, first + n) * 7 + i) % 200).reshape(-1, *[1] * len(DOCUMENT[name].shape))
    return made


def column_bytes(documents: object) -> bytes:
    stream = BytesIO()
    write_columns(stream, documents)  # type: ignore[arg-type]
    return stream.getvalue()


@given(st.integers(0, 9))
def test_what_is_written_is_read(n: int) -> None:
    """Every column of every document, and each starts where its numbers can be mapped."""
    columns = mapped_columns(column_bytes(rows(n)))
    assert len(columns) == columns.size == n
    for name in NAMES:
        assert columns[name].tolist() == rows(n)[name].tolist()
        assert columns[name].flags.aligned


def test_part_of_a_document_is_damage() -> None:
    """Bytes that are no whole number of documents raise ValueError."""
    with pytest.raises(ValueError, match="no whole number of documents"):
        mapped_columns(column_bytes(rows(2))[:-1])


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_several_segments_are_one(sizes: list[int], data: st.DataObject) -> None:
    """Joined, and taken one by one before anything was joined."""
    firsts = np.cumsum([0, *sizes])[:-1].tolist() if sizes else []
    parts = [mapped_columns(column_bytes(rows(n, first))) for n, first in zip(sizes, firsts, strict=True)]
    whole = rows(sum(sizes))
    numbers = np.array(data.draw(st.lists(st.sampled_from(range(sum(sizes))), max_size=5)) if len(whole) else [], int)
    for name in NAMES:
        columns = Columns(parts, sizes)
        assert columns.take(name, numbers).tolist() == whole[name][numbers].tolist()
        assert columns[name].tolist() == whole[name].tolist()


def test_chosen_documents_are_written_as_they_stand() -> None:
    """Those of the first segment come first."""
    parts = [mapped_columns(column_bytes(rows(3))), mapped_columns(column_bytes(rows(2, 3)))]
    kept = [np.array([True, False, True]), np.array([False, True])]
    again = mapped_columns(column_bytes(Chosen(parts, kept)))
    assert again["doc_id"].tolist() == rows(5)["doc_id"][[0, 2, 4]].tolist()


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
