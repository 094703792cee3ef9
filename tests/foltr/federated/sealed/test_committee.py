"""The numbers of a sealed round, which every device finds for itself."""

from __future__ import annotations

import hashlib

import pytest

from foltr.federated.sealed.committee import CohortError, Quorums, cohort_of, honest_arrivals, quorums
from foltr.federated.sealed.roster import extend_roster
from tests.foltr.federated.sealed.sealed_groups import GROUP, join_entry, make_roster, person


@pytest.mark.parametrize(
    ("n", "k", "t", "least", "honest", "readers", "spared"),
    [
        (5, 5, 4, 4, 3, 3, 1),
        (6, 6, 5, 4, 3, 3, 1),
        (7, 7, 6, 5, 4, 4, 1),
        (10, 10, 8, 7, 5, 6, 2),
        (15, 15, 12, 10, 8, 9, 2),
        (30, 30, 25, 20, 16, 19, 4),
        (99, 99, 82, 66, 52, 65, 14),
        (150, 99, 82, 100, 80, 65, 20),
    ],
)
def test_numbers_of_a_cohort(n: int, k: int, t: int, least: int, honest: int, readers: int, spared: int) -> None:
    """k, t = ceil((k + ceil(2k/3) - 1) / 2), least = ceil(2n/3), floor(.8 least), min(2t - k, least - 1) by hand."""
    cohort, found = cohort_of(make_roster(n)[0]), quorums(n)
    assert (len(cohort.committee), cohort.threshold, cohort.n_least, cohort.n_honest) == (k, t, least, honest)
    assert found == Quorums(n, k, t, least, honest)
    assert (found.n_readers, found.n_spared) == (readers, spared)


def test_the_threshold_is_the_smallest_that_makes_two_lists_no_cheaper_than_a_short_one() -> None:
    """2t - k >= least - 1 for every group that adds up itself, and not with one less; fewer than five count as five."""
    for n in range(5, 100):
        held = quorums(n)
        assert held.threshold <= n
        assert 2 * held.threshold - n >= held.least - 1 > 2 * (held.threshold - 1) - n
    assert quorums(2) == quorums(5)


def test_who_waits_is_not_in_the_cohort() -> None:
    """Four who are vouched for and one who waits are too few."""
    state, _, _ = make_roster(4)
    state = extend_roster(state, [join_entry(state, person(9))])
    with pytest.raises(CohortError, match="needs 5 members that are vouched for, and has 4"):
        cohort_of(state)


def test_the_committee_of_a_large_group_is_drawn_by_hash() -> None:
    """The 99 of 104 whose BLAKE2b over purpose, seed and key is smallest, in that order, worked out here, from the
    group's name and the keys alone: no round number, no lineage, no roster's head can be tried for another draw."""
    state, _, _ = make_roster(104)
    cohort = cohort_of(state)
    keys = sorted(member.device_key for member in state.members.values())
    seed = hashlib.blake2b(f"{GROUP}\n".encode() + b"".join(keys), digest_size=32).digest()
    drawn = sorted(keys, key=lambda key: hashlib.blake2b(b"committee" + seed + key, digest_size=32).digest())
    assert [member.device_key for member in cohort.committee] == drawn[:99]
    assert cohort.point(cohort.committee[3].device) == 4
    assert cohort.point("nobody") is None


def test_grouped_parts_are_of_ten() -> None:
    """57 members make 5 parts of 11 or 12, each member in one; 60 % of the smallest part's least is counted on."""
    cohort = cohort_of(make_roster(57)[0], "grouped")
    assert sorted(len(part) for part in cohort.parts) == [11, 11, 11, 12, 12]
    assert len(frozenset().union(*cohort.parts)) == 57
    assert sorted(cohort.least) == [8, 8, 8, 8, 8]
    assert cohort.n_honest == 4
    with pytest.raises(CohortError, match="50 members"):
        cohort_of(make_roster(49)[0], "grouped")


def test_every_part_must_bring_its_least() -> None:
    """38 of 50 may be too few when they are missing in one part, and enough when spread."""
    cohort = cohort_of(make_roster(50)[0], "grouped")
    everyone = frozenset(member.device for member in cohort.members)
    first = sorted(cohort.parts[0])
    assert cohort.has_enough(everyone - frozenset(first[:3]))
    assert not cohort.has_enough(everyone - frozenset(first[:4]))


def test_who_is_counted_on_for_noise() -> None:
    """Four fifths of the least arrivals, three fifths where the parts of a group are added up."""
    least = (4, 5, 14, 67)
    assert [honest_arrivals(n) for n in least] == [3, 4, 11, 53]
    assert [honest_arrivals(n, "grouped") for n in least] == [2, 3, 8, 40]
