from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
import pytest

from foltr.ranking.metrics import dcg_at_k
from simulation.batched.pages import click_through, ideal_dcg, pages_of
from simulation.data.queries import QuerySet
from simulation.rounds.click_models import Users
from simulation.rounds.federation import Population
from simulation.rounds.streams import make_streams, user_generator


def judged(*grades: list[int]) -> QuerySet:
    """Queries with these grades and one feature."""
    flat = np.array([g for query in grades for g in query], dtype=np.int8)
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in grades])])
    return QuerySet(np.zeros((len(flat), 1), np.float32), flat, offsets, tuple(str(q) for q in range(len(grades))))


def test_ideal_dcg_by_hand() -> None:
    """Grades 0 2 1 on pages of two: 3 + 1 / log2(3); a query without a relevant document: 0."""
    best = ideal_dcg(judged([0, 2, 1], [0, 0], [1]), 1 / np.log2(np.arange(2, 4)))
    assert best == pytest.approx([3 + 1 / log2(3), 0.0, 1.0])


def test_ideal_dcg_is_that_of_the_sorted_page() -> None:
    """Fifty random queries, in any order of grades: DCG@10 of the grades sorted."""
    rng = np.random.default_rng(0)
    grades = [rng.integers(0, 5, rng.integers(1, 40)).tolist() for _ in range(50)]
    best = ideal_dcg(judged(*grades), 1 / np.log2(np.arange(2, 12)))
    assert best == pytest.approx([dcg_at_k(sorted(query, reverse=True), 10) for query in grades])


def test_a_page_by_hand() -> None:
    """Users who open grade 2 and stop: on grades 0 1 2 2 shown in order, one click at rank 3.

    DCG = 1 / log2(3) + 3 / log2(4) + 3 / log2(5) of 3 + 3 / log2(3) + 1 / log2(4); first relevant at rank 2.
    """
    users = Users(np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 1.0]]), np.ones((1, 4)))
    pages = pages_of(Population(judged([0, 1, 2, 2]), users, 1, 1))
    clicks, sums = np.empty(4, dtype=np.bool_), np.zeros(4)
    click_through(pages, 0, 0, np.arange(4), 4, make_streams(0, 1).users[0], clicks, sums)
    assert clicks.tolist() == [False, False, True, False]
    ndcg = (1 / log2(3) + 3 / 2 + 3 / log2(5)) / (3 + 3 / log2(3) + 1 / 2)
    assert sums == pytest.approx([ndcg, 1 / 2, 1 / 3, 1])


@pytest.mark.parametrize("leave", [0.0, 0.4])
@pytest.mark.parametrize("stop", [(0.0, 0.0, 0.0), (0.3, 0.5, 0.7), [[0.0, 0.5, 0.2, 0.4, 1.0]] * 3])
def test_clicks_are_those_of_the_users(stop: Sequence[object], leave: float) -> None:
    """300 pages of two clients who look differently, and lose patience or not: the same clicks, the stream as far."""
    looks = np.array([[1.0, 0.9, 0.5, 0.2, 0.1], [1.0, 1.0, 1.0, 1.0, 1.0]])
    users = Users(np.array([[0.2, 0.5, 0.9]]), np.array([stop]), looks, leave=np.array([leave]))
    data, streams, rng = judged([0, 1, 2, 0, 2, 1, 0]), make_streams(4, 2), np.random.default_rng(0)
    pages, clicks = pages_of(Population(data, users, 2, 1)), np.empty(5, dtype=np.bool_)
    for page in range(300):
        client, ranking = page % 2, rng.permutation(7)[:5]
        numbers = user_generator(streams, client)
        expected = users.clicks(data.grades[ranking], client, numbers)
        click_through(pages, client, 0, ranking, 5, streams.users[client], clicks, np.zeros(4))
        assert clicks.tolist() == expected.tolist()
        assert streams.users[client].tolist() == numbers.bit_generator.state["state"]["state"].tolist()


def test_a_population_is_prepared_once() -> None:
    """The same population twice: the very same arrays."""
    population = Population(judged([0, 1]), Users(np.ones((1, 2)), np.zeros((1, 2)), np.ones((1, 10))), 3, 2)
    assert pages_of(population) is pages_of(population)
