"""The file of vectors: what is appended is there, what was not acknowledged is cut off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from indexer.errors import IndexerError, LockedError
from indexer.meaning import vectors
from indexer.meaning.passages import Passage
from indexer.meaning.vectors import FILE, HEADER, VectorWriter, destroy, read, records_of, state_of
from indexer.postings import Rows

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
    with VectorWriter(tmp_path, "one") as writer:
        writer.append(some(5))
        writer.append(some(3))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5, 3, 3]
    with VectorWriter(tmp_path, "one") as writer:
        writer.append(some(9))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 3, 3, 9, 9]
    assert read(tmp_path, "one")["vector"].tolist() == [[127, -64, 32], [0, 95, 127]] * 3
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        FILE: 0o600, vectors.LOCK: 0o600
    }  # fmt: skip


def test_an_append_that_was_cut_short_has_not_happened(tmp_path: Path) -> None:
    """Cut anywhere between the records and the header that counts them, the file reads as before, and goes on."""
    with VectorWriter(tmp_path, "one") as writer:
        writer.append(some(5))
    whole = (tmp_path / FILE).read_bytes()
    for rest in (b"x", some(6).tobytes(), some(6).tobytes()[:-1]):
        (tmp_path / FILE).write_bytes(whole + rest)
        assert read(tmp_path, "one")["content"].tolist() == [5, 5]
        with VectorWriter(tmp_path, "one") as writer:
            writer.append(some(8))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5, 8, 8]
    (tmp_path / FILE).write_bytes(whole[:-1])
    assert read(tmp_path, "one")["content"].tolist() == [5]
    (tmp_path / FILE).write_bytes(whole[: HEADER.itemsize - 1])
    assert len(read(tmp_path, "one")) == 0


def test_dropping_keeps_the_others_and_what_readers_have(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, "one") as writer:
        for content in (5, 3, 9):
            writer.append(some(content))
        before = read(tmp_path, "one")
        writer.keep(np.array([9, 5, 100]))
        writer.append(some(4))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 9, 9, 4, 4]
    assert before["content"].tolist() == [5, 5, 3, 3, 9, 9]


def test_wiping_overwrites_in_place_and_leaves_the_others(tmp_path: Path) -> None:
    """Nothing of the record is left; appending goes on behind it, and a second time there is nothing to do."""
    with VectorWriter(tmp_path, "one") as writer:
        for content in (5, 3, 9):
            writer.append(some(content))
        gone = read(tmp_path, "one")[2].tobytes()
        for _ in range(2):
            writer.wipe(np.array([False, False, True, True, False, False]))
        writer.append(some(4))
    assert read(tmp_path, "one")["content"].tolist() == [5, 5, 0, 0, 9, 9, 4, 4]
    assert gone[:8] not in (tmp_path / FILE).read_bytes()


def test_another_encoder_begins_anew_and_destroy_leaves_nothing(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, "one") as writer:
        writer.append(some(5))
    assert len(read(tmp_path, "other")) == 0
    with VectorWriter(tmp_path, "other") as writer:
        assert len(read(tmp_path, "one")) == 0
        writer.append(some(2))
    assert read(tmp_path, "other")["content"].tolist() == [2, 2]
    destroy(tmp_path)
    assert state_of(tmp_path) == (0, 0)


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, "one") as writer:
        writer.append(some(5))
        with pytest.raises(IndexerError, match="wanted records"):
            writer.append(records_of(6, PASSAGES, np.ones((2, 4), dtype=np.float32)))
        assert read(tmp_path, "one")["content"].tolist() == [5, 5]


def test_one_writes_at_a_time(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, "one"), pytest.raises(LockedError):
        VectorWriter(tmp_path, "one")
    VectorWriter(tmp_path, "one").close()
