"""Five devices and a real server: sealed rounds to the end, with people missing, new, killed, or lied to."""

from __future__ import annotations

import os
import signal
import time
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy import Connection, func, select, update

from app.federation import answering_device, group_roster, ledger, membership, round_answer
from app.federation.failures import Declined, Distrusted, FederationError, Unreachable
from app.federation.group_status import overview, rows_in_words
from app.federation.server import Correspondence, Reach
from app.federation.sync import Sync
from federation_server.database import reading, writing
from federation_server.group import enrolment, roster_book
from federation_server.group import group as the_group
from federation_server.running.service import Service
from federation_server.sealed import summing
from federation_server.tables import answers, rounds, shares
from foltr.federated.envelope import Identity, box_public, new_box_key, open_document, sign_document
from foltr.federated.method import Model
from foltr.federated.sealed import roster as chain
from foltr.federated.sealed.committee import quorums
from foltr.federated.sealed.points import generator
from foltr.federated.sealed.sums import Occasion, check_shared
from foltr.federated.wire import (
    Announcement,
    ModelRecord,
    NoiseCommitment,
    RosterPage,
    SharedUpdate,
    ShareList,
    Signed,
    SumTask,
    Terms,
    decode,
    digest,
    encode,
)
from foltr.privacy.accounting import Ledger, gaussian_epsilon
from foltr.privacy.mechanisms import Gaussian
from tests import copied, few_coins
from tests.app.federation.groups import Group, Person, friends, hasty, no_pause, serving_sealed, told_to, welcome

pytestmark = pytest.mark.usefixtures("few_coins")

Make = Callable[..., Person]


def after_deadline(group: Group) -> None:
    with writing(group.made.engine) as connection:
        connection.execute(update(rounds).where(rounds.c.state == "open").values(deadline=1))
    group.service.tick()


def closed_rounds(group: Group) -> int:
    with reading(group.made.engine) as connection:
        return int(connection.execute(select(func.count()).where(rounds.c.state == "closed")).scalar_one())


def kept(group: Group, table: object) -> int:
    with reading(group.made.engine) as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def test_five_people_add_up_a_round_and_the_ledger_is_the_accountants(sealed: Group, make_person: Make) -> None:
    """All share, the committee adds up, the next round begins from the sum; the ledger has one round of z."""
    everyone = friends(sealed.made, make_person, n_pages=20)
    before = told_to(everyone[0])
    said = [person.sync().said for person in everyone]
    assert all("answered round 1" in " ".join(lines) for lines in said)
    assert said[-1][0].startswith("answered round 1")
    assert said[-1][1] == "added up round 1 of 5 members, unread"  # the last to answer adds up in the same sync
    for person in everyone[:4]:
        assert any(line.startswith("added up round 1 of 5") for line in person.sync().said)
    sealed.service.tick()
    assert closed_rounds(sealed) == 1
    after = told_to(everyone[4])
    assert (after.round, after.phase) == (2, "collect")
    assert after.model_hash != before.model_hash
    entries = ledger.entries(everyone[4].store)
    assert len(entries) == 1
    privacy = entries[0].mechanism
    assert isinstance(privacy, Gaussian)
    assert (privacy.distributed, privacy.n_clients, entries[0].against) == (True, 3, "sum")  # floor(.8 ceil(2/3 5))
    found = ledger.epsilon(entries, 1e-5, "zero-out")
    assert found == pytest.approx(gaussian_epsilon(1 / privacy.noise_multiplier, 1e-5), rel=1e-9)
    assert found == Ledger(10).spend(privacy).epsilon(1e-5, against="sum")


def test_the_same_entry_in_an_open_group_counts_as_nothing_hidden(sealed: Group, make_person: Make) -> None:
    """A share of noise holds against the sum alone: counted against a server that opens updates it is infinite."""
    person, *_ = friends(sealed.made, make_person)
    mechanism = Gaussian(clip=0.8, noise_multiplier=2.17, distributed=True, n_clients=3)
    entry = ledger.plan_entry(told_to(person).terms, lineage=1, round=1, now=1, mechanism=mechanism)
    assert np.isfinite(ledger.epsilon((entry,), 1e-5, "zero-out"))
    terms = msgspec.structs.replace(told_to(person).terms, mode="open")
    opened = ledger.plan_entry(terms, lineage=1, round=1, now=1, mechanism=mechanism)
    assert np.isinf(ledger.epsilon((opened,), 1e-5, "zero-out"))


