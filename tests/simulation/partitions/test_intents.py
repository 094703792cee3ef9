from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulation.errors import PresetError
from simulation.partitions import Intents
from tests.simulation.judged_queries import random_queries


def test_every_label_set_of_a_query_goes_to_one_client() -> None:
    """Label sets that are their own number: each query has the same label on all its documents, another per client."""
    queries = random_queries()
    n_docs, sets = len(queries.grades), np.arange(4, dtype=np.int8)
    labelled = replace(queries, label_sets=np.repeat(sets[:, None], n_docs, axis=1))
    shares = Intents().split(labelled, 4, np.random.default_rng(0))
    by_query = np.array([[set(share.grades[share.rows(q)]) for share in shares] for q in range(queries.n_queries)])
    assert all(len(labels) == 1 for labels in by_query.flat)
    assert all(sorted(labels.pop() for labels in row) == [0, 1, 2, 3] for row in by_query)
    assert len({tuple(share.grades) for share in shares}) == 4
    assert all(share.features is queries.features for share in shares)


def test_shuffles_are_repeated_and_differ_by_seed() -> None:
    """The same generator, the same labels; another one, others."""
    queries = random_queries()
    labelled = replace(queries, label_sets=np.stack([queries.grades, 2 - queries.grades]))
    first, again, other = (
        [share.grades.tolist() for share in Intents().split(labelled, 2, np.random.default_rng(seed))]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(("n_sets", "n_clients"), [(0, 4), (4, 3)])
def test_as_many_label_sets_as_clients(n_sets: int, n_clients: int) -> None:
    """Data without label sets, and another number of clients, are refused with both numbers."""
    queries = random_queries()
    labels = np.zeros((n_sets, len(queries.grades)), dtype=np.int8)
    with pytest.raises(PresetError, match=f"wanted {n_clients} label sets, one for each client, got {n_sets}"):
        Intents().split(replace(queries, label_sets=labels if n_sets else None), n_clients, np.random.default_rng(0))
