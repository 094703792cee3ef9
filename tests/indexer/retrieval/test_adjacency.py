"""Words that stand next to each other."""

from __future__ import annotations

from collections.abc import Callable

from indexer.retrieval.adjacency import adjacent, phrase_starts
from indexer.storage.index import Index
from indexer.storage.snapshot import PLACE_BITS

MakeIndex = Callable[..., Index]


def test_a_phrase_starts_where_its_words_stand_in_a_row(make_index: MakeIndex) -> None:
    """ "a b a" starts at 0 and 2 of "a b a b a"; only in the documents asked for."""
    snapshot = make_index(["a b a b a", "b a", "x a b a"]).snapshot()
    assert phrase_starts(snapshot, "body", ["a", "b", "a"]).tolist() == [0, 2, (2 << PLACE_BITS) + 1]
    assert phrase_starts(snapshot, "body", ["x"]).tolist() == [2 << PLACE_BITS]
    assert phrase_starts(snapshot, "body", ["b", "a"]).tolist() == [1, 3, 1 << PLACE_BITS, (2 << PLACE_BITS) + 2]
    assert phrase_starts(snapshot, "body", ["a", "z"]).size == 0
    assert phrase_starts(snapshot, "body", ["z", "a"]).size == 0


def test_any_term_of_a_piece_will_do(make_index: MakeIndex) -> None:
    """a, then b or c: at 0 and 2 of the first document, at 1 of the second; x alone is nowhere before a."""
    snapshot = make_index(["a b a c", "b a b", "c a"]).snapshot()
    assert adjacent(snapshot, "body", [("a",), ("b", "c")]).tolist() == [0, 2, (1 << PLACE_BITS) + 1]
    assert adjacent(snapshot, "body", [("x", "z"), ("a",)]).size == 0