def test_who_took_part_in_a_lost_round_is_told(sealed: Group, make_person: Make) -> None:
    """Of six two leave before the list, where five have to add up, the second one only by a word of its own. Each of
    the others is told once that the round is lost and why, and `federation status` says it from then on; of a round
    that was added up nobody is told that."""
    everyone = friends(sealed.made, make_person, 6)
    a_round(everyone)
    for person in everyone[:3]:
        person.sync()
    everyone.pop().joining().leave(forget=True)
    spent = ledger.entries(everyone[4].store)
    for forget in (False, True):
        with pytest.raises(Declined, match="4 others are left to add up round 2, 5 are needed"):
            everyone[4].joining().leave(forget=forget)
    assert (ledger.entries(everyone[4].store), told_to(everyone[4]).round) == (spent, 2)
    everyone.pop().joining().leave(forget=True, at_once=True)
    sealed.service.tick()
    lost = (
        "round 2 was lost, the server says: too many members had left to add it up. The ranker stays; what was sent is "
        "spent"
    )
    for person in everyone:
        assert lost in person.sync().said
    for person in everyone:
        assert not any("lost" in line for line in person.sync().said)
        told = overview(person.store, person.settings.federation, now=1)
        assert told["lost"] == lost
        assert dict(rows_in_words(told))["lost"] == lost


