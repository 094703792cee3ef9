"""How many members a server that lies needs on its side to read one note: the number that everybody is told.

The server may fix any lists and show each member another one; an honest member answers one list, once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from foltr.arrays import Int64Vector
from foltr.federated.sealed.committee import quorums
from foltr.federated.sealed.points import ORDER as PRIME
from foltr.federated.sealed.sums import Occasion, SealedSumError
from foltr.federated.sealed.verifiable_sharing import SharingError
from foltr.federated.wire import SharedUpdate
from tests.foltr.federated.sealed.sealed_groups import (
    Person,
    answers,
    make_occasion,
    make_roster,
    messages,
    summed,
)


def sum_of(
    occasion: Occasion,
    received: Mapping[str, SharedUpdate],
    people: Sequence[Person],
    listed: set[str],
    hands: set[str],
) -> Int64Vector:
    """The sum of the listed, opened by the answers of these members."""
    points = [place for place, member in enumerate(occasion.cohort.committee, 1) if member.device in hands]
    some = {device: received[device] for device in sorted(listed)}
    return summed(occasion, some, answers(occasion, some, people, points))[0]


def by_two_lists(
    occasion: Occasion, received: Mapping[str, SharedUpdate], people: Sequence[Person], spies: set[str], victim: str
) -> Int64Vector:
    """One half of the honest members adds up everybody, the other everybody but the victim; the spies both."""
    honest, everyone = sorted(received.keys() - spies), set(received)
    half = max(occasion.cohort.threshold - len(spies), 0)
    with_it = sum_of(occasion, received, people, everyone, {*spies, *honest[:half]})
    return with_it - sum_of(occasion, received, people, everyone - {victim}, {*spies, *honest[half : 2 * half]})


def by_a_short_list(
    occasion: Occasion, received: Mapping[str, SharedUpdate], people: Sequence[Person], spies: set[str], victim: str
) -> Int64Vector:
    """Everybody adds up the spies and the victim; the spies' own notes, all nothing here, are known."""
    return sum_of(occasion, received, people, {*spies, victim}, set(received))


@pytest.mark.parametrize("n", [5, 7, 10])
def test_a_note_is_read_by_as_many_as_are_named_and_not_by_one_fewer(n: int) -> None:
    """By real messages, lists and answers, two lists and a short list: what the victim sent, to the last step."""
    state, _, people = make_roster(n)
    occasion = make_occasion(state, n_numbers=2)
    rng, victim = np.random.default_rng(n), people[-1].device
    sent = {one.device: np.zeros(2, dtype=np.int64) for one in people}
    sent[victim] = occasion.part.release_steps(np.array([0.3, -0.2]), rng)
    for one in people[n // 2 + 3 : -1]:
        sent[one.device] = rng.integers(-99, 99, size=2)
    enough = quorums(n).n_readers
    spies = {one.device for one in people[:enough]}
    sent |= {device: np.zeros(2, dtype=np.int64) for device in spies}
    received = messages(occasion, sent, people)
    found = []
    for way in (by_two_lists, by_a_short_list):
        try:
            found.append(way(occasion, received, people, spies, victim))
        except (SharingError, SealedSumError):
            continue
    assert found
    assert all((one == sent[victim]).all() for one in found)
    spies.remove(people[0].device)
    with pytest.raises(SharingError, match="too few"):
        by_two_lists(occasion, received, people, spies, victim)
    with pytest.raises(SealedSumError, match="would not hide one another"):
        by_a_short_list(occasion, received, people, spies, victim)


def in_span(rows: Sequence[Sequence[int]], target: Sequence[int]) -> bool:
    """Whether the target is a combination of the rows over the field: elimination, the plain way."""
    left, wanted = [list(row) for row in rows], list(target)
    for column in range(len(wanted)):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        inverse = pow(pivot[column], -1, PRIME)
        for row in [*left, wanted]:
            factor = row[column] * inverse % PRIME
            if factor:
                row[:] = [(a - factor * b) % PRIME for a, b in zip(row, pivot, strict=True)]
    return not any(wanted)


def opens_by_some_lists(n: int, n_spies: int) -> bool:
    """Whether any way to show the honest members lists gives one's note, by linear algebra alone.

    What the spies know of a polynomial f leaves f = Z g, Z zero at their points and g of degree below t - c. Honest
    member i answers sum of f_j(i) over its list, of which the spies' own part is known; a note is Z(0) g(0).
    """
    held, honest = quorums(n), range(n_spies + 1, n + 1)
    d, fewest = held.threshold - n_spies, max(held.least - n_spies, 1)
    sizes = range(fewest, len(honest) + 1)
    lists = [set(some) for size in sizes for some in itertools.combinations(honest, size)]
    target = [1] + [0] * (len(honest) * d - 1)

    def row(i: int, listed: set[int]) -> list[int]:
        return [pow(i, e, PRIME) if j in listed else 0 for j in honest for e in range(d)]

    rows = {i: [row(i, listed) for listed in lists] for i in honest}
    return any(in_span(shown, target) for shown in itertools.product(*rows.values()))


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_no_other_way_of_showing_lists_is_cheaper(n: int) -> None:
    """Every honest member shown any list there is: all assignments are tried, and none gives a note."""
    assert opens_by_some_lists(n, quorums(n).n_readers)
    assert not opens_by_some_lists(n, quorums(n).n_readers - 1)
