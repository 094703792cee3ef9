"""The weight of meaning that the benchmark chooses."""

from __future__ import annotations

import numpy as np

from benchmarks.meaning import COLUMN, MOST_LOST, WEIGHTS, Asked, Measured, chosen_weight, known_loss
from indexer.retrieval.features import NAMES


def test_where_no_collection_has_titles_the_gain_alone_chooses() -> None:
    """One query, whose answer is close in meaning and has most of its words: any weight puts it first, the least is
    chosen."""
    features = np.zeros((2, len(NAMES)))
    features[0, NAMES.index("bm25f")] = features[1, COLUMN] = 1.0
    features[1, NAMES.index("bm25f")] = 0.9
    query = Asked(features, np.array([0.0, 1.0]), (1,), 0.0, np.array([0.0, 1.0]))
    untitled = Measured("untitled", [query], [query], [query], [], [])
    assert max(known_loss([untitled], weight) for weight in WEIGHTS) <= MOST_LOST
    assert chosen_weight([untitled]) == WEIGHTS[1]
