"""Who takes part in a sealed round, who adds it up, and how many must: numbers that every device computes for itself.

    cohort      the vouched members of the roster when the round opened, n of them, at least 5
    committee   all of them below 20, else the k smallest BLAKE2b(seed, key), k = 15, from 200 members on 31
    threshold   t = floor(2k/3) + 1 members of the committee open a sum; t - 1 and the server learn the sum alone
    least       ceil(2n/3) updates in a list, or the round is void
    n_honest    floor(.8 least): whose noise is counted on

More than two thirds of the committee must answer, so two lists for one round could only both be added up if more than a
third of it answered twice. If up to a fifth of those who arrive tell the server what noise they added, or add none, the
others' noise is still what the ledger says. The seed is the group's name, the round's number and the cohort's keys:
nothing of it is the server's to choose; a member could choose its own key for it, once, when it joins.

`grouped` cuts the cohort into parts of at least ten by hash; each must bring its `least`, and because a colluding fifth
is not spread evenly, 60 % of a part's least arrivals are counted on. A robust rule joins the parts' sums.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from foltr.errors import FoltrError
from foltr.federated.sealed.roster import Roster, RosterMember, check_settled

LEAST_MEMBERS, LEAST_GROUPED = 5, 50
EVERYONE_BELOW, LARGE_FROM = 20, 200
COMMITTEE, LARGE_COMMITTEE = 15, 31
PART = 10
"""members of a part of a grouped cohort, at least"""


class CohortError(FoltrError):
    """There are too few vouched members for a sealed round."""


@dataclass(frozen=True)
class Cohort:
    """A round's members, in the order of their keys, and its numbers."""

    roster_head: str
    members: tuple[RosterMember, ...]
    committee: tuple[RosterMember, ...]
    """member i holds the shares of point i + 1"""
    parts: tuple[frozenset[str], ...]
    """pseudonyms that are added up together; one part unless grouped"""
    threshold: int
    least: tuple[int, ...]
    """of each part's updates"""
    n_honest: int
    """in each part, whose noise is counted on"""

    @cached_property
    def committee_hash(self) -> str:
        """Of the committee's keys, in order."""
        keys = b"".join(member.device_key + member.box_key for member in self.committee)
        return hashlib.blake2b(keys, digest_size=32).hexdigest()

    @property
    def n_least(self) -> int:
        """Updates without which the round is void."""
        return sum(self.least)

    @cached_property
    def by_device(self) -> dict[str, RosterMember]:
        """The members by pseudonym."""
        return {member.device: member for member in self.members}

    def point(self, device: str) -> int | None:
        """The point whose shares this member of the committee holds; None for everybody else."""
        return next((i for i, one in enumerate(self.committee, 1) if one.device == device), None)

    def has_enough(self, devices: frozenset[str]) -> bool:
        """Whether updates of these suffice in every part."""
        return all(len(part & devices) >= least for part, least in zip(self.parts, self.least, strict=True))


def cohort_of(roster: Roster, round: int, mode: Literal["sealed", "grouped"] = "sealed") -> Cohort:
    """Of a round that opened with this roster; CohortError below 5 vouched members (50 for `grouped`).

    RosterError where the roster hides somebody.
    """
    check_settled(roster)
    members, wanted = roster.vouched, least_members(mode)
    if len(members) < wanted:
        raise CohortError(f"a {mode} round needs {wanted} members that are vouched for; there are {len(members)}")
    keys = b"".join(member.device_key for member in members)
    seed = hashlib.blake2b(f"{roster.group_id}\n{round}\n".encode() + keys, digest_size=32).digest()
    committee = _drawn(members, seed, b"committee")[: committee_size(len(members))]
    parts = _parts(_drawn(members, seed, b"parts"), 1 if mode == "sealed" else len(members) // PART)
    least = tuple(least_arrivals(len(part)) for part in parts)
    return Cohort(
        roster_head=roster.head,
        members=members,
        committee=committee,
        parts=parts,
        threshold=threshold(len(committee)),
        least=least,
        n_honest=honest_arrivals(min(least), mode),
    )


def least_members(mode: Literal["sealed", "grouped"]) -> int:
    """Vouched members without which there is no round."""
    return LEAST_MEMBERS if mode == "sealed" else LEAST_GROUPED


def committee_size(n: int) -> int:
    """k for n members."""
    if n < EVERYONE_BELOW:
        return n
    return COMMITTEE if n < LARGE_FROM else LARGE_COMMITTEE


def threshold(k: int) -> int:
    """t for a committee of k: more than two thirds."""
    return 2 * k // 3 + 1


def least_arrivals(n: int) -> int:
    """Two thirds of n, rounded up."""
    return -(-2 * n // 3)


def honest_arrivals(least: int, mode: Literal["sealed", "grouped"] = "sealed") -> int:
    """How many of a sum's least arrivals are counted on to have added their noise."""
    return least * 4 // 5 if mode == "sealed" else least * 3 // 5


def _drawn(members: tuple[RosterMember, ...], seed: bytes, purpose: bytes) -> tuple[RosterMember, ...]:
    """In the order of BLAKE2b(seed, key)."""

    def place(member: RosterMember) -> bytes:
        return hashlib.blake2b(purpose + seed + member.device_key, digest_size=32).digest()

    return tuple(sorted(members, key=place))


def _parts(members: tuple[RosterMember, ...], n_parts: int) -> tuple[frozenset[str], ...]:
    """Dealt out like cards, so that sizes differ by one at most."""
    return tuple(frozenset(m.device for m in members[first::n_parts]) for first in range(n_parts))
