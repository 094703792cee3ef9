"""The numbers kept for each document, column by column."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.schema import DOCUMENT
from indexer.storage.columns import NAMES, Chosen, Columns, mapped_columns, write_columns


def rows(n: int, first: int = 0) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Documents whose every number tells which document and which column it is of."""
    made = np.zeros(n, dtype=DOCUMENT)
    for i, name in enumerate(DOCUMENT.names or ()):
        made[name] = ((np.arange(first, first + n) * 7 + i) % 200).reshape(-1, *[1] * len(DOCUMENT[name].shape))
    return made


def written(documents: object) -> bytes:
    stream = BytesIO()
    write_columns(stream, documents)  # type: ignore[arg-type]
    return stream.getvalue()


@given(st.integers(0, 9))
def test_what_is_written_is_read(n: int) -> None:
    """Every column of every document, and each starts where its numbers can be mapped."""
    columns = mapped_columns(written(rows(n)))
    assert len(columns) == columns.size == n
    for name in NAMES:
        assert columns[name].tolist() == rows(n)[name].tolist()
        assert columns[name].flags.aligned


def test_part_of_a_document_is_damage() -> None:
    """Bytes that are no whole number of documents raise ValueError."""
    with pytest.raises(ValueError, match="no whole number of documents"):
        mapped_columns(written(rows(2))[:-1])


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
def test_several_segments_are_one(sizes: list[int], data: st.DataObject) -> None:
    """Joined, and taken one by one before anything was joined."""
    firsts = np.cumsum([0, *sizes])[:-1].tolist() if sizes else []
    parts = [mapped_columns(written(rows(n, first))) for n, first in zip(sizes, firsts, strict=True)]
    whole = rows(sum(sizes))
    numbers = np.array(data.draw(st.lists(st.sampled_from(range(sum(sizes))), max_size=5)) if len(whole) else [], int)
    for name in NAMES:
        columns = Columns(parts, sizes)
        assert columns.take(name, numbers).tolist() == whole[name][numbers].tolist()
        assert columns[name].tolist() == whole[name].tolist()


def test_chosen_documents_are_written_as_they_stand() -> None:
    """Those of the first segment come first."""
    parts = [mapped_columns(written(rows(3))), mapped_columns(written(rows(2, 3)))]
    kept = [np.array([True, False, True]), np.array([False, True])]
    again = mapped_columns(written(Chosen(parts, kept)))
    assert again["doc_id"].tolist() == rows(5)["doc_id"][[0, 2, 4]].tolist()
