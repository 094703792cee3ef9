"""The partition that turns the labels of some clients over."""

from __future__ import annotations

import numpy as np
import pytest

from simulation.data.datasets import load_fold
from simulation.errors import PresetError
from simulation.partitions import Dealt, RelevancyReset, turned_over

QUERIES = load_fold("sample").train


def test_new_grades_by_hand() -> None:
    """Ten documents, three grades: two get 0, three 1, five 2; with other grades each gets as many, the last more."""
    assert turned_over(10, 2).tolist() == [0] * 2 + [1] * 3 + [2] * 5
    assert turned_over(9, 2).tolist() == [0] * 1 + [1] * 3 + [2] * 5
    assert turned_over(11, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert turned_over(3, 1).tolist() == [0, 1, 1]
    assert turned_over(1, 2).tolist() == [2]


def test_the_last_clients_alone_are_turned_over() -> None:
    """The same hands as dealt; for the last, the better a document was, the lower its new grade."""
    dealt = Dealt().split(QUERIES, 5, np.random.default_rng(1))
    reset = RelevancyReset(clients=2).split(QUERIES, 5, np.random.default_rng(1))
    for before, after in zip(dealt[:3], reset[:3], strict=True):
        assert np.array_equal(before.grades, after.grades)
    for before, after in zip(dealt[3:], reset[3:], strict=True):
        assert before.qids == after.qids
        for query in range(before.n_queries):
            old, new = before.grades[before.rows(query)], after.grades[after.rows(query)]
            order = np.argsort(-old.astype(int), kind="stable")
            assert new[order].tolist() == turned_over(len(old), int(QUERIES.grades.max())).tolist()
            assert (np.diff(new[order].astype(int)) >= 0).all()


def test_more_clients_than_there_are_is_refused() -> None:
    """One line that names the key."""
    with pytest.raises(PresetError, match=r"federation\.partition\.clients: wanted 0 to 5, got 6"):
        RelevancyReset(clients=6).split(QUERIES, 5, np.random.default_rng(1))