def test_a_round_whose_ranker_did_not_move_is_not_lost(
    answered: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two weights the coins of one honest round in 900 cancel out: nobody is told that it was lost."""
    everyone, publish = friends(answered.made, make_person), the_group.publish

    def unmoved(connection: Connection, agreed: Terms, lineage: int, model: Model, **more: Any) -> object:
        same = replace(the_group.newest(connection).model, round=model.round)
        return publish(connection, agreed, lineage, same, **more)

    monkeypatch.setattr(the_group, "publish", unmoved)
    for person in everyone:
        person.sync()
    for person in everyone:
        assert not any("lost" in line for line in person.sync().said)
        assert overview(person.store, person.settings.federation, now=1)["lost"] == ""


def test_a_server_that_calls_a_round_lost_whose_ranker_moved_is_not_believed(
    answered: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it signed contradicts itself: the device says so, and sends nothing for the next round."""
    everyone, publish = friends(answered.made, make_person), the_group.publish

    def lost(connection: Connection, agreed: Terms, lineage: int, model: Model, **more: Any) -> object:
        moved = replace(model, theta=model.theta + 1)  # once in a hundred rounds the coins cancel out
        return publish(connection, agreed, lineage, moved, **more | {"lost": "silent"})

    monkeypatch.setattr(the_group, "publish", lost)
    for person in everyone:
        with suppress(Distrusted):
            person.sync()
    for person in everyone:
        with pytest.raises(Distrusted, match="calls round 1 lost, and moved its ranker by it"):
            person.sync()
        assert [entry.round for entry in ledger.entries(person.store)] == [1]


@pytest.mark.parametrize("forget", [False, True])
def test_who_leaves_adds_up_first(answered: Group, make_person: Make, *, forget: bool) -> None:
    """Of five who answered one leaves and one stays away from then on: the four others' answers, the leaver's among
    them, give the sum of all five notes, and no round is lost."""
    everyone = friends(answered.made, make_person)
    leaver, absent, *others = everyone
    me = membership.member(leaver.store).device
    assert leaver.joining().leave(forget=forget) is not None
    for person in others:
        person.sync()
    after_deadline(answered)
    assert closed_rounds(answered) == 1
    assert not any("lost" in line for line in absent.sync().said)
    answered.service.tick()
    with reading(answered.made.engine) as connection:
        assert connection.execute(select(rounds.c.n_updates, rounds.c.rule).where(rounds.c.round == 1)).one() == (
            5,
            "sum",
        )
        assert (enrolment.member(connection, me) is None) == forget
    assert [one.receipt.state for one in leaver.joining().progress()] == ["done"]
    assert [finding.holds for finding in leaver.joining().findings()] == [True] * forget


@pytest.mark.parametrize("why", ["another list", "caught before", "without the pen"])
def test_a_list_that_must_not_be_keeps_nobody_from_leaving(
    answered: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """A server that sends another list than it announced, or was caught before with two, gets no answer; nor does any
    from a computer whose owner's other one answers, perhaps another list."""
    everyone = friends(answered.made, make_person)
    leaver, n_answers = everyone[0], kept(answered, answers)
    with leaver.reach.talk(membership.member(leaver.store)) as server:
        task = server.list_task()
    if why == "without the pen":
        answering_device.be_one_of_several(leaver.store, is_first=False)
    elif why == "caught before":
        with leaver.store.transaction() as db:
            db.execute("INSERT INTO round_lists VALUES (1, 0, 1, ?)", (encode(task.signed_list),))
    else:
        lie = msgspec.structs.replace(decode(task.signed_list.body, ShareList), round=2)
        signed = sign_document(answered.made.vault.identity, "list", lie)
        shown = msgspec.structs.replace(task, signed_list=signed)
        monkeypatch.setattr(Correspondence, "list_task", lambda self: shown)
    assert leaver.joining().leave(forget=False) is not None
    assert membership.load(leaver.store) is None
    assert kept(answered, answers) == n_answers


def test_two_may_be_missing_and_a_third_may_not(answered_by_four: Group, make_person: Make) -> None:
    """With four of five at the deadline the round is added up by four of them; who was away answers the next one."""
    everyone = friends(answered_by_four.made, make_person)
    assert told_to(everyone[0]).phase == "collect"
    after_deadline(answered_by_four)
    assert told_to(everyone[0]).phase == "sum"
    assert everyone[4].sync().said[:2] == ("added up round 1 of 4 members, unread", "round 1 is being added up")
    assert ledger.entries(everyone[4].store) == ()
    for person in everyone[:4]:
        person.sync()
    assert told_to(everyone[0]).round == 2
    assert everyone[4].sync().sent


def test_a_newcomer_of_the_administrator_waits_until_a_member_vouches(sealed: Group, make_person: Make) -> None:
    """It sends nothing and says whom to ask; once vouched for, the next round has it."""
    everyone = friends(sealed.made, make_person)
    newcomer = make_person()
    newcomer.see_pages(20, seed=9)
    member = newcomer.join(sealed)
    report = newcomer.sync()
    assert not report.sent
    assert "no member has vouched for this device yet" in report.said[0]
    assert group_roster.own_print(member) in report.said[0]
    assert ledger.entries(newcomer.store) == ()
    everyone[0].sync()  # from now on the round's members stand fast
    waiting = group_roster.unvouched(group_roster.of_now(everyone[0].store, everyone[0].reach))
    assert [(one.device, group_roster.print_of(one.device_key, one.box_key)) for one in waiting] == [
        (member.device, group_roster.own_print(member))
    ]
    group_roster.vouch(everyone[0].store, everyone[0].reach, member.device[:8])
    assert "takes part in the next" in newcomer.sync().said[0]
    for _ in range(2):
        for person in everyone:
            person.sync()
    assert told_to(newcomer).round == 2
    assert newcomer.sync().sent


def test_fewer_than_five_are_too_few_to_hide_one_another(sealed: Group, make_person: Make) -> None:
    """Four members send nothing, and are told how many it takes."""
    *four, fifth = friends(sealed.made, make_person)
    fifth.joining().leave(forget=False)
    for person in four:
        assert "needs 5 members that are vouched for" in person.sync().said[0]
        assert ledger.entries(person.store) == ()
    assert kept(sealed, shares) == 0


def test_a_second_list_for_a_round_is_never_answered(
    answered: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that signs a second list, of one member less, gets nothing after the first; both lists are kept, and
    however many follow, no more than these two."""
    everyone = friends(answered.made, make_person)
    store, told = everyone[0].store, told_to(everyone[0])
    with everyone[0].reach.talk(membership.member(store)) as server:
        occasion = round_answer.place(store, server, told).occasion
        assert occasion is not None
        task = server.list_task()
        assert round_answer.add_up(store, server, told, occasion).startswith("added up round 1 of 5")
        first = decode(task.signed_list.body, ShareList)
        others, n_answers = [], kept(answered, answers)
        for left_out in (4, 4, 3, 2):
            fewer = msgspec.structs.replace(
                first, messages={d: h for place, (d, h) in enumerate(first.messages.items()) if place != left_out}
            )
            others.append(sign_document(answered.made.vault.identity, "list", fewer))
            shown = SumTask(signed_list=others[-1], boxes=task.boxes[:4])
            monkeypatch.setattr(server, "list_task", lambda shown=shown: shown)
            lying = msgspec.structs.replace(told, list_hash=digest(fewer))
            with pytest.raises(Distrusted, match="two lists for round 1"):
                round_answer.add_up(store, server, lying, occasion)
    assert kept(answered, answers) == n_answers
    assert [one.body for one in round_answer.noted_lists(store, 1, 1)] == [task.signed_list.body, others[0].body]


def test_whose_note_was_taken_and_not_listed_is_told_before_it_sends_another(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes five notes and lists four: the fifth device says so, and answers neither list nor next round
    in that sync; another adds up the four as ever."""
    everyone = friends(sealed.made, make_person)
    left_out = membership.member(everyone[0].store).device
    listed = summing.make_list

    def fewer(where: Occasion, messages: Mapping[str, str]) -> ShareList:
        return listed(where, {device: found for device, found in messages.items() if device != left_out})

    monkeypatch.setattr(summing, "make_list", fewer)
    for person in everyone:
        person.sync()
    assert "added up round 1 of 4 members, unread" in everyone[1].sync().said
    with pytest.raises(Distrusted, match="round 1 lacks this device's note, which it had taken"):
        everyone[0].sync()
    assert (len(ledger.entries(everyone[0].store)), kept(sealed, answers)) == (1, 2)


def test_a_server_that_shows_no_list_gets_no_third_note_without_the_users_word(
    sealed: Group, make_person: Make
) -> None:
    """Two rounds are added up, and one of those who answered them was never shown their lists: its device says so and
    sends nothing more until its user agrees, once; the others are asked nothing."""
    everyone = friends(sealed.made, make_person)
    for _ in range(2):
        for person in (*everyone, *everyone[1:4]):
            assert not person.sync(agrees=False).refused
        after_deadline(sealed)
    away, other = everyone[:2]
    spent = ledger.entries(away.store)
    for at_once in (False, True):
        report = away.sync(agrees=False, at_once=at_once)
        assert (report.round, report.sent) == (3, False)
        assert "saw no list of the notes in the sums of rounds 1 and 2" in report.refused
    assert "`foltr-search sync` asks" in membership.load_standing(away.store).error
    assert ledger.entries(away.store) == spent
    assert other.sync(agrees=False).sent
    asked: list[str] = []
    sync = Sync(away.store, away.settings, lambda lines: not asked.extend(lines), by=hasty, sleep=no_pause)
    assert sync.run().sent
    assert asked[0].startswith("Rounds 1 and 2 are over, and this device saw no list of the notes in their sums: send")
    for person in (*everyone[2:], *everyone):
        assert not person.sync(agrees=False).refused
    assert told_to(away).round == 4
    assert away.sync(agrees=False).sent  # it added up the third round


def test_members_who_are_shown_two_rosters_can_see_it(sealed: Group, make_person: Make) -> None:
    """`federation status` shows all the same roster; where the server shows two halves another member leaving, each
    holds, and two members who compare see as many changes and another hash."""
    everyone = friends(sealed.made, make_person, 6)
    for person in everyone:
        person.sync()

    def shown(person: Person) -> str:
        return dict(rows_in_words(overview(person.store, person.settings.federation, now=1)))["roster"]

    assert len({shown(person) for person in everyone}) == 1
    for person, gone in ((everyone[0], everyone[4]), (everyone[1], everyone[5])):
        member = membership.member(gone.store)
        roster = group_roster.known(person.store, member.group_id)
        me = roster.of_device(member.device)
        assert me is not None
        signature = member.identity.sign(chain.LEAVE, chain.leave_text(member.group_id, me.number))
        entry = chain.leave_entry(roster, me.number, me.number, signature)
        assert chain.extend_roster(roster, [entry]).number == 7
        group_roster._keep(person.store, [entry], None)
    (one, changes), (other, as_many) = (shown(person).split(" after ") for person in everyone[:2])
    assert changes == as_many
    assert changes.startswith("7 changes of who is a member; where another member's has as many and differs")
    assert one != other


def test_nothing_is_spent_on_a_round_that_too_few_are_left_for(sealed: Group, make_person: Make) -> None:
    """Two of five whose membership ended are on the roster still: the others send nothing, and no round is lost, until
    both are taken off it and two have come; also a note of a device that would send is refused."""
    everyone = friends(sealed.made, make_person)
    members = [membership.member(person.store) for person in everyone]
    with writing(sealed.made.engine) as connection:
        for member in members[3:]:
            enrolment.end_membership(connection, member.device, now=int(time.time()))
    for person in everyone[:3]:
        assert "too few of the 5 on the roster are still members" in " ".join(person.sync().said)
        assert not ledger.entries(person.store)
    sent = NoiseCommitment(
        group_id=members[0].group_id, lineage=1, round=1, device=members[0].device, point=generator("a point", 0)
    )
    with everyone[0].reach.talk(members[0]) as server, pytest.raises(Declined, match="too few on the roster"):
        server.commit_noise(sent)
    for member in members[3:]:
        group_roster.vouch(everyone[0].store, everyone[0].reach, member.device, gone=True)
    others = [welcome(sealed.made, make_person, everyone[0], seed=seed) for seed in (5, 6)]
    a_round([*everyone[:3], *others])
    assert closed_rounds(sealed) == 1


def test_a_long_roster_takes_the_memory_of_its_entries(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six hundred who wait are read in two pages without a state of the group for each; of a longer roster nothing."""
    person, other = friends(sealed.made, make_person)[:2]
    with writing(sealed.made.engine) as connection:
        state = roster_book.state(connection)
        for seed in range(600):
            key = seed.to_bytes(32, "big")
            asked = chain.enrolment(state.group_id, str(seed), Identity(key), box_public(key))
            roster_book._write(connection, [entry := chain.join_entry(state, asked)])
            state = chain.extend_roster(state, [entry])
    member = membership.member(person.store)
    with Reach(person.settings.federation, by=hasty).talk(member) as server:
        tracemalloc.start()
        try:
            assert group_roster.follow(person.store, server) == state
            assert tracemalloc.get_traced_memory()[1] < 10e6
        finally:
            tracemalloc.stop()
    monkeypatch.setattr(group_roster, "LARGEST_ROSTER", 604)
    with pytest.raises(Distrusted, match="has 605 entries, at most 604"):
        other.sync()


def a_round(everyone: list[Person]) -> None:
    """All answer, and add up."""
    for _ in range(2):
        for person in everyone:
            person.sync()


def test_the_noise_does_not_fall_because_strangers_came(sealed: Group, make_person: Make) -> None:
    """Seven of whom a friend brought in five are as agreed, eight are asked about, once; who brought them in is not."""
    everyone = friends(sealed.made, make_person)
    friend = everyone[1]
    everyone += [welcome(sealed.made, make_person, everyone[0], seed=seed) for seed in (5, 6)]
    assert friend.sync(agrees=False).sent
    a_round(everyone)
    welcome(sealed.made, make_person, everyone[0], seed=7)
    spent = ledger.entries(friend.store)
    report = friend.sync(agrees=False)
    assert not report.sent
    assert "8 members, 6 of whom came since you agreed; one has brought in 7" in report.refused
    assert "`foltr-search sync` shows it and asks" in membership.load_standing(friend.store).error
    assert ledger.entries(friend.store) == spent
    assert "8 members" in overview(friend.store, friend.settings.federation, now=1)["sealed"]["growth"]
    assert everyone[0].sync(agrees=False).sent
    asked: list[str] = []
    sync = Sync(friend.store, friend.settings, lambda lines: not asked.extend(lines), by=hasty, sleep=no_pause)
    assert sync.run().sent
    held = quorums(8)
    assert f"at most {held.n_spared} of the 8 members" in " ".join(asked)
    assert f"{held.n_readers} of the 8 with the server read single notes" in " ".join(asked)
    assert "before it counts on more than 12 members" in " ".join(asked)
    assert overview(friend.store, friend.settings.federation, now=1)["sealed"]["growth"] == ""


def test_nobody_is_left_alone_with_strangers_unasked(sealed: Group, make_person: Make) -> None:
    """Who brought in the others takes them off one by one, and brings in as many: the fifth, who agreed to five, is
    asked once those who came are more than half of those it knows, for three could read its note with the server."""
    founder, *gone, person = friends(sealed.made, make_person)
    for seed, one in enumerate(gone[:2], 5):
        assert overview(person.store, person.settings.federation, now=1)["sealed"]["growth"] == ""
        group_roster.vouch(founder.store, founder.reach, membership.member(one.store).device, gone=True)
        welcome(sealed.made, make_person, founder, seed=seed)
        group_roster.of_now(person.store, person.reach)
    report = person.sync(agrees=False)
    assert (report.sent, ledger.entries(person.store)) == (False, ())
    assert "The group has 5 members, 2 of whom came since you agreed" in report.refused
    assert person.sync().sent


def test_who_agreed_to_many_is_asked_before_it_relies_on_few(sealed: Group, make_person: Make) -> None:
    """Three of eight are taken off: of the five who are left three could read a note, and of the eight it took five."""
    founder, *others, person = friends(sealed.made, make_person, 8)
    for one in others[:3]:
        assert overview(person.store, person.settings.federation, now=1)["sealed"]["growth"] == ""
        group_roster.vouch(founder.store, founder.reach, membership.member(one.store).device, gone=True)
        group_roster.of_now(person.store, person.reach)
    report = person.sync(agrees=False)
    assert (report.sent, ledger.entries(person.store)) == (False, ())
    assert "The group has 5 members (it had 8), 0 of whom came since you agreed" in report.refused
    assert person.sync().sent


def test_a_draft_is_not_finished_among_strangers(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that fails once the note is drafted, and lets strangers in before it is noised, gets it after a yes."""
    *others, person = friends(sealed.made, make_person)
    with monkeypatch.context() as patch:
        patch.setattr(Correspondence, "commit_noise", lambda *_: (_ for _ in ()).throw(Unreachable("gone")))
        with pytest.raises(Unreachable):
            person.sync()
    for seed in (5, 6, 7):
        welcome(sealed.made, make_person, others[0], seed=seed)
    report = person.sync(agrees=False)
    assert not report.sent
    assert "8 members, 3 of whom came since you agreed" in report.refused
    assert [upload.state for upload in ledger.all_uploads(person.store)] == ["drafted"]
    assert person.sync().sent
    assert len(ledger.entries(person.store)) == 1


def test_a_round_is_for_no_older_roster_than_was_shown_before(sealed: Group, make_person: Make) -> None:
    """A server that opens the second round of seven for the first five, of whom fewer read a note, is not answered."""
    everyone = friends(sealed.made, make_person)
    older = group_roster.known(everyone[4].store, membership.member(everyone[4].store).group_id)
    everyone += [welcome(sealed.made, make_person, everyone[0], seed=seed) for seed in (5, 6)]
    a_round(everyone)
    with writing(sealed.made.engine) as connection:
        opened = update(rounds).where(rounds.c.state == "open")
        connection.execute(opened.values(roster_number=older.number, roster_head=older.head))
    for person in everyone[:5]:
        spent = ledger.entries(person.store)
        assert "for an older roster (5 entries) than it had shown before (7)" in " ".join(person.sync().said)
        assert ledger.entries(person.store) == spent


def test_members_who_were_told_of_different_terms_add_up_nothing(
    tmp_path: Path, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that tells all but one of a clip a thousand times smaller, at the same epsilon, would have that one's
    note in a sum without the noise of others: whoever is to add it up says that it was made under other terms."""
    truth, victim = Service._announced, list[str]()

    def told(service: Service, connection: Connection, device: str) -> Announcement:
        announced = truth(service, connection, device)
        victim.append(device)
        if device == victim[0]:
            return announced
        announced.terms.settings["privacy"]["clip"] /= 1000
        return announced

    def believed(where: Occasion, sent: SharedUpdate) -> str:
        smaller = msgspec.structs.replace(where.privacy, clip=where.privacy.clip / 1000)
        return check_shared(
            where if sent.device == victim[0] else msgspec.structs.replace(where, privacy=smaller), sent
        )

    monkeypatch.setattr(Service, "_announced", told)
    monkeypatch.setattr("federation_server.running.service.false_claims", lambda *_: {})
    monkeypatch.setattr("federation_server.sealed.inbox.check_shared", believed)
    with serving_sealed(tmp_path / "server") as group:
        one, *others = friends(group.made, make_person)
        for person in (one, *others[:3]):
            assert person.sync().sent
        with pytest.raises(Distrusted, match=r"the message of \w+ was altered, or made under other terms"):
            others[3].sync()
        for person in (one, *others):
            with pytest.raises(Distrusted, match="round 1 is not added up here"):
                person.sync()
    assert kept(group, answers) == 0


def test_whoever_answered_another_list_than_the_published_one_stops(
    answered: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that publishes a round as another list's: list and ranker are kept as proof, nothing more is sent."""
    everyone = friends(answered.made, make_person)
    publish = the_group.publish
    monkeypatch.setattr(the_group, "publish", lambda *what, **more: publish(*what, **more | {"list_hash": "0" * 64}))
    for person in everyone:
        with suppress(Distrusted):
            person.sync()
    assert closed_rounds(answered) == 1
    for person in everyone:
        spent = ledger.entries(person.store)
        for _ in range(2):
            with pytest.raises(Distrusted, match="two lists for round 1"):
                person.sync()
        listed, ranker = round_answer.noted_lists(person.store, 1, 1)
        key = membership.member(person.store).server_key
        proof = open_document(key, listed, "list", ShareList), open_document(key, ranker, "model", ModelRecord)
        assert digest(proof[0]) != proof[1].list_hash
        assert len(ledger.entries(person.store)) == len(spent) == 1
        assert "two lists" in membership.load_standing(person.store).error


def test_a_round_number_grows_by_one(answered: Group, make_person: Make) -> None:
    """A server that goes on from a ranker of its own, thousands of rounds later, is not followed; nothing is sent."""
    everyone = friends(answered.made, make_person)
    person = everyone[0]
    for one in (*everyone, person):
        one.sync()
    spent = ledger.entries(person.store)
    with writing(answered.made.engine) as connection:
        newest = the_group.newest(connection)
        agreed = the_group.terms(connection)
        the_group.publish(connection, agreed, 1, replace(newest.model, round=15107), now=1)
        connection.execute(update(rounds).where(rounds.c.state == "open").values(state="abandoned"))
    answered.service.tick()
    assert told_to(person).round == 15108
    with pytest.raises(Distrusted, match="went from 2 to 15108"):
        person.sync()
    assert ledger.entries(person.store) == spent


def test_strangers_on_the_roster_are_not_believed(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that no member signed, and a chain that went back, end the sync before anything is prepared."""
    everyone = friends(sealed.made, make_person)
    person = everyone[2]
    roster = group_roster.known(person.store, membership.member(person.store).group_id)
    with person.reach.talk(membership.member(person.store)) as server:
        group_roster.follow(person.store, server)
    roster = group_roster.known(person.store, roster.group_id)
    stranger = chain.enrolment(roster.group_id, "made up", Identity.generate(), box_public(new_box_key()))
    forged = chain.join_entry(roster, stranger, voucher=0, signature=bytes(64))
    longer = RosterPage(
        group_id=roster.group_id, number=roster.number + 1, head=chain.entry_hash(forged), entries=(forged,)
    )
    shorter = RosterPage(group_id=roster.group_id, number=roster.number - 1, head="", entries=())
    for page, said in ((longer, "nobody vouched for it"), (shorter, "another than this device")):
        monkeypatch.setattr(Correspondence, "roster", lambda self, after, page=page: (None, page))
        with pytest.raises(Distrusted, match=said):
            person.sync()
    assert group_roster.known(person.store, roster.group_id) == roster
    assert ledger.entries(person.store) == ()


def test_joining_goes_on_where_it_was_broken_off(sealed: Group, make_person: Make) -> None:
    """Interrupted at the question, when the roster is known already: the same invite still works, and is believed."""
    everyone, newcomer = friends(sealed.made, make_person), make_person()
    link = group_roster.invite(everyone[1].store, everyone[1].reach).invite

    def interrupted(_: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        newcomer.joining().join(link, agrees=interrupted)
    welcome(sealed.made, make_person, everyone[0], seed=6)
    newcomer.joining().join(link, agrees=lambda lines: True)
    assert newcomer.sync().sent


def test_an_entry_that_was_not_verified_is_not_kept(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the server puts before the first, where nothing continues the chain: the roster stays readable."""
    person = friends(sealed.made, make_person)[2]
    truth, group_id = Correspondence.roster, membership.member(person.store).group_id
    asked = chain.enrolment(group_id, "made up", Identity.generate(), box_public(new_box_key()))
    before = msgspec.structs.replace(chain.join_entry(chain.empty_roster(group_id), asked), number=-1, about=-1)

    def told(server: Correspondence, after: int) -> tuple[Signed, RosterPage]:
        signed, page = truth(server, after)
        return signed, msgspec.structs.replace(page, entries=(before, *page.entries))

    monkeypatch.setattr(Correspondence, "roster", told)
    assert person.sync().sent
    assert sorted(group_roster.known(person.store, group_id).members) == [0, 1, 2, 3, 4]


def test_a_newcomer_is_shown_the_group_of_its_inviter(sealed: Group, make_person: Make) -> None:
    """With an invite whose word is of another chain nobody joins, and nothing of the membership stays."""
    everyone, newcomer = friends(sealed.made, make_person), make_person()
    invite = group_roster.invite(everyone[1].store, everyone[1].reach).invite
    assert invite.voucher is not None
    other = msgspec.structs.replace(invite.voucher, roster_head="0" * 64)
    with pytest.raises(Distrusted, match="another group than the member who invited is in"):
        newcomer.joining().join(msgspec.structs.replace(invite, voucher=other), agrees=lambda lines: True)
    assert membership.load(newcomer.store) is None
    assert group_roster.entries(newcomer.store) == ()


KILLED = """
import os, signal
from pathlib import Path
from tests.app.federation.groups import hasty
from app.federation import round_answer
from app.federation import ledger
from app.federation.server import Correspondence, Reach
from app.settings import Settings
from app.store import Store
from app.federation.sync import Sync

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

def after(work):
    def both(*arguments, **named):
        work(*arguments, **named)
        die()
    return both

{point}
Sync(Store(Path({state!r})), Settings(), lambda lines: True, by=hasty, sleep=lambda seconds: None).run()
"""
SHARING = {
    "before the share is durable": "ledger.write_upload = die",
    "between disk and sending": "Correspondence.send = die",
    "between sending and noting that it was sent": "Correspondence.send = after(Correspondence.send)",
}
ADDING = {
    "before the list is noted": "round_answer._note = die",
    "between the note and the answer": "Correspondence.send = die",
    "after the answer": "Correspondence.send = after(Correspondence.send)",
}


def kill(person: Person, point: str) -> None:
    """A sync of this device in a process of its own that dies at the point."""
    code = few_coins.IN_A_PROCESS + KILLED.format(point=point, state=str(person.store.path))
    done = copied.run([], variables=os.environ, cwd=person.store.path.parent, code=code)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("point", SHARING)
def test_killed_while_sharing_nothing_is_sent_twice(sealed: Group, make_person: Make, point: str) -> None:
    """Wherever the device dies of its share, the next sync sends the same bytes, once, and the ledger has one entry."""
    everyone = friends(sealed.made, make_person)
    for person in everyone[1:]:
        person.sync()
    kill(everyone[0], SHARING[point])
    before = ledger.find_upload(everyone[0].store, 1, 1)
    everyone[0].sync()
    assert len(ledger.entries(everyone[0].store)) == 1
    assert before is None or before.state == "waiting"
    for person in everyone:
        person.sync()
    sealed.service.tick()
    assert closed_rounds(sealed) == 1
    with reading(sealed.made.engine) as connection:
        n_updates = connection.execute(select(rounds.c.n_updates).where(rounds.c.state == "closed")).scalar_one()
    assert n_updates == 5


@pytest.mark.parametrize("point", ADDING)
def test_killed_while_adding_up_the_round_is_added_up_once(answered: Group, make_person: Make, point: str) -> None:
    """Wherever a member of the committee dies of its answer, one list is noted and the round is closed by one sum."""
    everyone = friends(answered.made, make_person)
    kill(everyone[0], ADDING[point])
    for person in everyone[:4]:
        person.sync()
    answered.service.tick()
    assert closed_rounds(answered) == 1
    assert len(round_answer.noted_lists(everyone[0].store, 1, 1)) == 1
    rounds_paid = [(entry.lineage, entry.round) for entry in ledger.entries(everyone[0].store)]
    assert rounds_paid == [(1, 1)]


def test_a_server_of_another_version_of_sealed_sums_is_said_in_one_line(
    sealed: Group, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent, and nothing spent."""
    person, *_ = friends(sealed.made, make_person)
    announced = Service._announced
    older = lambda *given: msgspec.structs.replace(announced(*given), sums=2)  # noqa: E731
    monkeypatch.setattr(Service, "_announced", older)
    with pytest.raises(
        FederationError, match="by version 2 of sealed sums, this program by version 4: update the older"
    ):
        person.sync()
    assert ledger.entries(person.store) == ()
