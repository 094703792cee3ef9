"""Parting queries between two owners: by hand, with a planted category."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulation.data.queries import QuerySet
from simulation.errors import DatasetError
from simulation.merging.splits import (
    CategorySplit,
    FeatureSplit,
    GroupSplit,
    IntentSplit,
    RangeSplit,
    Split,
    first_intents,
    merge_sets,
    query_categories,
)
from tests.simulation.judged_queries import queries

# query 0: all 7; 1: a tie to the end; 2: a tie, 8 with the higher grade; 3: 8, a 7 without relevance; 4: 8; 5: nothing
CATEGORIES = [7, 7, 7, 7, 8, 7, 8, 8, 7, 8, 8, 7, 8]
GRADES = [1, 2, 1, 0, 1, 1, 2, 1, 0, 2, 1, 0, 0]
SIZES = (2, 3, 2, 2, 2, 2)


def planted() -> QuerySet:
    """Feature 2 is the category; query 1 has one relevant document of either, of grade 1."""
    return queries([[0.5, float(c)] for c in CATEGORIES], GRADES, *SIZES)


def parted(split: Split, data: QuerySet | None = None, seed: int = 0) -> tuple[list[int], list[int], list[int]]:
    """Client 1's queries, client 2's, and nobody's."""
    data = planted() if data is None else data
    found = split.parter(data, np.random.default_rng(seed))(data)
    return found.first.tolist(), found.second.tolist(), found.rest.tolist()


def test_the_category_of_a_query_is_that_of_most_relevant_documents() -> None:
    """Ties go by the sum of grades, then by the highest grade; without a relevant document there is none."""
    #       two 7 against one 8; equal counts, grades 3 < 4; equal counts and sums 4 = 4, highest 3 > 2; nothing
    categories = np.array([7, 7, 8, 7, 7, 8, 8, 7, 7, 8, 8, 7])
    data = queries([[0.0]] * 12, [1, 1, 2, 1, 2, 2, 2, 1, 3, 2, 2, 0], 3, 4, 4, 1)
    assert query_categories(data, categories, np.random.default_rng(0)).tolist() == [0, 1, 0, -1]


def test_the_last_tie_is_broken_at_random() -> None:
    """One relevant document of grade 1 of each category: over many such queries each gets about half."""
    data = queries([[0.0]] * 2000, [1] * 2000, *[2] * 1000)
    chosen = query_categories(data, np.tile([3, 4], 1000), np.random.default_rng(1))
    assert set(chosen.tolist()) == {0, 1}
    assert abs(chosen.mean() - 0.5) < 4 * 0.5 / np.sqrt(1000)


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("initial", ([0], [0, 1])),  # query 1 is a tie to the end; query 2 goes to 8, whose grade is higher
        ("no-ties", ([0],)),
        ("exclusive", ([0],)),
    ],
)
def test_three_rules_on_ties(rule: str, first: tuple[list[int], ...]) -> None:
    """A tie is broken by "initial" alone, and nobody's otherwise; the others are client 2's, or the clean ones."""
    for seed in range(4):
        mine, others, rest = parted(CategorySplit(feature=2, category=7, rule=rule, second="others"), seed=seed)
        assert mine in first
        assert others == sorted({0, 1, 2, 3, 4, 5} - set(mine))
        assert rest == []
        mine, clean, rest = parted(CategorySplit(feature=2, category=7, rule=rule), seed=seed)
        assert clean == [3, 4]
        assert rest == sorted({0, 1, 2, 5} - set(mine))


def test_rules_that_differ_without_ties() -> None:
    """Two relevant 7 and one 8: of category 7 by majority, but not exclusively."""
    data = queries([[7.0], [7.0], [8.0], [7.0], [8.0]], [1, 1, 1, 1, 0], 3, 2)
    assert parted(CategorySplit(feature=1, category=7, rule="no-ties"), data)[0] == [0, 1]
    assert parted(CategorySplit(feature=1, category=7, rule="exclusive"), data)[0] == [1]


def test_without_any_document_of_the_category() -> None:
    """The stricter reading of DS2': query 3 has a 7 that is not relevant."""
    assert parted(CategorySplit(feature=2, category=7, second="none"))[1] == [4]


def test_the_threshold_of_a_feature_is_that_of_relevant_training_documents() -> None:
    """Median of relevant 1, 2, 3, 4, 5 is 3; the large values without relevance do not move it."""
    data = queries([[1.0], [2.0], [3.0], [100.0], [4.0], [5.0], [100.0]], [1, 1, 1, 0, 1, 1, 0], 2, 2, 3)
    mine, others, rest = parted(FeatureSplit(feature=1), data)
    assert (mine, others, rest) == ([2], [0, 1], [])


def test_the_category_of_a_document_is_its_first_intent() -> None:
    """Query 0 has two documents for intent 1 and one for 2, query 1 only one for 2, which 3 shares."""
    data = queries([[0.0]] * 5, [1, 1, 1, 0, 1], 3, 2)
    sets = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 1]], dtype=np.int8)
    labelled = replace(data, label_sets=sets)
    assert first_intents(labelled).tolist() == [1, 1, 2, 0, 2]
    assert parted(IntentSplit(intent=1), labelled) == ([0], [1], [])
    with pytest.raises(DatasetError, match="there are 0 label sets, not 1"):
        parted(IntentSplit(intent=1), data)


def test_groups_are_those_of_the_mean_vectors() -> None:
    """Three clouds of 8, 5 and 3 queries are found whatever the seed of the cell; the smallest is nobody's."""
    rng = np.random.default_rng(3)
    centres = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 900.0]], [8, 5, 3], axis=0)
    features = np.repeat(centres, 4, axis=0) + rng.normal(size=(64, 2)) * [0.1, 10.0]
    data = queries(features, [0, 1, 0, 2] * 16, *[4] * 16)
    for seed in range(3):
        found = parted(GroupSplit(groups=3), data, seed=seed)
        assert found == (list(range(8)), list(range(8, 13)), list(range(13, 16)))


def test_ranges_of_query_numbers() -> None:
    """Both ends count; what lies between is more of the kind of the nearer range."""
    data = queries([[0.0]] * 5, [1] * 5, 1, 1, 1, 1, 1)  # called 0 to 4
    split = RangeSplit(first=(0, 1), second=(4, 9))
    assert parted(split, data) == ([0, 1], [4], [2, 3])
    affinity = split.parter(data, np.random.default_rng(0))(data).affinity
    assert affinity.tolist() == [4, 3, 2 - 1, 1 - 2, -3]


def test_each_merges_on_what_is_least_like_its_own() -> None:
    """Half as many as the client has: the lowest of the rest for client 1, the highest for client 2."""
    affinity = np.array([9.0, 3.0, 0.0, 2.0, 1.0, 5.0, 2.0])
    rest = np.array([1, 3, 4, 5, 6])
    first, second = merge_sets(affinity, rest, 7, 4)
    assert first.tolist() == [4, 3, 6]  # floor(7 / 2) = 3; of the two with affinity 2 the first comes first
    assert second.tolist() == [1, 5]
    assert [len(part) for part in merge_sets(affinity, rest, 100, 1)] == [5, 1]


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (CategorySplit(feature=3, category=7), "merging.split.feature: there are 2 features, not 3"),
        (CategorySplit(feature=2, category=9), "feature 2 is never 9"),
        (GroupSplit(groups=7), "7 groups of 6 queries"),
    ],
)
def test_what_does_not_fit_the_data_is_named(split: Split, message: str) -> None:
    """The key, what was wanted, what came."""
    with pytest.raises(DatasetError, match=message):
        parted(split)
