"""All that is known of the candidates stays together."""

from __future__ import annotations

import numpy as np

from tests.app.search.pages import row, table


def test_a_table_takes_every_column_in_the_same_order() -> None:
    """Lists as well as arrays; a candidate that is not taken is gone."""
    words: list[tuple[str, ...]] = [("a",), ("b",), ("c",)]
    found = table(
        [row(i) for i in range(3)], bm25f=np.arange(3.0), features=np.arange(6.0).reshape(3, 2),
        levels=np.arange(3)[:, None], missing_words=words, as_typed=np.array([True, True, False]), named=np.arange(3),
        chosen_before=np.array([True, False, False]), marks=[("a",), ("b",), ("c",)],
    ).take([2, 0])  # fmt: skip
    assert [one.doc_id for one in found.rows] == [102, 100]
    assert (found.names, found.missing_words) == (["2", "0"], [("c",), ("a",)])
    assert found.features.tolist() == [[4, 5], [0, 1]]
    assert found.marks == [("c",), ("a",)]
    columns = (found.docs, found.bm25f, found.levels[:, 0], found.named)
    assert all(column.tolist() == [2, 0] for column in columns)
    assert (found.chosen_before.tolist(), found.as_typed.tolist()) == ([False, True], [False, True])
