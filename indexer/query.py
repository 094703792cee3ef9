"""What a query means: text in, tree out, never an exception."""

from __future__ import annotations

from indexer.query_nodes import And, Filter, Node, Not, Or, Phrase, Problem, Query, Word, is_filter, positive_words

__all__ = [
    "And", "Filter", "Node", "Not", "Or", "Phrase", "Problem", "Query", "Word", "is_filter", "positive_words",
]  # fmt: skip
