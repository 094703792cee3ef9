"""The file of vectors: what is appended is there, what was not acknowledged is cut off.

The passages that stand for a document.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import IndexerError, LockedError
from indexer.meaning import vectors
from indexer.meaning.vectors import (
    FILE,
    HEADER,
    MAX_PASSAGES,
    MAX_WINDOWS,
    WORDS,
    Passage,
    VectorWriter,
    destroy,
    passages_of,
    read,
    records_of,
    state_of,
    windows_of,
)
from indexer.postings import Rows
from indexer.text.analysis import sequence

PASSAGES = [Passage(0, 10, ""), Passage(12, 30, "")]


def some(content: int) -> Rows:
    made = np.array([[1.0, -0.5, 0.25], [0.0, 0.6, 0.8]], dtype=np.float32)
    return records_of(content, PASSAGES, made)


def test_a_vector_is_kept_in_127_steps_of_its_largest_number() -> None:
    """1, -.5, .25 at the scale 1/127: 127, -63.5 (to the even 64), 31.75 (to 32)."""
    first, second = some(7)
    assert (first["content"], first["start"], first["end"], first["vector"].tolist()) == (7, 0, 10, [127, -64, 32])
    assert second["scale"] * second["vector"] == pytest.approx([0, 0.6, 0.8], abs=0.8 / 254)


def test_what_was_appended_is_read_in_order_and_private(tmp_path: Path) -> None:
    with closing(VectorWriter(tmp_path, "one")) as writer:
        writer.append(some(5))
        writer.append(some(3))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5, 3, 3]
    with closing(VectorWriter(tmp_path, "one")) as writer:
        writer.append(some(9))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 3, 3, 9, 9]
    assert read(tmp_path, "one")["vector"].tolist() == [[127, -64, 32], [0, 95, 127]] * 3
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        FILE: 0o600, vectors.LOCK: 0o600
    }  # fmt: skip


def test_an_append_that_was_cut_short_has_not_happened(tmp_path: Path) -> None:
    """Cut anywhere between the records and the header that counts them, the file reads as before, and goes on."""
    with closing(VectorWriter(tmp_path, "one")) as writer:
        writer.append(some(5))
    whole = (tmp_path / FILE).read_bytes()
    for rest in (b"x", some(6).tobytes(), some(6).tobytes()[:-1]):
        (tmp_path / FILE).write_bytes(whole + rest)
        assert read(tmp_path, "one")["content"].tolist() == [5, 5]
        with closing(VectorWriter(tmp_path, "one")) as writer:
            writer.append(some(8))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5, 8, 8]
    (tmp_path / FILE).write_bytes(whole[:-1])
    assert read(tmp_path, "one")["content"].tolist() == [5]
    (tmp_path / FILE).write_bytes(whole[: HEADER.itemsize - 1])
    assert len(read(tmp_path, "one")) == 0


def test_dropping_keeps_the_others_and_what_readers_have(tmp_path: Path) -> None:
    with closing(VectorWriter(tmp_path, "one")) as writer:
        for content in (5, 3, 9):
            writer.append(some(content))
        before = read(tmp_path, "one")
        writer.keep(np.array([9, 5, 100]))
        writer.append(some(4))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 9, 9, 4, 4]
    assert before["content"].tolist() == [5, 5, 3, 3, 9, 9]


def test_wiping_overwrites_in_place_and_leaves_the_others(tmp_path: Path) -> None:
    """Nothing of the record is left; appending goes on behind it, and a second time there is nothing to do."""
    with closing(VectorWriter(tmp_path, "one")) as writer:
        for content in (5, 3, 9):
            writer.append(some(content))
        gone = read(tmp_path, "one")[2].tobytes()
        for _ in range(2):
            writer.wipe(np.array([False, False, True, True, False, False]))
        writer.append(some(4))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 0, 0, 9, 9, 4, 4]
    assert gone[:8] not in (tmp_path / FILE).read_bytes()


def test_another_encoder_begins_anew_and_destroy_leaves_nothing(tmp_path: Path) -> None:
    with closing(VectorWriter(tmp_path, "one")) as writer:
        writer.append(some(5))
    assert len(read(tmp_path, "other")) == 0
    with closing(VectorWriter(tmp_path, "other")) as writer:
        assert len(read(tmp_path, "one")) == 0
        writer.append(some(2))
    assert read(tmp_path, "other")["content"].tolist() == [2, 2]
    destroy(tmp_path)
    assert state_of(tmp_path) == (0, 0)


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    with closing(VectorWriter(tmp_path, "one")) as writer:
        writer.append(some(5))
        with pytest.raises(IndexerError, match="wanted records"):
            writer.append(records_of(6, PASSAGES, np.ones((2, 4), dtype=np.float32)))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5]


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    with closing(VectorWriter(tmp_path, "one")), pytest.raises(LockedError):
        VectorWriter(tmp_path, "one")
    VectorWriter(tmp_path, "one").close()


def numbered(n: int) -> str:
    return " ".join(f"w{i}" for i in range(n))


def test_a_short_text_is_one_passage_with_its_title_in_front() -> None:
    text = "  The heron waits.\n"
    (only,) = passages_of("Birds", text)
    assert only == (2, 18, "Birds. The heron waits.", -1)
    assert text[only.start : only.end] == "The heron waits."


def test_a_text_of_a_few_passages_is_cut_evenly_and_whole() -> None:
    """150 words are round(150 / 70) = 2 passages of 75."""
    found = passages_of("", numbered(150))
    assert [(p.text.split()[0], p.text.split()[-1]) for p in found] == [("w0", "w74"), ("w75", "w149")]


def test_of_a_long_text_eight_passages_are_taken_from_the_first_to_the_last_words() -> None:
    """70 words begin at (2000 - 70) i / 7."""
    found = passages_of("", numbered(2000))
    assert [p.text.split()[0] for p in found] == [f"w{(2000 - WORDS) * i // 7}" for i in range(8)]
    assert {len(p.text.split()) for p in found} == {WORDS}
    assert found[-1].text.endswith("w1999")


def test_signs_of_chinese_count_as_words_and_a_very_long_word_as_several() -> None:
    assert len(passages_of("", "中" * 140)) == 2
    assert len(passages_of("", "x" * 60 * 140)) == 2


def test_a_title_alone_is_a_passage_and_nothing_is_none() -> None:
    assert passages_of("Heron", " \n") == [(0, 0, "Heron", -1)]
    assert passages_of("", "\n") == []


@given(st.text(max_size=3000), st.integers(1, 40))
def test_passages_ascend_in_the_text_and_are_few(text: str, times: int) -> None:
    found = passages_of("", text * times)
    assert len(found) <= MAX_PASSAGES
    assert all(one.start < one.end for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)


def test_windows_hold_the_whole_of_a_long_text_and_know_their_places() -> None:
    """2,000 words are round(2000 / 70) = 29 windows; "well-known" takes two places of the index."""
    text = numbered(1000) + " well-known " + numbered(999)
    found = windows_of("Birds", text)
    assert len(found) == 29
    assert " ".join(text[one.start : one.end] for one in found) == text
    terms = sequence(text)
    assert [terms[one.place] for one in found] == [sequence(text[one.start : one.end])[0] for one in found]
    assert all(one.text.startswith("Birds. ") for one in found)


def test_of_a_very_long_text_so_many_windows_are_taken_from_the_first_to_the_last_words() -> None:
    found = windows_of("", numbered(30_000))
    assert (len(found), found[0].place, found[-1].place) == (MAX_WINDOWS, 0, 30_000 - WORDS)
    assert windows_of("Heron", "") == []
