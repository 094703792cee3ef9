"""A sealed round from devices to the sum: exact, and every message bound to what it belongs to."""

from __future__ import annotations

import math
from itertools import combinations

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError
from foltr.federated.envelope import Identity, pseudonym
from foltr.federated.sealed.note_proof import NoteTerms, false_claims
from foltr.federated.sealed.sums import (
    ANSWER,
    Draft,
    FalseAnswerError,
    Occasion,
    SealedSumError,
    answer_text,
    check_answer,
    check_list,
    check_shared,
    claim_of,
    combine_answers,
    draft_update,
    noise_commitment,
    note_of,
    prove_update,
    randomness,
)
from foltr.federated.sealed.verifiable_sharing import SharingError
from foltr.federated.wire import CommitteeAnswer, SharedUpdate, digest
from foltr.privacy.accounting import noise_over_signal
from tests.foltr.federated.sealed.sealed_groups import (
    PRIVACY,
    Person,
    answered,
    answers,
    by_device,
    list_of,
    make_occasion,
    make_roster,
    messages,
    shared,
    summed,
    task_of,
    wanted_of,
)

STATE, _, PEOPLE = make_roster(7)
OCCASION = make_occasion(STATE)
SENT = {
    one.device: np.array([place, -(10**9) * place, 2**40 + place], dtype=np.int64)
    for place, one in enumerate(PEOPLE[:6])
}
RECEIVED = messages(OCCASION, SENT, PEOPLE)
LIST = list_of(OCCASION, RECEIVED)
EVERYONE = range(1, 8)


def whose(point: int, occasion: Occasion = OCCASION) -> Person:
    return by_device(PEOPLE)[occasion.cohort.committee[point - 1].device]


def test_any_threshold_of_answers_give_the_exact_sum() -> None:
    """Seven members, one away; any six of seven in the committee open 15, -15e9 and 6 * 2^40 + 15, nothing rounded."""
    found = answers(OCCASION, RECEIVED, PEOPLE, EVERYONE)
    for six in combinations(found, 6):
        (steps,) = summed(OCCASION, RECEIVED, six)
        assert steps.tolist() == [15, -15 * 10**9, 6 * 2**40 + 15]
    with pytest.raises(SharingError, match="too few"):
        combine_answers(OCCASION, found[:5])


def test_who_adds_up_falsely_is_told_by_the_answer_alone() -> None:
    """Any number of the committee lying, in a number or in what it is checked by: exactly theirs are refused, and any
    six of the others give the sum."""
    state, _, people = make_roster(9)
    occasion = make_occasion(state)
    received = messages(occasion, {one.device: SENT[PEOPLE[0].device] for one in people}, people)
    found, wanted = answers(occasion, received, people, range(1, 10)), wanted_of(occasion, received)
    for point in range(1, 10):
        said, who = found[point - 1], by_device(people)[occasion.cohort.committee[point - 1].device]
        for at in (0, len(said.sums) - 32):
            false = said.sums[:at] + bytes([said.sums[at] ^ 1]) + said.sums[at + 1 :]
            with pytest.raises(FalseAnswerError):
                check_answer(occasion, signed(occasion, msgspec.structs.replace(said, sums=false), who), wanted)
        with pytest.raises(FalseAnswerError):
            check_answer(occasion, signed(occasion, msgspec.structs.replace(said, sums=b""), who), wanted)
        with pytest.raises(SealedSumError, match="does not hold"):  # who did not sign it is not named
            check_answer(occasion, msgspec.structs.replace(said, signature=bytes(64)), wanted)
        assert check_answer(occasion, said, wanted) == point
    assert (summed(occasion, received, found[1:8])[0] == 9 * SENT[PEOPLE[0].device]).all()


def signed(occasion: Occasion, said: CommitteeAnswer, who: Person) -> CommitteeAnswer:
    return msgspec.structs.replace(said, signature=who.identity.sign(ANSWER, answer_text(occasion, said)))


def test_the_sum_of_noised_updates_is_that_of_adding_up_in_the_clear() -> None:
    """The sum that the server finds is that of the devices' own noised steps."""
    rng = np.random.default_rng(5)
    steps = {one.device: OCCASION.part.release_steps(rng.normal(size=3), rng) for one in PEOPLE[:6]}
    received = messages(OCCASION, steps, PEOPLE)
    opened = summed(OCCASION, received, answers(OCCASION, received, PEOPLE, (1, 2, 4, 5, 6, 7)))[0]
    assert (opened == sum(steps.values())).all()


def test_a_devices_part_of_the_noise() -> None:
    """n = 7: least 5, n_honest 4, 128 coins, as 64 would leave a signal 13.7 steps; a step is 2 (2.16 * .8 / 2) /
    sqrt(128), and a signal's squared length a hundredth below (.8 / step)^2 = 128 * 4 / (4 * 2.16^2)."""
    part = OCCASION.part
    assert (part.n_clients, part.coins) == (4, 128)
    assert part.grid_step == pytest.approx(2.16 * 0.8 / math.sqrt(128))
    assert part.most == int(0.99 * 128 / 2.16**2) == 27
    assert OCCASION.note_terms == NoteTerms(3, 128, 27)
    assert noise_over_signal(part, n_params=3, counts=[6]) == pytest.approx(2.16 * math.sqrt(3) / math.sqrt(24))


