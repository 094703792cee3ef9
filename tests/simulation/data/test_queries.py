"""Sets of queries are taken apart and put together without loss."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from simulation.data.queries import QuerySet, join, select, widen


def queries(sizes: list[int], *, first: int = 0, docids: bool = False) -> QuerySet:
    """Query q has qid str(first + q); a document's only feature is its place in the set, plus 100 `first`."""
    n = sum(sizes)
    places = 100 * first + np.arange(n)
    return QuerySet(
        places[:, np.newaxis].astype(np.float32),
        (places % 3).astype(np.int8),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        tuple(str(first + query) for query in range(len(sizes))),
        tuple(f"d{place}" for place in places) if docids else (),
    )


def test_selected_by_hand() -> None:
    """Queries come in the order asked for, each with its documents."""
    found = select(queries([2, 1, 3], docids=True), [2, 0])
    assert found.qids == ("2", "0")
    assert found.features[:, 0].tolist() == [3, 4, 5, 0, 1]
    assert found.grades.tolist() == [0, 1, 2, 0, 1]
    assert found.offsets.tolist() == [0, 3, 5]
    assert found.docids == ("d3", "d4", "d5", "d0", "d1")


@pytest.mark.parametrize("chosen", [[-1], [-2], [3], [1.0], [True, False, True]])
def test_what_numbers_no_query_selects_none(chosen: list[int]) -> None:
    """Counted from the end, a query would have another's documents; a mask is no list of numbers."""
    with pytest.raises(ValueRangeError, match=r"numbers of queries from 0 to 2, got \["):
        select(queries([2, 1, 3]), chosen)


def test_joined_by_hand() -> None:
    """Sets follow each other; documents without a name have an empty one beside those that have."""
    found = join([queries([2], docids=True), queries([1, 1], first=7)])
    assert found.qids == ("0", "7", "8")
    assert found.features[:, 0].tolist() == [0, 1, 700, 701]
    assert found.offsets.tolist() == [0, 2, 3, 4]
    assert found.docids == ("d0", "d1", "", "")


def test_taken_apart_and_joined_is_the_same() -> None:
    """Any cut of a set joins to the set."""
    whole = queries([3, 1, 4, 1, 5], docids=True)
    for cut in range(1, 5):
        again = join([select(whole, range(cut)), select(whole, range(cut, 5))])
        np.testing.assert_array_equal(again.features, whole.features)
        np.testing.assert_array_equal(again.offsets, whole.offsets)
        assert (again.qids, again.docids) == (whole.qids, whole.docids)
    assert join([whole]) is whole


def test_widened_adds_zeros_only_where_columns_lack() -> None:
    """Values stay; a set that is wide enough is the very same."""
    data = queries([2])
    assert widen(data, 3).features.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert widen(data, 1) is data
    assert widen(data, 0) is data
