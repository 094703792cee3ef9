"""Stacking: two rankers' scores are two more features, and a new ranker learns from them (merging paper, Section 4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulation.data.queries import QuerySet
from simulation.label_rankers import Scorer


def with_scores(queries: QuerySet, *scorers: Scorer) -> QuerySet:
    """The queries with each scorer's scores as one more feature, behind the others in the order given."""
    scores = [scorer(queries).astype(np.float32) for scorer in scorers]
    return replace(queries, features=np.column_stack([queries.features, *scores]))
