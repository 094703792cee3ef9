"""The numbers of a sealed round, which every device finds for itself."""

from __future__ import annotations

import hashlib

import pytest

from foltr.federated.sealed.committee import (
    CohortError,
    cohort_of,
    committee_size,
    honest_arrivals,
    least_arrivals,
    threshold,
)
from foltr.federated.sealed.roster import extended
from tests.foltr.federated.sealed.sealed_groups import GROUP, join_entry, make_roster, person


@pytest.mark.parametrize(
    ("n", "k", "t", "least", "honest"),
    [
        (5, 5, 4, 4, 3),
        (6, 6, 5, 4, 3),
        (9, 9, 7, 6, 4),
        (19, 19, 13, 13, 10),
        (20, 15, 11, 14, 11),
        (30, 15, 11, 20, 16),
    ],
)
def test_numbers_of_a_cohort(n: int, k: int, t: int, least: int, honest: int) -> None:
    """k, t = floor(2k/3) + 1, least = ceil(2n/3) and floor(.8 least), by hand."""
    cohort = cohort_of(make_roster(n)[0], 1)
    assert (len(cohort.committee), cohort.threshold, cohort.n_least, cohort.n_honest) == (k, t, least, honest)


def test_numbers_of_large_groups() -> None:
    """199, 200 and 1000 members."""
    assert [committee_size(n) for n in (199, 200, 1000)] == [15, 31, 31]
    assert threshold(31) == 21
    assert least_arrivals(1000) == 667


def test_who_waits_is_not_in_the_cohort() -> None:
    """Four who are vouched for and one who waits are too few."""
    state, _, _ = make_roster(4)
    state = extended(state, [join_entry(state, person(9))])
    with pytest.raises(CohortError, match="needs 5 members that are vouched for; there are 4"):
        cohort_of(state, 1)


def test_the_committee_is_drawn_by_hash() -> None:
    """The 15 of 24 whose BLAKE2b over purpose, seed and key is smallest, in that order, worked out here; another
    round draws others, another lineage cannot be used to choose."""
    state, _, _ = make_roster(24)
    cohort = cohort_of(state, 7)
    keys = sorted(member.device_key for member in state.members.values())
    seed = hashlib.blake2b(f"{GROUP}\n7\n".encode() + b"".join(keys), digest_size=32).digest()
    drawn = sorted(keys, key=lambda key: hashlib.blake2b(b"committee" + seed + key, digest_size=32).digest())
    assert [member.device_key for member in cohort.committee] == drawn[:15]
    assert cohort_of(state, 8).committee_hash != cohort.committee_hash
    assert cohort.point(cohort.committee[3].device) == 4
    assert cohort.point("nobody") is None


def test_grouped_parts_are_of_ten() -> None:
    """57 members make 5 parts of 11 or 12, each member in one; 60 % of the smallest part's least is counted on."""
    cohort = cohort_of(make_roster(57)[0], 1, "grouped")
    assert sorted(len(part) for part in cohort.parts) == [11, 11, 11, 12, 12]
    assert len(frozenset().union(*cohort.parts)) == 57
    assert sorted(cohort.least) == [8, 8, 8, 8, 8]
    assert cohort.n_honest == 4
    with pytest.raises(CohortError, match="50 members"):
        cohort_of(make_roster(49)[0], 1, "grouped")


def test_every_part_must_bring_its_least() -> None:
    """38 of 50 may be too few when they are missing in one part, and enough when spread."""
    cohort = cohort_of(make_roster(50)[0], 1, "grouped")
    everyone = frozenset(member.device for member in cohort.members)
    first = sorted(cohort.parts[0])
    assert cohort.has_enough(everyone - frozenset(first[:3]))
    assert not cohort.has_enough(everyone - frozenset(first[:4]))


def test_who_is_counted_on_for_noise() -> None:
    """Four fifths of the least arrivals, three fifths where the parts of a group are added up."""
    least = (4, 5, 14, 67)
    assert [honest_arrivals(n) for n in least] == [3, 4, 11, 53]
    assert [honest_arrivals(n, "grouped") for n in least] == [2, 3, 8, 40]