def test_the_noise_of_the_honest_is_the_ledgers() -> None:
    """n_honest devices' noise has the deviation z clip in the sum: 3000 sums of 4 within 4 standard errors."""
    part, rng = OCCASION.part, np.random.default_rng(11)
    total = sum(part.release_steps(np.zeros(3000), rng) for _ in range(4))
    deviation = np.std(np.asarray(total) * part.grid_step)
    assert deviation == pytest.approx(2.16 * 0.8, rel=4 / math.sqrt(2 * 3000))


def test_a_note_is_its_signal_and_what_the_coins_made_of_its_bits() -> None:
    """Drafted, committed to, proved once the coins are known: the proof holds for this commitment and seed alone, and
    the message is the same each time."""
    who, change = PEOPLE[0], np.array([0.5, -0.3, 0.1])
    draft = draft_update(OCCASION, change, np.random.default_rng(3))
    committed = noise_commitment(OCCASION, draft, who.device).point
    one, same = (
        prove_update(OCCASION, draft, b"seed", who.identity, who.device, np.random.default_rng(4)) for _ in range(2)
    )
    assert one == same
    terms = OCCASION.note_terms
    claims = {
        "right": claim_of(OCCASION, one, committed, b"seed"),
        "other coins": claim_of(OCCASION, one, committed, b"another"),
        "other bits": claim_of(OCCASION, one, noise_commitment(OCCASION, elsewhere(change), who.device).point, b"seed"),
        "other sender": claim_of(OCCASION, msgspec.structs.replace(one, device=PEOPLE[1].device), committed, b"seed"),
    }
    assert false_claims(terms, claims) == ("other bits", "other coins", "other sender")
    sent = {**SENT, who.device: note_of(OCCASION, draft, b"seed")}
    received = {**messages(OCCASION, sent, PEOPLE), who.device: one}
    total = summed(OCCASION, received, answers(OCCASION, received, PEOPLE, range(1, 7)))[0]
    assert (total == sum(sent.values())).all()


def elsewhere(change: np.ndarray) -> Draft:
    return draft_update(OCCASION, change, np.random.default_rng(5))


def test_equal_inputs_give_equal_bytes() -> None:
    """A message made twice is the same; every circumstance, and the update, gives other randomness."""
    who = PEOPLE[0]
    one, two = (
        shared(OCCASION, SENT[who.device], who.identity, who.device, np.random.default_rng(1)) for _ in range(2)
    )
    assert one == two
    change = np.array([0.5, 0.0, 0.0])
    other_roster = make_occasion(make_roster(8)[0])
    seeds = {
        randomness(OCCASION, who.device, change),
        randomness(OCCASION, who.device, -change),
        randomness(OCCASION, PEOPLE[1].device, change),
        randomness(other_roster, who.device, change),
        *(randomness(make_occasion(STATE, **{name: value}), who.device, change) for name, value in OTHERS.items()),
    }
    assert len(seeds) == 4 + len(OTHERS)


OTHERS = {"group_id": "another", "lineage": 2, "round": 2, "model_hash": "another"}


@pytest.mark.parametrize("name", [*OTHERS, "roster_head", "committee"])
def test_a_message_of_another_round_is_refused(name: str) -> None:
    """Replayed into another group, lineage, round, model, roster or committee it is refused by name."""
    update = next(iter(RECEIVED.values()))
    value = OTHERS.get(name, "another")
    with pytest.raises(SealedSumError, match=name.replace("_", " ")):
        check_shared(OCCASION, msgspec.structs.replace(update, **{name: value}))
    elsewhere = make_occasion(make_roster(8)[0]) if name not in OTHERS else make_occasion(STATE, **{name: value})
    dressed = msgspec.structs.replace(update, **elsewhere.named())
    with pytest.raises(SealedSumError):
        check_shared(elsewhere, dressed)


@pytest.mark.parametrize("change", [{"clip": 0.0008}, {"noise_multiplier": 0.01}])
def test_a_message_under_other_terms_is_refused(change: dict[str, float]) -> None:
    """Else a server that told the others of a smaller clip or less noise would read one note in the sum of all."""
    elsewhere = make_occasion(STATE, privacy=msgspec.structs.replace(PRIVACY, **change))
    with pytest.raises(SealedSumError, match="other terms"):
        check_shared(elsewhere, next(iter(RECEIVED.values())))


