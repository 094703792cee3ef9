from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simulation.data.queries import QuerySet
from simulation.errors import PresetError
from simulation.partitions import Grades
from tests.simulation.judged_queries import queries, random_queries


def pairs(data: QuerySet) -> Counter[tuple[str, int, float]]:
    """Query, grade and first feature of every document, which nothing else has in these data."""
    qids = np.repeat(np.array(data.qids), np.diff(data.offsets))
    return Counter(zip(qids.tolist(), data.grades.tolist(), data.features[:, 0].tolist(), strict=True))


def test_one_grade_each_by_hand() -> None:
    """Query 0 has grades 0 1 2, query 1 has 0 0: client 2 holds one document of query 0, client 0 three of both."""
    data = queries([[1], [2], [3], [4], [5]], [0, 1, 2, 0, 0], 3, 2)
    zero, one, two = Grades().split(data, 3, np.random.default_rng(0))
    assert (zero.qids, zero.offsets.tolist(), zero.features[:, 0].tolist()) == (("0", "1"), [0, 1, 3], [1, 4, 5])
    assert (one.qids, one.features[:, 0].tolist()) == (("0",), [2])
    assert (two.qids, two.features[:, 0].tolist()) == (("0",), [3])


@pytest.mark.parametrize(("each", "n_clients"), [(1, 3), (1, 6), (2, 3), (2, 6), (3, 4)])
def test_pairs_are_divided_without_overlap(each: int, n_clients: int) -> None:
    """All documents are somewhere, none twice, and clients of the same grades have as many, give or take one."""
    data = random_queries()
    shares = Grades(each=each).split(data, n_clients, np.random.default_rng(3))
    assert sum((pairs(share) for share in shares), Counter()) == pairs(data)
    assert all(len(set(share.grades)) <= each for share in shares)
    for grade in range(3):
        held = [int((share.grades == grade).sum()) for share in shares]
        assert max(held) - min(count for count in held if count) <= 1


def test_overlapping_clients_hold_all_of_their_grades() -> None:
    """Grades 0 1, 0 2 and 1 2: two clients have each document."""
    data = random_queries()
    shares = Grades(each=2, divide="overlap").split(data, 3, np.random.default_rng(0))
    assert [sorted(set(share.grades.tolist())) for share in shares] == [[0, 1], [0, 2], [1, 2]]
    assert sum((pairs(share) for share in shares), Counter()) == pairs(data) + pairs(data)


def test_dealt_queries_lose_the_other_grades() -> None:
    """No query has two clients; what is left of one is the documents of its client's grades."""
    data = random_queries()
    shares = Grades(each=2, divide="queries").split(data, 3, np.random.default_rng(0))
    assert max(Counter(qid for share in shares for qid in share.qids).values()) == 1
    for share, grades in zip(shares, [(0, 1), (0, 2), (1, 2)], strict=True):
        kept = {key: n for key, n in pairs(data).items() if key[0] in share.qids and key[1] in grades}
        assert pairs(share) == kept


def test_shared_queries_are_whole_and_nobodys_own() -> None:
    """6 draws of 12 queries, some again: those queries are whole at all clients, the others lack other grades."""
    data = random_queries()
    shares = Grades(shared_share=0.5).split(data, 3, np.random.default_rng(0))
    counts = dict(zip(data.qids, np.diff(data.offsets).tolist(), strict=True))
    whole = [
        {q for q, n in zip(share.qids, np.diff(share.offsets), strict=True) if n == counts[q] and n > 1}
        for share in shares
    ]
    common = set.intersection(*whole)
    assert 1 <= len(common) <= 6
    for grade, share in enumerate(shares):
        for q, qid in enumerate(share.qids):
            assert qid in common or set(share.grades[share.rows(q)].tolist()) == {grade}


def test_what_is_not_sent_of_the_shared_queries_is_nowhere() -> None:
    """alpha = 0: the drawn queries are taken out and given to nobody; the thesis trains a first model on them."""
    data = random_queries()
    shares = Grades(shared_share=0.5, alpha=0.0).split(data, 3, np.random.default_rng(0))
    left = {qid for share in shares for qid in share.qids}
    whole = {qid for share in Grades().split(data, 3, np.random.default_rng(0)) for qid in share.qids}
    assert whole == set(data.qids)
    assert 6 <= len(left) < 12


@pytest.mark.parametrize(
    ("settings", "n_clients", "said"),
    [
        (Grades(), 4, "wanted 3 clients or a multiple, one for every 1 of 3 grades, got 4"),
        (Grades(each=4), 4, "wanted 0 clients or a multiple, one for every 4 of 3 grades, got 4"),
        (Grades(), 300, "wanted queries for each client, got none with grade 0 for client"),
    ],
)
def test_what_cannot_be_divided_is_refused(settings: Grades, n_clients: int, said: str) -> None:
    """Clients that are no multiple of the combinations, grades that are not there, more clients than documents."""
    with pytest.raises(PresetError, match=said):
        settings.split(random_queries(), n_clients, np.random.default_rng(0))
