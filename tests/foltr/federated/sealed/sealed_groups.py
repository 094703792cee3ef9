"""A sealed group in memory: members with keys, their roster, one round of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foltr.arrays import Int64Vector
from foltr.federated.envelope import Identity, box_public, pseudonym, sign_document
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.committee import cohort_of
from foltr.federated.sealed.roster import INVITE, Roster, RosterMember
from foltr.federated.sealed.sums import (
    ListedSum,
    Occasion,
    answer,
    check_answer,
    check_shared,
    combine_answers,
    in_shares,
    listed_box,
    listed_sum,
    make_list,
    opened_shares,
)
from foltr.federated.wire import CommitteeAnswer, RosterEntry, SharedUpdate, ShareList, SumTask
from foltr.privacy.mechanisms import Gaussian

GROUP = "group"
SERVER = Identity(b"s" * 32)
PRIVACY = Gaussian(clip=0.8, noise_multiplier=2.16, distributed=True)


@dataclass(frozen=True, slots=True)
class Person:
    """A device of a member."""

    identity: Identity
    box: bytes

    @property
    def device(self) -> str:
        return pseudonym(self.identity.public)


def person(number: int) -> Person:
    return Person(Identity(number.to_bytes(2, "big") * 16), (number + 7).to_bytes(2, "little") * 16)


def by_device(people: Sequence[Person]) -> dict[str, Person]:
    return {one.device: one for one in people}


def member_of(state: Roster, who: Person) -> RosterMember:
    found = state.of_device(who.device)
    assert found is not None
    return found


def join_entry(state: Roster, who: Person, by: Person | None = None, token: str = "") -> RosterEntry:
    """By an invite of `by`, or the administrator's."""
    token = token or f"for {who.device}"
    asked = chain.enrolment(GROUP, token, who.identity, box_public(who.box))
    if by is None:
        return chain.join_entry(state, asked)
    text = chain.invite_text(GROUP, asked.invite_key)
    return chain.join_entry(state, asked, voucher=member_of(state, by).number, signature=by.identity.sign(INVITE, text))


def make_roster(n: int) -> tuple[Roster, list[RosterEntry], list[Person]]:
    """A founder who invited everybody else."""
    state, entries, people = chain.empty_roster(GROUP), [], [person(i) for i in range(n)]
    for one in people:
        entries.append(join_entry(state, one, people[0] if entries else None))
        state = chain.extend_roster(state, entries[-1:])
    return state, entries, people


def make_occasion(state: Roster, *, n_numbers: int = 3, round: int = 1, **changes: object) -> Occasion:
    cohort = cohort_of(state, changes.pop("mode", "sealed"))  # type: ignore[arg-type]
    told = {"group_id": GROUP, "lineage": 1, "round": round, "model_hash": "model", "privacy": PRIVACY, **changes}
    return Occasion(cohort=cohort, n_numbers=n_numbers, **told)  # type: ignore[arg-type]


def shared(
    occasion: Occasion, steps: Int64Vector, identity: Identity, device: str, rng: np.random.Generator
) -> SharedUpdate:
    """A message of any numbers at all, without a proof."""
    return in_shares(occasion, steps, identity, device, rng)[0]


def messages(occasion: Occasion, sent: Mapping[str, Int64Vector], people: Sequence[Person]) -> dict[str, SharedUpdate]:
    """What these devices send, in the order of the pseudonyms."""
    known = by_device(people)
    return {
        device: shared(occasion, steps, known[device].identity, device, np.random.default_rng(place))
        for place, (device, steps) in enumerate(sorted(sent.items()))
    }


def list_of(occasion: Occasion, received: Mapping[str, SharedUpdate]) -> ShareList:
    return make_list(occasion, {device: check_shared(occasion, one) for device, one in received.items()})


def task_of(occasion: Occasion, received: Mapping[str, SharedUpdate], listed: ShareList, point: int) -> SumTask:
    boxes = tuple(listed_box(occasion, received[device], point) for device in listed.messages)
    return SumTask(signed_list=sign_document(SERVER, "list", listed), boxes=boxes)


def answered(
    occasion: Occasion, task: SumTask, listed: ShareList, who: Person, without: Sequence[str] = ()
) -> CommitteeAnswer:
    """What this member of the committee says, whose boxes all hold together."""
    found = opened_shares(occasion, task, listed, who.device, who.box, without=without)
    return answer(occasion, listed, who.identity, who.device, found, without)


def answers(
    occasion: Occasion,
    received: Mapping[str, SharedUpdate],
    people: Sequence[Person],
    points: Sequence[int],
    without: Sequence[str] = (),
) -> list[CommitteeAnswer]:
    """Of these members of the committee."""
    listed, known, found = list_of(occasion, received), by_device(people), []
    for point in points:
        who = known[occasion.cohort.committee[point - 1].device]
        found.append(answered(occasion, task_of(occasion, received, listed, point), listed, who, without))
    return found


def wanted_of(occasion: Occasion, received: Mapping[str, SharedUpdate], without: Sequence[str] = ()) -> ListedSum:
    """What their answers are checked against."""
    commitments = {device: one.commitments for device, one in received.items()}
    return listed_sum(occasion, list_of(occasion, received), commitments, without)


def summed(
    occasion: Occasion, received: Mapping[str, SharedUpdate], said: Sequence[CommitteeAnswer]
) -> tuple[Int64Vector, ...]:
    """The sums of answers, each checked, as the server does."""
    wanted = wanted_of(occasion, received, said[0].without if said else ())
    for one in said:
        check_answer(occasion, one, wanted)
    return combine_answers(occasion, said)