def test_strangers_and_altered_messages_are_refused() -> None:
    """A key that nobody vouched for, another's name, a changed, missing or swapped box."""
    stranger = Identity(b"?" * 32)
    name = pseudonym(stranger.public)
    with pytest.raises(SealedSumError, match="no member vouched"):
        check_shared(OCCASION, shared(OCCASION, np.arange(3), stranger, name, np.random.default_rng(1)))
    update, other = list(RECEIVED.values())[:2]
    size = OCCASION.share_bytes + 16
    swapped = update.boxes[size : 2 * size] + update.boxes[:size] + update.boxes[2 * size :]
    bad: tuple[SharedUpdate, ...] = (
        msgspec.structs.replace(update, device=other.device),
        msgspec.structs.replace(update, boxes=swapped),
        msgspec.structs.replace(update, boxes=update.boxes[:-1] + b"!"),
        msgspec.structs.replace(update, boxes=update.boxes[:-size]),
        msgspec.structs.replace(update, boxes=other.boxes),
        msgspec.structs.replace(update, commitments=other.commitments),
        msgspec.structs.replace(update, opening=other.opening),
    )
    for message in bad:
        with pytest.raises(SealedSumError):
            check_shared(OCCASION, message)


def test_a_list_of_strangers_or_of_too_few_is_refused() -> None:
    """Least is 5 of 7: four are refused, a name from outside too, and a list of another roster."""
    assert len(LIST.messages) == 6
    four = dict(list(LIST.messages.items())[:4])
    with pytest.raises(SealedSumError, match="fewer than 5"):
        check_list(OCCASION, msgspec.structs.replace(LIST, messages=four))
    with pytest.raises(SealedSumError, match="1 keys that no member vouched"):
        check_list(OCCASION, msgspec.structs.replace(LIST, messages={**LIST.messages, "f" * 32: "0" * 64}))
    with pytest.raises(SealedSumError, match="roster head"):
        check_list(OCCASION, msgspec.structs.replace(LIST, roster_head="another"))


def test_the_committee_adds_up_the_listed_boxes_alone() -> None:
    """A missing, doubled, changed or foreign box, or a message other than the listed one, is refused."""
    who = whose(2)
    task = task_of(OCCASION, RECEIVED, LIST, 2)
    first, second = task.boxes[:2]
    altered = msgspec.structs.replace(first, box=first.box[:-1] + b"!")
    foreign = msgspec.structs.replace(first, box=second.box)
    again = shared(
        OCCASION, np.arange(3), by_device(PEOPLE)[first.device].identity, first.device, np.random.default_rng(9)
    )
    other = task_of(OCCASION, {**RECEIVED, first.device: again}, LIST, 2).boxes[0]
    for boxes in (
        task.boxes[1:],
        (second, *task.boxes[1:]),
        (altered, *task.boxes[1:]),
        (foreign, *task.boxes[1:]),
        (other, *task.boxes[1:]),
        task_of(OCCASION, RECEIVED, LIST, 3).boxes,
    ):
        bad = msgspec.structs.replace(task, boxes=boxes)
        with pytest.raises(SealedSumError):
            answered(OCCASION, bad, LIST, who)


def test_answers_are_bound_to_list_and_member() -> None:
    """An answer to another list, of another round, of another member, changed, or of the wrong length is refused."""
    found = answers(OCCASION, RECEIVED, PEOPLE, [1, 2])
    wanted = wanted_of(OCCASION, RECEIVED)
    assert wanted.list_hash == digest(LIST)
    assert check_answer(OCCASION, found[1], wanted) == 2
    for changes in (
        {"list_hash": "0" * 64},
        {"without": (PEOPLE[3].device,)},
        {"round": 2},
        {"lineage": 9},
        {"group_id": "another"},
        {"device": found[0].device},
        {"device": "f" * 32},
        {"sums": found[0].sums},
        {"sums": found[1].sums[:-8]},
    ):
        with pytest.raises(SealedSumError):
            check_answer(OCCASION, msgspec.structs.replace(found[1], **changes), wanted)


def test_grouped_answers_give_a_sum_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty members in two parts: each part's sum is that of its own members, and no sum spans two."""
    monkeypatch.setattr("foltr.federated.sealed.committee.LEAST_GROUPED", 20)
    state, _, people = make_roster(20)
    occasion = make_occasion(state, n_numbers=2, mode="grouped")
    sent = {one.device: np.array([1 << place % 10, place]) for place, one in enumerate(people) if place != 17}
    received = messages(occasion, sent, people)
    found = summed(occasion, received, answers(occasion, received, people, range(1, occasion.cohort.threshold + 1)))
    assert len(found) == 2
    for part, steps in zip(occasion.cohort.parts, found, strict=True):
        assert steps.tolist() == sum(sent[device] for device in part if device in sent).tolist()


def test_an_update_of_another_length_is_refused() -> None:
    """Four numbers where the group sends three."""
    who = PEOPLE[0]
    with pytest.raises(ShapeError, match="3 numbers"):
        shared(OCCASION, np.arange(4), who.identity, who.device, np.random.default_rng(1))
