"""From postings document by document to lists term by term, and from several segments to one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.codec import segment_writing
from indexer.codec.segment_writing import FieldBuffer, group_lists, merged_lists, renumber, write_segment
from indexer.codec.segments import SegmentFiles
from indexer.postings import decode
from indexer.schema import DOCUMENT
from indexer.text.analysis import Analyzer, raw_terms, raw_tokens

TEXTS = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "é", "x-y"]), max_size=6).map(" ".join), max_size=8)


def buffer_of(texts: list[str]) -> FieldBuffer:
    """The texts as one field of the documents 0, 1, 2 ..."""
    buffer, analyzer = FieldBuffer(), Analyzer()
    for doc, text in enumerate(texts):
        buffer.add(doc, analyzer.analyse(text))
    return buffer


def by_hand(texts: list[str]) -> dict[bytes, dict[int, list[int]]]:
    """Term -> document -> positions, one token at a time."""
    found: dict[bytes, dict[int, list[int]]] = {}
    for doc, text in enumerate(texts):
        position = 0
        for raw in raw_tokens(text):
            terms, width = raw_terms(raw)
            for term, offset in terms:
                found.setdefault(term.encode(), {}).setdefault(doc, []).append(position + offset)
            position += width
    return found


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_buffer_gives_the_lists_of_all_its_documents(texts: list[str]) -> None:
    """Terms in byte order, documents ascending, each with its own positions."""
    buffer, expected = buffer_of(texts), by_hand(texts)
    found = buffer.lists()
    assert found.terms == sorted(expected)
    assert found.df.tolist() == [len(expected[term]) for term in sorted(expected)]
    runs = [(doc, expected[term][doc]) for term in sorted(expected) for doc in sorted(expected[term])]
    assert found.docs.tolist() == [doc for doc, _ in runs]
    assert found.tf.tolist() == [len(positions) for _, positions in runs]
    codes = np.split(found.positions, np.cumsum(found.position_lengths)[:-1].astype(int)) if runs else []
    assert [np.cumsum(decode(code)).tolist() for code in codes] == [positions for _, positions in runs]
    assert buffer.n_postings == len(runs)


def test_lists_are_grouped_in_blocks_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on memory changes nothing."""
    texts = ["a b c a", "b b", "c a d", "d"]
    whole = buffer_of(texts).lists()
    monkeypatch.setattr(segment_writing, "_BLOCK", 2)
    in_blocks = buffer_of(texts).lists()
    assert in_blocks.positions.tolist() == whole.positions.tolist()
    assert in_blocks.docs.tolist() == whole.docs.tolist()


def test_grouping_by_hand() -> None:
    """Two terms met as z, a: "a" comes first, and its documents 1 and 2 keep their order."""
    grouped = group_lists(
        [b"z", b"a"], np.array([0, 1, 1], dtype=np.int32), docs=np.array([0, 1, 2]), tf=np.array([1, 2, 3]),
        lengths=np.array([1, 2, 1]), positions=np.array([9, 1, 2, 7], dtype=np.uint8),
    )  # fmt: skip
    assert (grouped.terms, grouped.df.tolist()) == ([b"a", b"z"], [2, 1])
    assert (grouped.docs.tolist(), grouped.tf.tolist()) == ([1, 2, 0], [2, 3, 1])
    assert grouped.positions.tolist() == [1, 2, 7, 9]


def test_living_documents_are_numbered_on() -> None:
    """Segments of 3 and 2 documents without 1 and 3: 0 -> 0, 2 -> 1, 4 -> 2."""
    maps, n = renumber([3, 2], [{1}, {0}])
    assert ([m.tolist() for m in maps], n) == ([[0, -1, 1], [-1, 2]], 3)
    assert renumber([], []) == ([], 0)


def segment(folder: Path, name: str, texts: list[str]) -> SegmentFiles:
    documents = np.zeros(len(texts), dtype=DOCUMENT)
    write_segment(folder, name, documents=documents, fields={"body": [buffer_of(texts).lists()]})
    return SegmentFiles(folder, name)


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(TEXTS, min_size=1, max_size=4), data=st.data(), run=st.integers(1, 5))
def test_merged_segments_are_byte_for_byte_one_written_at_once(
    merge_folder: Path, parts: list[list[str]], data: st.DataObject, run: int
) -> None:
    """Any split of any documents, with any of them dead, merges to what the living ones alone give."""
    dead = [data.draw(st.sets(st.integers(0, len(part) - 1)) if part else st.just(set())) for part in parts]
    segments = [segment(merge_folder, f"part{i}", part) for i, part in enumerate(parts)]
    maps, n = renumber([len(part) for part in parts], dead)
    living = [text for part, gone in zip(parts, dead, strict=True) for i, text in enumerate(part) if i not in gone]
    assert n == len(living)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_writing, "_RUN_BYTES", run * 20)
        runs = list(merged_lists("body", segments, maps))
    write_segment(merge_folder, "merged", documents=np.zeros(n, dtype=DOCUMENT), fields={"body": runs})
    segment(merge_folder, "whole", living)
    for extension in (".pst", ".trm", ".doc"):
        merged, whole = ((merge_folder / f"{name}{extension}").read_bytes() for name in ("merged", "whole"))
        assert merged == whole


@pytest.fixture(scope="session")
def merge_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merge")
