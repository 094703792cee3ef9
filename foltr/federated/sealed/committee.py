"""Who takes part in a sealed round, who adds it up, and how many must: numbers that every device computes for itself.

    cohort      the vouched members of the roster when the round opened, n of them, at least 5
    committee   all of them, k = n, up to 99; of more the 99 smallest BLAKE2b(seed, key)
    least       ceil(2n/3) updates in a list, or the round is void
    threshold   t = ceil((k + ceil(2k/3) - 1) / 2) members of the committee open a sum
    n_honest    floor(.8 least): whose noise is counted on
    readers     min(2t - k, least - 1) members with the server on their side can read another's note

A lying server has two ways. It can list colluders and one victim alone, which takes least - 1 of them. Or it can sign
two lists that differ in the victim and show each to other members: of k - c honest ones, who answer one list each, t -
c are needed for either, which takes c = 2t - k colluders. The threshold is the smallest that makes the second way, and
any other way of showing members different lists, no cheaper than the first (tests/foltr/federated/sealed/
test_readers.py tries them all in small groups). A higher one would keep rounds from closing and hide nothing more.

If up to least - n_honest of those listed tell the server what noise they added, or add none, the others' noise is still
what the ledger says. Nothing is drawn in a group of up to 99. In a larger one the draw depends on the group's name and
the cohort's keys, so that the server has no say in it, and `readers` counts on none of it: all of them may sit in the
committee.

`grouped` cuts the cohort into parts of at least ten by hash; each must bring its `least`, and because a colluding fifth
is not spread evenly, 60 % of a part's least arrivals are counted on. A robust rule joins the parts' sums.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Literal

from msgspec import Struct

from foltr.errors import FoltrError
from foltr.federated.sealed.roster import Roster, RosterMember, check_settled

LEAST_MEMBERS, LEAST_GROUPED = 5, 50
LARGEST_COMMITTEE = 99
"""a note is then 99 boxes of some 220 bytes, and a member of it reads 3 KiB of each: four times a year"""
PART = 10
"""members of a part of a grouped cohort, at least"""


class CohortError(FoltrError):
    """There are too few vouched members for a sealed round."""


class Quorums(Struct, frozen=True):
    """How many must act, and how many may lie, in a round of so many members, whoever they are."""

    n_members: int
    n_committee: int
    threshold: int
    least: int
    """updates of the smallest sum"""
    n_honest: int
    """how many of those are counted on for their noise"""

    @property
    def n_spared(self) -> int:
        """How many members may side with the server without anybody learning more than the ledger says."""
        return min(self.least - self.n_honest, self.n_readers - 1)

    @property
    def n_readers(self) -> int:
        """How many members, with the server on their side, can read another's note; one fewer cannot."""
        return min(2 * self.threshold - self.n_committee, self.least - 1)


class Cohort(Struct, frozen=True, dict=True):
    """A round's members, in the order of their keys, and its numbers."""

    roster_head: str
    members: tuple[RosterMember, ...]
    committee: tuple[RosterMember, ...]
    """member i holds the shares of point i + 1"""
    parts: tuple[frozenset[str], ...]
    """pseudonyms that are added up together; one part unless grouped"""
    least: tuple[int, ...]
    """of each part's updates"""
    quorums: Quorums

    @cached_property
    def committee_hash(self) -> str:
        """Of the committee's keys, in order."""
        keys = b"".join(member.device_key + member.box_key for member in self.committee)
        return hashlib.blake2b(keys, digest_size=32).hexdigest()

    @property
    def threshold(self) -> int:
        """Members of the committee who open a sum."""
        return self.quorums.threshold

    @property
    def n_honest(self) -> int:
        """In each part, how many are counted on for their noise."""
        return self.quorums.n_honest

    @property
    def n_least(self) -> int:
        """Updates without which the round is void."""
        return sum(self.least)

    @cached_property
    def by_device(self) -> dict[str, RosterMember]:
        return {member.device: member for member in self.members}

    def point(self, device: str) -> int | None:
        """The point whose shares this member of the committee holds; None for everybody else."""
        return next((i for i, one in enumerate(self.committee, 1) if one.device == device), None)

    def has_enough(self, devices: frozenset[str]) -> bool:
        """Whether updates of these suffice in every part."""
        return all(len(part & devices) >= least for part, least in zip(self.parts, self.least, strict=True))


def cohort_of(roster: Roster, mode: Literal["sealed", "grouped"] = "sealed") -> Cohort:
    """Of a round that opened with this roster; CohortError below 5 vouched members (50 for `grouped`).

    RosterError where the roster hides somebody.
    """
    check_settled(roster)
    members, wanted = roster.vouched, least_members(mode)
    if len(members) < wanted:
        raise CohortError(f"a {mode} round needs {wanted} members that are vouched for, and has {len(members)}")
    held, keys = quorums(len(members), mode), b"".join(member.device_key for member in members)
    seed = hashlib.blake2b(f"{roster.group_id}\n".encode() + keys, digest_size=32).digest()
    parts = _parts(_drawn(members, seed, b"parts"), n_parts(len(members), mode))
    return Cohort(
        roster_head=roster.head,
        members=members,
        committee=_drawn(members, seed, b"committee")[: held.n_committee],
        parts=parts,
        least=tuple(least_arrivals(len(part)) for part in parts),
        quorums=held,
    )


def least_members(mode: Literal["sealed", "grouped"]) -> int:
    """Vouched members without which there is no round."""
    return LEAST_MEMBERS if mode == "sealed" else LEAST_GROUPED


def n_parts(n: int, mode: Literal["sealed", "grouped"]) -> int:
    """Sums that a round of n members has."""
    return 1 if mode == "sealed" else n // PART


def least_arrivals(n: int) -> int:
    """Two thirds of n, rounded up."""
    return -(-2 * n // 3)


def honest_arrivals(least: int, mode: Literal["sealed", "grouped"] = "sealed") -> int:
    """How many of a sum's least arrivals are counted on to have added their noise."""
    return least * 4 // 5 if mode == "sealed" else least * 3 // 5


def quorums(n: int, mode: Literal["sealed", "grouped"] = "sealed") -> Quorums:
    """Those of a round of n members or, if n is too few for a round, of the smallest."""
    n = max(n, least_members(mode))
    k, least = min(n, LARGEST_COMMITTEE), least_arrivals(n // n_parts(n, mode))
    return Quorums(n, k, -(-(k + least_arrivals(k) - 1) // 2), least, honest_arrivals(least, mode))


def _drawn(members: tuple[RosterMember, ...], seed: bytes, purpose: bytes) -> tuple[RosterMember, ...]:
    """In the order of BLAKE2b(seed, key)."""

    def place(member: RosterMember) -> bytes:
        return hashlib.blake2b(purpose + seed + member.device_key, digest_size=32).digest()

    return tuple(sorted(members, key=place))


def _parts(members: tuple[RosterMember, ...], n_parts: int) -> tuple[frozenset[str], ...]:
    """Dealt out like cards, so that sizes differ by one at most."""
    return tuple(frozenset(m.device for m in members[first::n_parts]) for first in range(n_parts))
