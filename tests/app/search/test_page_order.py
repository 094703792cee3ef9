"""The rules that raise and lower candidates, and which of these share a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from app.learning.picks import SAME_HALF, strength
from app.search.candidate_table import PLAIN, Aside
from app.search.page_order import (
    RULES,
    SMOOTHING,
    called_first,
    chosen_first,
    other_languages,
    raised,
    smoothed_by_meaning,
)
from app.search.reasons import PARTS
from indexer.meaning.nearest import Closeness
from indexer.postings import Floats, Ints
from indexer.retrieval.features import NAMES
from tests.app.search.pages import ranked, row, table


def test_contents_join_copies_and_twins(tmp_path: Path) -> None:
    """2 is a copy of 0, 3 the same text as 2 in another format; files without a word have nothing in common."""
    texts = [row(i, "same" if i in (0, 2) else "", type="pdf" if i == 3 else "text", n_words=20) for i in range(4)]
    rows = [*texts, row(4, "none", n_words=0), row(5, "none", n_words=0)]
    found = table(rows, names=["a.txt"] * 3 + ["a.pdf"] * 3)
    near = (np.array([[2, 3]]), np.array([1.0]))
    assert ranked(tmp_path, found, [0.0] * 6, near=near).contents == [0, 1, 0, 0, 4, 5]
    assert ranked(tmp_path, found, [0.0] * 6).contents == [0, 1, 0, 3, 4, 5]


def test_texts_called_by_all_words_stand_above_what_lacks_one(tmp_path: Path) -> None:
    """0 and 1 are called by both words, 3 holds them in its text, 2 and 4 lack one; 5 is a picture of that name.

    0 and 1 rise just above 2 in their order and 3 stays; where 2 was chosen before, only above 4.
    """
    levels = np.array([[2, 2], [2, 2], [2, 0], [1, 2], [0, 1], [2, 2]])
    rows, scores = [row(i, n_words=3 * (i < 5)) for i in range(6)], np.array([1.0, 2.0, 5.0, 3.0, 1.5, 0.5])
    points, _ = called_first(ranked(tmp_path, table(rows, levels=levels), scores))
    assert (scores + points).tolist() == pytest.approx([5.005, 5.01, 5.0, 3.0, 1.5, 0.5])
    found = table(rows, levels=levels, chosen_before=np.arange(6) == 2)
    points, _ = called_first(ranked(tmp_path, found, scores))
    assert (scores + points).tolist() == pytest.approx([1.51, 2.0, 5.0, 3.0, 1.5, 0.5])


def test_texts_called_so_by_their_file_names_stand_above_what_only_speaks_of_it(tmp_path: Path) -> None:
    """0 and 4, a picture, are called so; 1 has the word in its title and stays, 2 and 3 have it in their texts.

    0 rises just above 2; where 2 was chosen before, above 3.
    """
    levels, scores = np.array([[2], [2], [1], [1], [2]]), np.array([1.0, 2.0, 5.0, 3.0, 0.5])
    features = np.zeros((5, len(NAMES)))
    features[[0, 4], NAMES.index("name_share")] = 1.0
    rows = [row(i, n_words=3 * (i < 4)) for i in range(5)]
    points, _ = called_first(ranked(tmp_path, table(rows, levels=levels, features=features), scores))
    assert (scores + points).tolist() == pytest.approx([5.01, 2.0, 5.0, 3.0, 0.5])
    found = table(rows, levels=levels, features=features, chosen_before=np.arange(5) == 2)
    points, _ = called_first(ranked(tmp_path, found, scores))
    assert (scores + points).tolist() == pytest.approx([3.01, 2.0, 5.0, 3.0, 0.5])


def test_a_higher_level_stands_above_all_lower_ones() -> None:
    """2 is the surest and 0 the next; 3, which was chosen before, is not passed."""
    points = raised(np.array([1, 0, 2, 0]), np.array([1.0, 4.0, 2.0, 9.0]), np.array([False, False, False, True]))
    assert (np.array([1.0, 4.0, 2.0, 9.0]) + points).tolist() == pytest.approx([4.01, 4.0, 4.02, 9.0])


def test_meaning_in_another_language_counts_for_some_of_the_words(tmp_path: Path) -> None:
    """The words of 1 are worth 6 points, those of 0 four: 2 and 3 get half of the six, times their closeness.

    Nothing where the query is one word, or where all is in other languages.
    """
    features = np.zeros((4, len(NAMES)))
    features[:, NAMES.index("bm25f")], features[:, NAMES.index("meaning")] = (0.5, 0.75, 0, 0), (0.5, 0, 1, 0.5)
    rows, abroad = [row(i, n_words=3) for i in range(4)], [PLAIN, PLAIN, *[Aside(foreign="German")] * 2]
    weights, scores = {"bm25f": 8.0, "meaning": 5.0}, [6.5, 6.0, 5.0, 2.5]
    for columns, expected in (
        ({"asides": abroad}, [0.0, 0.0, 3.0, 1.5]),
        ({"asides": abroad, "as_typed": np.arange(4) < 2}, [0.0] * 4),
        ({"asides": abroad[2:] * 2}, [0.0] * 4),
        ({}, [0.0] * 4),
    ):
        page = ranked(tmp_path, table(rows, features=features, **columns), scores, weights=weights)
        assert other_languages(page)[0].tolist() == pytest.approx(expected)


def test_what_was_opened_three_times_for_this_query_leads_what_never_was(tmp_path: Path) -> None:
    """2 and 3 were, and keep their order above 0, however far below it they stood; 1, opened twice, is not passed."""
    features = np.zeros((4, len(NAMES)))
    features[:, NAMES.index("same_query")] = 0.0, *strength([2.0, 3.0, 8.0], half=SAME_HALF)
    scores, opened = np.array([15.0, 20.0, 1.0, 3.0]), np.arange(4) > 0
    found = table([row(i, n_words=3) for i in range(4)], features=features, chosen_before=opened)
    points, said = chosen_first(ranked(tmp_path, found, scores))
    assert (scores + points).tolist() == pytest.approx([15.0, 20.0, 15.01, 17.01])
    assert not said


def test_each_rule_is_a_part_of_the_score() -> None:
    """So that a reason can name it."""
    assert set(RULES) < set(PARTS)


class Resembling(Closeness, frozen=True, eq=False):
    """Of which nothing is known but how close the documents are to each other."""

    matrix: Floats = np.zeros((0, 0))

    def resemblance(self, docs: Ints) -> Floats:
        return self.matrix[np.ix_(docs, docs)].copy()


@pytest.mark.parametrize(("held", "share"), [(0.25, SMOOTHING), (0.65, SMOOTHING / 2), (0.8, 0.0)])
def test_texts_move_towards_the_nearest_in_meaning_where_no_text_holds_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: float, share: float
) -> None:
    """Text scores 4, 2, 1, 0, two nearest each. 0 has only 1; 1 has 0 and 2, 16 to 1; 2 has 1 alone, 3 being its copy,
    and that is a third of the way to near; 3 has nothing near enough. What is opened, 10 points for 3, moves nobody."""
    monkeypatch.setattr("app.search.page_order.N_NEAREST", 2)
    matrix = np.zeros((4, 4))
    for i, j, value in ((0, 1, 1.0), (1, 2, 0.5), (1, 3, 0.4), (2, 3, 1.0)):
        matrix[i, j] = matrix[j, i] = value
    features = np.zeros((4, len(NAMES)))
    features[:, NAMES.index("bm25f")] = [1.0, 0.5, 0.25, 0.0]
    features[:, NAMES.index("any_coverage")] = [held, 1.0, 1.0, 1.0]
    features[3, NAMES.index("same_query")] = 1.0
    rows = [row(i, "same" if i > 1 else "") for i in range(4)]
    closeness = Resembling(np.zeros(4), np.zeros(0), np.zeros(0, dtype=np.float32), None, matrix=matrix)  # type: ignore[arg-type]
    page = ranked(
        tmp_path, table(rows, features=features), [4.0, 2.0, 1.0, 10.0], weights={"bm25f": 4.0, "same_query": 10.0},
        closeness=closeness,
    )  # fmt: skip
    points, _ = smoothed_by_meaning(page)
    means = [2.0, (16 * 4 + 1) / 17, 2.0, 2.0]
    trusted = share * np.array([1.0, 1.0, 1 / 3, 0.0])
    assert points == pytest.approx(trusted * (np.array(means) - [4.0, 2.0, 1.0, 0.0]))
    assert not smoothed_by_meaning(structs.replace(page, closeness=None))[0].any()
