"""Sealed rounds over the wire: the server adds up exactly, once, what it cannot read."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy import Row, func, select, update

from federation_server import backup
from federation_server.cli import main
from federation_server.database import connect, is_scrub_due, reading, upgrade, writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.group import enrolment, group, roster_book
from federation_server.rounds import history
from federation_server.rounds.rounds import Closed, present
from federation_server.sealed import inbox
from federation_server.serve import open_installation
from federation_server.settings import ForgettingSection, RetentionSection
from federation_server.tables import answers, journal, lists, named, noises, rounds, shares
from foltr.federated.envelope import Identity
from foltr.federated.sealed.note_proof import drawn_noise, false_claims
from foltr.federated.sealed.roster import LEAVE, leave_text
from foltr.federated.sealed.sums import ANSWER, Draft, Occasion, answer_text, prove_update
from foltr.federated.wire import (
    Accepted,
    Announcement,
    CommitteeAnswer,
    Complaint,
    Farewell,
    Invite,
    JournalEntry,
    ModelRecord,
    NoiseCommitment,
    Receipt,
    RosterPage,
    RosterReturn,
    SharedUpdate,
    ShareList,
    Signed,
    SumTask,
    Vouching,
    decode,
    digest,
    encode,
)
from tests import few_coins
from tests.copied import run as run_copied
from tests.federation_server.client import Client, Running, document, invite, opened, reason, run, running
from tests.federation_server.sealed_members import (
    STEPS,
    Begun,
    all_answer,
    all_share,
    begin,
    copied,
    draft_of,
    invited,
    make_sealed,
    members,
    message,
    moved,
    occasion_of,
    offer,
    roster_of,
    send_answer,
    share,
    the_answer,
    the_complaint,
    vouch,
)
from tests.foltr.federated.sealed.sealed_groups import shared

pytestmark = pytest.mark.usefixtures("few_coins")


@pytest.fixture
def served(tmp_path: Path, database_url: str) -> Iterator[Running]:
    """A sealed group on each database."""
    with running(make_sealed(tmp_path / "server", database=database_url)) as server:
        yield server


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Running]:
    with running(make_sealed(tmp_path / "server")) as server:
        yield server


@pytest.fixture(scope="module")
def in_sum(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Begun]:
    """A group of five, all of whose notes are listed."""
    return cache(lambda: begin(tmp_path_factory.mktemp("begun")))


@pytest.fixture(scope="module")
def six_in_sum(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Begun]:
    """The same of six."""
    return cache(lambda: begin(tmp_path_factory.mktemp("begun"), n=6, n_notes=6))


@pytest.fixture
def six(six_in_sum: Callable[[], Begun], tmp_path: Path) -> Begun:
    """A copy of it, not served yet."""
    return copied(six_in_sum(), tmp_path / "server")


@pytest.fixture
def summing(in_sum: Callable[[], Begun], tmp_path: Path) -> Iterator[tuple[Running, Begun]]:
    """A copy of it, served."""
    begun = copied(in_sum(), tmp_path / "summing")
    with running(begun.made) as server:
        yield server, begun


def after_deadline(server: Running) -> None:
    """The open round's deadline is this very second, and the server looks at it."""
    with writing(server.made.engine) as connection:
        connection.execute(update(rounds).where(rounds.c.state == "open").values(deadline=int(time.time())))
    server.server.service.tick()


def test_the_operator_is_told_what_a_fixed_list_waits_for(
    summing: tuple[Running, Begun], capsys: pytest.CaptureFixture[str]
) -> None:
    """How many notes it has, who of the committee answered, and from when on fewer are enough."""
    server, begun = summing
    assert send_answer(begun.people[0], begun.listed).ok
    assert main(["--folder", str(server.made.folder), "rounds"]) == 0
    assert "a list of 5 updates is fixed; 1 of 5 in the committee answered, from 20" in capsys.readouterr().out


def test_a_round_of_too_few_members_waits_on(served: Running) -> None:
    """At its deadline it gets another one: four are too few to hide one another, and a fifth may come."""
    ada, *_ = members(served.made, 4)
    told = ada.announcement()
    after_deadline(served)
    again = ada.announcement()
    assert (again.phase, again.round) == ("collect", told.round)
    assert again.deadline >= told.deadline > 1


def test_a_round_is_not_over_later_than_it_could_be(summing: tuple[Running, Begun]) -> None:
    """Four of five have added up when the clock is a year ahead: the round counts as closed at its deadline, and the
    year's rest begins there."""
    server, begun = summing
    all_answer(begun.people[:4], begun.listed)
    server.service.clock = lambda: int(time.time()) + 365 * 86_400
    server.service.tick()
    with reading(begun.made.engine) as connection:
        closed = connection.execute(select(rounds.c.closed).where(rounds.c.state == "closed")).scalar_one()
    assert closed == begun.listed.deadline


def kept(server: Running, table: object) -> int:
    with reading(server.made.engine) as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def test_a_round_from_shares_to_the_sum(served: Running) -> None:
    """Five members, one of them away: the list is fixed at the deadline, the same for all, all five add up, the ranker
    moves by exactly the mean of the four, the journal has the list, nothing of single members is left, and the next
    round goes on by the grown roster."""
    people = members(served.made, 5)
    told, first = people[0].announcement(), people[0].theta()
    assert (told.phase, told.roster_number, told.received) == ("collect", 5, False)
    for place, one in enumerate(people[:4]):
        answer = share(one, told, STEPS[place])
        assert decode(answer.content, Accepted).received == place + 1
    assert people[0].announcement().received
    late = invited(people[2], told.terms.group_id)
    assert share(late, told, STEPS[4]).status_code == 403
    after_deadline(served)
    told = people[0].announcement()
    assert told.phase == "sum"
    assert reason(share(people[4], told, STEPS[4])) == "wrong-phase"
    (given,) = {encode(decode(one.send("GET", "/v1/list").content, SumTask).signed_list) for one in people}
    assert digest(decode(decode(given, Signed).body, ShareList)) == told.list_hash
    entries = kept(served, journal)
    all_answer(people, told)
    after = people[1].announcement()
    assert (after.round, after.phase, after.roster_number) == (2, "collect", 6)
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:4]))
    assert [kept(served, table) for table in (shares, lists, answers)] == [0, 0, 0]
    assert kept(served, journal) == entries + 1
    assert [one.announcement().answered for one in people] == [1, 1, 1, 1, 0]


def test_when_everybody_has_answered_nobody_waits(sqlite: Running) -> None:
    """The last message fixes the list, the last answer closes the round; sent again both are acknowledged or stale."""
    people = members(sqlite.made, 5)
    told = people[0].announcement()
    all_share(people, told)
    assert people[0].announcement().phase == "sum"
    assert share(people[0], told, STEPS[0]).ok
    assert reason(share(people[0], told, STEPS[1])) == "already-reported"
    told = people[0].announcement()
    found = [the_answer(one, told) for one in people]
    for one, said in zip(people[:4], found[:4], strict=True):
        assert one.send("POST", "/v1/answers", encode(said)).ok
    assert people[0].send("POST", "/v1/answers", encode(found[0])).ok
    assert kept(sqlite, answers) == 4
    assert people[0].announcement().round == 1
    assert people[4].send("POST", "/v1/answers", encode(found[4])).ok
    assert people[0].announcement().round == 2
    assert reason(people[4].send("POST", "/v1/answers", encode(found[4]))) == "stale-round"


def test_the_threshold_suffices_at_the_deadline(summing: tuple[Running, Begun]) -> None:
    """Four of five answer, and the committee's time is over: the sum is there all the same; with three it goes on."""
    sqlite, begun = summing
    people, told, first = begun.people, begun.listed, begun.first
    all_answer(people[:3], told)
    after_deadline(sqlite)
    assert people[0].announcement().phase == "sum"
    assert send_answer(people[3], told).ok
    assert people[0].announcement().round == 1
    after_deadline(sqlite)
    assert people[0].announcement().round == 2
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:5]))


def test_a_committee_that_stays_silent_makes_the_round_void(summing: tuple[Running, Begun]) -> None:
    """After seven times its time the ranker stays as it was, the round is over, and nothing was added up."""
    sqlite, begun = summing
    people, first = begun.people, begun.first
    with writing(sqlite.made.engine) as connection:
        connection.execute(update(lists).values(fixed=1 - 7 * 86_400))
    after_deadline(sqlite)
    assert people[0].announcement().round == 2
    np.testing.assert_array_equal(people[0].theta(), first)
    row = first_round(sqlite)
    assert (row.state, row.rule, row.n_updates) == ("closed", "void", 5)
    assert "0 of the committee's 5 answered; 4 are needed" in row.guard


def first_round(server: Running) -> Row[Any]:
    with reading(server.made.engine) as connection:
        return connection.execute(select(rounds).where(rounds.c.round == 1)).one()


def falsified(client: Client, occasion: Occasion, said: CommitteeAnswer) -> CommitteeAnswer:
    """The same answer with another sum, signed by the same member."""
    false = msgspec.structs.replace(said, sums=bytes([said.sums[0] ^ 1]) + said.sums[1:])
    return msgspec.structs.replace(false, signature=client.identity.sign(ANSWER, answer_text(occasion, false)))


def report(server: Running) -> str:
    found = first_round(server)
    return f"{found.rule}: {found.guard}"


def test_who_answers_falsely_is_named_and_not_waited_for(summing: tuple[Running, Begun]) -> None:
    """One of five signs a false sum and sends nothing else: it is refused and named, and the four others give the sum
    at once, without the deadline. An answer that nobody signed names nobody."""
    sqlite, begun = summing
    people, told, first = begun.people, begun.listed, begun.first
    occasion = occasion_of(people[0], told)
    unsigned = msgspec.structs.replace(the_answer(people[4], told), sums=bytes(3 * 32))
    assert reason(people[4].send("POST", "/v1/answers", encode(unsigned))) == "wrong-shares"
    lie = falsified(people[3], occasion, the_answer(people[3], told))
    for _ in range(2):
        assert reason(people[3].send("POST", "/v1/answers", encode(lie))) == "false-answer"
    for one in (people[0], people[1], people[2], people[4]):
        assert send_answer(one, told).ok
    assert people[0].announcement().round == 2
    assert report(sqlite).endswith(f"1 answered falsely: {people[3].device}")
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:5]))


def test_a_message_that_does_not_hold_together_is_left_out(served: Running) -> None:
    """One of six sends a bad share to one. Two have answered when that member complains: they answer once more, the
    liar is named, the five others' mean moves the ranker, and no round is lost. The log counts the liars and names
    none; forget-me takes the name out of the round's report, also of one whose note never counted."""
    people, closed = members(served.made, 6), list[Closed]()
    served.service.on_closed = closed.append
    told, first = people[0].announcement(), people[0].theta()
    all_share(people[:5], told)
    occasion = occasion_of(people[0], told)
    point = occasion.cohort.point(people[2].device)
    assert point is not None
    assert people[5].send("POST", "/v1/shares", encode(message(people[5], told, STEPS[5], point))).ok
    told = people[0].announcement()
    all_answer(people[:2], told)
    complaint = encode(the_complaint(people[2], told, people[5].device))
    for _ in range(2):
        assert people[2].send("POST", "/v1/complaints", complaint).ok
        assert kept(served, answers) == 0
    all_answer(people, told)
    assert people[0].announcement().round == 2
    words = "not judged: the server learns sums alone; 1 sent what does not hold together, which was left out"
    assert [(event.summary, event.agreement) for event in closed] == [(words, None)]
    assert report(served) == f"sum: {words}: {people[5].device}"
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:5]))
    assert kept(served, named) == 0
    assert leave(people[5], forget=True).ok  # type: ignore[attr-defined]
    assert report(served) == f"sum: {words}: (forgotten)"


def test_who_complains_without_reason_is_named(summing: tuple[Running, Begun]) -> None:
    """The message stays in the sum; a complaint about nobody is refused and names nobody."""
    sqlite, begun = summing
    people, told, first = begun.people, begun.listed, begun.first
    lie = the_complaint(people[1], told, people[0].device)
    assert reason(people[1].send("POST", "/v1/complaints", encode(lie))) == "wrong-complaint"
    for changes in ({"about": "f" * 32}, {"signature": b"?" * 64}, {"message": "0" * 64}):
        about_nothing = encode(msgspec.structs.replace(the_complaint(people[2], told, people[0].device), **changes))
        assert reason(people[2].send("POST", "/v1/complaints", about_nothing)) == "wrong-complaint"
    all_answer(people, told)
    assert report(sqlite).endswith(f"1 complained without reason: {people[1].device}")
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:5]))


def test_too_few_true_messages_are_no_sum(sqlite: Running) -> None:
    """Two of five send what does not hold together: three hide one another too little, the round is void, both are
    named."""
    people = members(sqlite.made, 5)
    told, first = people[0].announcement(), people[0].theta()
    occasion = occasion_of(people[0], told)
    for place, one in enumerate(people):
        sent = message(one, told, STEPS[place], 1 if place > 2 else 0)
        assert one.send("POST", "/v1/shares", encode(sent)).ok
    told = people[0].announcement()
    hand = next(one for one in people if occasion.cohort.point(one.device) == 1)
    for liar in people[3:]:
        assert hand.send("POST", "/v1/complaints", encode(the_complaint(hand, told, liar.device))).ok
    assert people[0].announcement().round == 2
    np.testing.assert_array_equal(people[0].theta(), first)
    assert "3 messages hold together, too few to hide one another" in report(sqlite)
    assert all(liar.device in report(sqlite) for liar in people[3:])


@pytest.mark.parametrize("days", [8, -400])
def test_a_clock_that_was_wrong_loses_no_round(sqlite: Running, days: int) -> None:
    """A server that was off for a week, or whose clock was wrong for a while, in either phase: nothing is void, the
    deadline is the usual one once the clock is right, though four of five have answered, and all notes are added up.
    Nor is anybody's membership over by that clock."""
    server = sqlite.service
    server.settings = msgspec.structs.replace(server.settings, retention=RetentionSection(member_days=5))
    people = members(sqlite.made, 5)
    server.clean()
    told, first, right = people[0].announcement(), people[0].theta(), sqlite.service.clock

    def jump() -> Announcement:
        for clock in (lambda: right() + days * 86_400, right):
            sqlite.service.clock = clock
            for _ in range(2):
                sqlite.service.tick()
        return people[0].announcement()

    all_share(people[:4], told)
    after = jump()
    assert (after.round, after.phase) == (1, "collect")
    assert 167 * 3600 <= after.deadline - right() <= 168 * 3600
    assert share(people[4], told, STEPS[4]).ok
    after = jump()
    assert (after.round, after.phase) == (1, "sum")
    assert after.deadline - right() <= 24 * 3600
    for one in people:
        assert send_answer(one, after).ok
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people))


def test_too_few_wait_and_a_shrunken_cohort_is_void(sqlite: Running) -> None:
    """Three of five at the deadline: the round goes on. When two have left, four can never answer: it is void, and
    the next round waits for a fifth member."""
    people = members(sqlite.made, 5)
    told, first = people[0].announcement(), people[0].theta()
    all_share(people[:3], told)
    after_deadline(sqlite)
    assert (people[0].announcement().phase, people[0].announcement().round) == ("collect", 1)
    for one in people[3:]:
        assert leave(one).ok
    after_deadline(sqlite)
    assert people[0].announcement().round == 2
    np.testing.assert_array_equal(people[0].theta(), first)
    told = people[0].announcement()
    assert len(roster_of(people[0]).vouched) == 3
    with pytest.raises(Exception, match="and has 3"):
        occasion_of(people[0], told)
    joined = [invited(people[0], told.terms.group_id) for _ in range(2)]
    told = people[0].announcement()
    assert (told.round, told.roster_number) == (2, 9)
    assert share(joined[1], told, STEPS[0]).ok


def test_a_round_that_too_few_can_add_up_ends_at_once(sqlite: Running) -> None:
    """Seven members, two of whom leave before the list: the five could never open a sum that takes six, so the second
    is asked for another word, and with it the round is void and the next one is theirs. Nobody is kept by a note of
    its own, nor in a round that nobody has answered."""
    people = members(sqlite.made, 9)
    told = people[0].announcement()
    for one in people[7:]:
        assert leave(one, at_once=False).ok  # type: ignore[attr-defined]
    told = people[0].announcement()
    assert share(people[0], told, STEPS[0]).ok
    assert leave(people[6], at_once=False).ok  # type: ignore[attr-defined]
    for _ in range(2):
        assert reason(leave(people[5], at_once=False)) == "needed"  # type: ignore[arg-type]
    assert people[5].announcement().round == 1
    assert leave(people[5]).ok  # type: ignore[attr-defined]
    sqlite.server.service.tick()
    assert (people[0].announcement().round, len(roster_of(people[0]).vouched)) == (2, 5)
    row = first_round(sqlite)
    assert row.rule == "void"
    assert "5 of the 7 who add up are left; 6 are needed" in row.guard


def test_who_has_answered_and_leaves_can_be_spared_once_more(sqlite: Running) -> None:
    """Of five two have added up when a third finds a false message, and everybody must add up again: one of the two
    may have left by then, the other is asked for another word, and the four who stay give the sum of the true notes."""
    people = members(sqlite.made, 5)
    told, first = people[0].announcement(), people[0].theta()
    point = occasion_of(people[0], told).cohort.point(people[2].device)
    assert point is not None
    for place, one in enumerate(people[:4]):
        assert share(one, told, STEPS[place]).ok
    assert people[4].send("POST", "/v1/shares", encode(message(people[4], told, STEPS[4], point))).ok
    told = people[0].announcement()
    all_answer(people[:2], told)
    expected = moved(told, first, people[:4])
    assert leave(people[0], at_once=False).ok  # type: ignore[attr-defined]
    assert reason(leave(people[1], at_once=False)) == "needed"  # type: ignore[arg-type]
    complaint = the_complaint(people[2], told, people[4].device)
    assert people[2].send("POST", "/v1/complaints", encode(complaint)).ok
    all_answer(people[1:5], told)
    assert people[1].announcement().round == 2
    np.testing.assert_array_equal(people[1].theta(), expected)


def leave(client: Client, *, forget: bool = False, at_once: bool = True) -> object:
    state = roster_of(client)
    member = state.of_device(client.device)
    assert member is not None
    signature = client.identity.sign(LEAVE, leave_text(state.group_id, member.number))
    asked = Farewell(group_id=state.group_id, forget=forget, roster_signature=signature, at_once=at_once)
    return client.send("POST", "/v1/farewell", encode(asked))


def test_who_is_forgotten_while_its_note_is_added_up_costs_nobody_a_round(served: Running) -> None:
    """Forgotten in phase sum: the membership ends at once, the round goes on with its note, and with its end rows and
    keys are gone. The receipt says so before and after, the journal has the receipt behind the round, and the next list
    holds the others alone."""
    people = members(served.made, 6)
    told, first = people[0].announcement(), people[0].theta()
    told = all_share(people, told)
    expected = moved(told, first, people)
    assert send_answer(people[5], told).ok
    receipt = document(served.made, leave(people[5], forget=True), "receipt", Receipt)  # type: ignore[arg-type]
    assert isinstance(receipt, Receipt)
    assert (receipt.state, receipt.erased, receipt.method, receipt.position) == ("waiting", {}, "noise", 0)
    assert "follows the round that is being added up" in receipt.progress
    assert reason(people[5].send("GET", "/v1/round")) == "revoked"
    served.service.tick()
    assert (people[0].announcement().round, people[0].announcement().phase) == (1, "sum")
    all_answer(people[:5], told)
    assert people[0].announcement().round == 2
    np.testing.assert_array_equal(people[0].theta(), expected)
    served.service.tick()
    asked = people[0].send("GET", f"/v1/receipts/{receipt.request}")
    done = document(served.made, asked, "receipt", Receipt)
    assert isinstance(done, Receipt)
    assert (done.state, done.erased, done.method) == ("done", {"updates": 0, "members": 1}, "noise")
    with reading(served.made.engine) as connection:
        kinds = [
            decode(bytes(body), JournalEntry).kind for body in connection.execute(select(journal.c.body)).scalars()
        ]
    assert kinds == ["lineage", "list", "receipt"]
    assert done.position == 3
    if served.made.engine.dialect.name == "sqlite":
        files = b"".join(path.read_bytes() for path in served.made.folder.glob("group.sqlite*"))
        assert people[5].identity.public not in files
        assert people[5].device.encode() not in files
    told = people[0].announcement()
    all_share(people[:5], told)
    task = decode(people[0].send("GET", "/v1/list").content, SumTask)
    assert sorted(decode(task.signed_list.body, ShareList).messages) == sorted(one.device for one in people[:5])


@pytest.mark.parametrize("before", [True, False])
def test_who_waits_to_be_forgotten_is_not_brought_back(six: Begun, tmp_path: Path, *, before: bool) -> None:
    """A server that starts again goes on waiting, once; a backup from before or after the request comes back without
    the member, and with its receipt."""
    made, people, path = six.made, six.people, tmp_path / "group.backup"
    with running(made) as server:
        if before:
            backup.write(made.engine, path, now=1)
        receipt = document(made, leave(people[5], forget=True), "receipt", Receipt)  # type: ignore[arg-type]
        assert isinstance(receipt, Receipt)
        again = open_installation(made.folder / "server.toml")
        with reading(again.engine) as connection:
            assert forgetting.receipt(connection, receipt.request) == receipt
        again.engine.dispose()
        assert people[0].announcement().phase == "sum"
        assert kept(server, shares) == 6
    if not before:
        backup.write(made.engine, path, now=1)
    restored = connect(f"sqlite:///{tmp_path}/restored.sqlite")
    upgrade(restored)
    backup.fill(restored, path, afterwards=lambda connection: backup.begin_anew(connection, made.forgetter, now=2))  # type: ignore[arg-type, return-value]
    with reading(restored) as connection:
        devices = {one.device for one in enrolment.all_members(connection)}
        found = forgetting.receipt(connection, receipt.request)
        assert forgetting.are_owed(connection) == []
    restored.dispose()
    assert devices == {one.device for one in people[:5]}
    assert found.state == "done"


def test_a_restored_group_goes_on_above_all_that_was_when_one_waits_to_be_forgotten(six: Begun, tmp_path: Path) -> None:
    """By going back, and into a new folder: the one round that is open then follows the newest ranker."""
    made, people, path = six.made, six.people, tmp_path / "group.backup"
    with running(made):
        all_answer(people, six.listed)
        all_share(people, people[0].announcement())
    settings = ForgettingSection(method="rollback")
    file = tombstones.TombstoneFile(tmp_path / tombstones.FILE)
    with writing(made.engine) as connection:
        asked = msgspec.structs.replace(made.forgetter, settings=settings)
        assert forgetting.forget(connection, asked, people[5].device, now=1).state == "waiting"
    backup.write(made.engine, path, now=1)
    restored = connect(f"sqlite:///{tmp_path}/restored.sqlite")
    upgrade(restored)
    anew = msgspec.structs.replace(asked, file=file)
    backup.fill(restored, path, afterwards=lambda connection: backup.begin_anew(connection, anew, now=2))  # type: ignore[arg-type, return-value]
    with reading(restored) as connection:
        newest, here = group.newest(connection).record, present(connection)
    restored.dispose()
    assert here is None or (here.lineage, here.model_hash) == (newest.lineage, digest(newest))


def test_who_is_forgotten_twice_in_one_round_is_erased_once(six: Begun) -> None:
    """Removed, and then forgotten by the operator, twice, while its note is added up: one request, by the method that
    takes out more, and one entry in the journal; a server that starts again has nothing left to do."""
    made, people = six.made, six.people
    with running(made) as server:
        with writing(made.engine) as connection:
            first = forgetting.remove(connection, made.forgetter, people[5].device, now=1)
            asked = [forgetting.forget(connection, made.forgetter, people[5].device, now=now) for now in (2, 3)]
            again = forgetting.remove(connection, made.forgetter, people[5].device, now=4)
        assert first.method == "none"
        assert [(one.request, one.method) for one in (*asked, again)] == [(first.request, "noise")] * 3
        all_answer(people[:5], six.listed)
        server.service.tick()
        server.service.tick()
        with reading(made.engine) as connection:
            assert [one["method"] for one in history.requests(connection)] == ["noise"]
    for _ in range(2):
        again_opened = open_installation(made.folder / "server.toml")
        with reading(again_opened.engine) as connection:
            bodies = connection.execute(select(journal.c.body)).scalars()
            assert [decode(bytes(body), JournalEntry).kind for body in bodies].count("receipt") == 1
            assert tombstones.missing(connection, made.forgetter.file.read()) == ()
        again_opened.engine.dispose()


KILLED = """
import os, signal, sys
from pathlib import Path
from federation_server.database import writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.group import group
from federation_server.running.monitoring import Counters
from federation_server.serve import open_installation, service_of

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

made = open_installation(Path(sys.argv[1]))
{point} = die
with writing(made.engine) as connection:
    forgetting.forget(connection, made.forgetter, sys.argv[2], now=1)
for _ in range(2):  # the round ends, then its member
    service_of(made, Counters()).tick()
"""


@pytest.mark.parametrize("point", ["group.set_fact", "forgetting._write_request"])
def test_killed_while_it_waits_to_be_forgotten(six: Begun, point: str) -> None:
    """kill -9 behind the tombstone, or in the midst of erasing once the round is over: whoever opens the server next
    waits, or erases, as if nothing had been; the round has all notes, and there is one receipt."""
    made, people = six.made, six.people
    with running(made):
        expected = moved(six.told, six.first, people)
        all_answer(people[:5], six.listed)
    made.engine.dispose()
    code = few_coins.IN_A_PROCESS + KILLED.format(point=point)
    given = [str(made.folder / "server.toml"), people[5].device]
    done = run_copied(given, variables=os.environ, cwd=made.folder, code=code)
    assert done.returncode == -signal.SIGKILL, done.stderr
    again = open_installation(made.folder / "server.toml")
    with running(again) as server:
        server.service.tick()
        assert people[0].announcement().round == 2
        server.service.tick()
        np.testing.assert_array_equal(people[0].theta(), expected)
        with reading(again.engine) as connection:
            assert enrolment.member(connection, people[5].device) is None
            assert len(history.requests(connection)) == 1
            assert forgetting.are_owed(connection) == []


def whole_entries(server: Running) -> int:
    with reading(server.made.engine) as connection:
        return sum(entry.body is not None for entry in roster_book.entries(connection) if entry.kind == "join")


def test_keys_that_a_round_rests_on_go_with_it(sqlite: Running) -> None:
    """Forgotten after two had answered: the messages are bound to its keys, which leave tables and files when the round
    is over."""
    people = members(sqlite.made, 6)
    told = people[0].announcement()
    all_share(people[:2], told)
    assert leave(people[5], forget=True).ok  # type: ignore[attr-defined]
    assert (whole_entries(sqlite), is_scrub_due(sqlite.made.engine)) == (6, False)
    for place, one in enumerate(people[2:5], start=2):
        assert share(one, told, STEPS[place]).ok
    for one in people[:5]:
        assert send_answer(one, one.announcement()).ok
    assert people[0].announcement().round == 2
    assert (whole_entries(sqlite), is_scrub_due(sqlite.made.engine)) == (5, True)
    sqlite.service.clean()
    assert not is_scrub_due(sqlite.made.engine)


def test_a_published_ranker_names_the_one_before_and_the_list_of_its_round(sqlite: Running) -> None:
    """After a sum, and after a round that came to nothing with its list fixed: the rankers are a chain."""
    people = members(sqlite.made, 5)
    for number, answers_come in ((1, True), (2, False)):
        told = people[0].announcement()
        told = all_share(people, told)
        for one in people if answers_come else ():
            assert send_answer(one, told).ok
        with writing(sqlite.made.engine) as connection:
            connection.execute(update(lists).values(fixed=1 - 7 * 86_400))
        after_deadline(sqlite)
        found = document(sqlite.made, people[0].send("GET", "/v1/models/newest"), "model", ModelRecord)
        assert isinstance(found, ModelRecord)
        assert (found.round, found.previous, found.list_hash) == (number, told.model_hash, told.list_hash)
        assert found.list_hash


def test_refusals_of_a_sealed_group(sqlite: Running) -> None:
    """Strangers, those who wait, wrong rounds, phases, lists and signatures are refused, each by its code."""
    people = members(sqlite.made, 5)
    told = people[0].announcement()
    group_id = told.terms.group_id
    waiting = Client(people[0].address)
    assert opened(waiting.join(invite(sqlite.made))).kind == "enrolled"
    assert not roster_of(waiting).members[5].vouched
    assert reason(offer(waiting, "token", group_id)) == "not-in-roster"
    assert reason(vouch(waiting, waiting)) == "bad-vouching"
    assert reason(people[0].send("GET", "/v1/list")) == "wrong-phase"
    named = {"group_id": group_id, "lineage": 1, "round": 1, "device": people[0].device, "message": ""}
    early = Complaint(**named, about=people[1].device, shown=b"", signature=b"")
    assert reason(people[0].send("POST", "/v1/complaints", encode(early))) == "wrong-phase"
    assert reason(people[0].send("GET", "/v1/roster?after=x")) == "malformed"
    told = people[0].announcement()
    good = message(people[0], told, STEPS[0])
    for changes, wanted in (
        ({"round": 2}, "stale-round"),
        ({"lineage": 2}, "wrong-lineage"),
        ({"group_id": "other"}, "wrong-group"),
        ({"device": people[1].device}, "wrong-device"),
        ({"model_hash": "other"}, "wrong-shares"),
        ({"roster_head": "other"}, "wrong-phase"),
        ({"boxes": good.boxes[:-4] + b"!!!!"}, "wrong-shares"),
    ):
        bad = msgspec.structs.replace(good, **changes)
        assert reason(people[0].send("POST", "/v1/shares", encode(bad))) == wanted
    assert reason(waiting.send("POST", "/v1/shares", encode(good))) == "wrong-device"
    own = msgspec.structs.replace(good, device=waiting.device)
    assert reason(waiting.send("POST", "/v1/shares", encode(own))) == "not-in-roster"
    assert reason(people[0].update(0.5, told)) == "wrong-mode"
    told = all_share(people, told)
    assert reason(waiting.send("GET", "/v1/list")) == "not-in-roster"
    said = the_answer(people[0], told)
    other = msgspec.structs.replace(said, list_hash="0" * 64)
    assert reason(people[0].send("POST", "/v1/answers", encode(other))) == "wrong-list"
    unsigned = msgspec.structs.replace(said, signature=b"x" * 64)
    assert reason(people[0].send("POST", "/v1/answers", encode(unsigned))) == "wrong-shares"


def test_entries_before_the_first_are_none(served: Running) -> None:
    """Handed back under a number below any that a database holds, they change nothing, and the whole roster comes."""
    client, *_ = members(served.made, 2)
    seen = opened(client.send("GET", "/v1/roster"))
    page = decode(seen.body, RosterPage)
    told = (msgspec.structs.replace(page.entries[0], number=-(1 << 37)),)
    asked = RosterReturn(group_id=page.group_id, device_key=client.identity.public, seen=seen, entries=told)
    assert decode(opened(client.send("POST", "/v1/roster", encode(asked))).body, RosterPage) == page


def test_members_vouch_and_take_ghosts_off(sqlite: Running) -> None:
    """Who came by the administrator's invite is in the cohort once a member signs; a ghost is gone once one signs;
    done twice it changes nothing; a signature for something else does nothing."""
    people = members(sqlite.made, 4)
    waiting = Client(people[0].address)
    assert waiting.join(invite(sqlite.made)).ok
    assert vouch(people[1], waiting).ok
    assert vouch(people[2], waiting).ok
    assert len(roster_of(waiting).vouched) == 5
    assert vouch(people[0], people[3], leaves=True).ok
    state = roster_of(people[0])
    assert [member.number for member in state.members.values()] == [0, 1, 2, 4]
    assert state.number == 7
    stranger = Client(people[0].address, identity=Identity(b"?" * 32))
    assert reason(stranger.send("GET", "/v1/roster")) == "unknown-device"
    for about in (7, -1, 2**70):
        asked = Vouching(group_id=state.group_id, about=about, leaves=True, signature=b"x" * 64)
        assert reason(people[0].send("POST", "/v1/vouchers", encode(asked))) in ("bad-vouching", "malformed")


def test_an_invite_is_worth_what_its_member_is(sqlite: Running) -> None:
    """Who comes by the invite of a member that was taken off waits as if by the administrator's; a member that was
    taken off invites nobody, and another has a hundred open invites at most."""
    people = members(sqlite.made, 3)
    group_id = people[0].announcement().terms.group_id
    assert offer(people[1], "of a ghost", group_id).ok
    assert vouch(people[0], people[1], leaves=True).ok
    late = Client(people[0].address)
    link = Invite(address=late.address, fingerprint="", token="of a ghost", group_id=group_id)
    assert late.join(link).ok
    assert [one.vouched for one in roster_of(late).members.values()] == [True, True, False]
    assert reason(offer(people[1], "another", group_id)) == "not-in-roster"
    for number in range(enrolment.MOST_OPEN):
        assert offer(people[2], f"invite {number}", group_id).ok
    assert offer(people[2], "invite 0", group_id).ok
    assert reason(offer(people[2], "one more", group_id)) == "too-many"


def test_the_sums_noise_is_that_of_the_terms(sqlite: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default terms: five members, n_honest 3, each device's deviation 2.17 * .8 / sqrt(3), of 256 coins."""
    monkeypatch.undo()  # of few_coins
    people = members(sqlite.made, 5)
    told = people[0].announcement()
    mechanism = occasion_of(people[0], told).part
    assert (mechanism.clip, mechanism.noise_multiplier, mechanism.n_clients) == (0.8, 2.17, 3)
    assert (mechanism.coins, mechanism.grid_step) == (256, pytest.approx(2 * 2.17 * 0.8 / (3 * 256) ** 0.5))


def lies_of(client: Client, told: Announcement) -> Iterator[tuple[str, SharedUpdate]]:
    """Notes that are not as they must be, each well signed."""
    occasion = occasion_of(client, told)
    good = message(client, told, STEPS[0])
    draft, seed = draft_of(client, told, STEPS[0])
    yield "no proof", msgspec.structs.replace(good, proof=b"")
    yield "altered", msgspec.structs.replace(good, proof=good.proof[:-1] + bytes([good.proof[-1] ^ 1]))
    lie = shared(occasion, STEPS[0] * 10**6, client.identity, client.device, np.random.default_rng(1))
    yield "too long", msgspec.structs.replace(lie, proof=good.proof)
    lie = shared(occasion, STEPS[0], client.identity, client.device, np.random.default_rng(1))
    yield "without noise", msgspec.structs.replace(lie, proof=good.proof)
    noise = drawn_noise(occasion.note_terms, np.random.default_rng(99))
    other = Draft(STEPS[0], noise, noise.commitment(occasion.note_terms))
    yield "other bits", prove_update(occasion, other, seed, client.identity, client.device, np.random.default_rng(1))
    chosen = prove_update(occasion, draft, b"mine" * 8, client.identity, client.device, np.random.default_rng(1))
    yield "own coins", chosen


def test_a_note_without_its_proof_is_refused_and_its_sender_named(sqlite: Running) -> None:
    """Numbers of any size, noise of one's own: each is found false. Sent, it is refused at the door, the sender is
    named and out of this round, and the four others' sum is theirs."""
    people = members(sqlite.made, 5)
    told, first = people[0].announcement(), people[0].theta()
    lies = dict(lies_of(people[4], told))
    for kind, lie in lies.items():
        with reading(sqlite.made.engine) as connection:
            found = inbox.offered(sqlite.service._desk(connection), people[4].device, lie)
        assert false_claims(found.terms, found.claims) == (people[4].device,), kind
    for _ in range(2):
        assert reason(people[4].send("POST", "/v1/shares", encode(lies["no proof"]))) == "wrong-proof"
    assert reason(share(people[4], told, STEPS[0])) == "wrong-proof"
    told = all_share(people[:4], told)  # who lied is not waited for
    all_answer(people, told)
    np.testing.assert_array_equal(people[0].theta(), moved(told, first, people[:4]))
    assert f"which was refused: {people[4].device}" in report(sqlite)


def test_a_round_in_which_too_many_lied_ends_at_its_deadline(
    sqlite: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of five have no note that is taken any more: the operator is told so, and the next round takes all five."""
    people = members(sqlite.made, 5)
    told = people[0].announcement()
    for one in people[:2]:
        lie = msgspec.structs.replace(message(one, told, STEPS[0]), proof=b"")
        assert reason(one.send("POST", "/v1/shares", encode(lie))) == "wrong-proof"
    assert run(sqlite.made.folder, "rounds") == 0
    assert "2 notes refused for want of a proof; too few members are left" in capsys.readouterr().out
    after_deadline(sqlite)
    assert all_share(people, people[0].announcement()).phase == "sum"


def test_coins_come_after_the_bits_and_once(sqlite: Running) -> None:
    """The same commitment hears the same coins, before and after a restart too; another one none; each member and round
    has its own; without a commitment no note is taken."""
    people = members(sqlite.made, 5)
    told = people[0].announcement()
    seeds = [draft_of(one, told, STEPS[0])[1] for one in people[:2]]
    assert seeds[0] != seeds[1]
    assert draft_of(people[0], told, STEPS[1])[1] == seeds[0]
    assert draft_of(people[0], told, STEPS[0], bits=1)[1] == b""
    occasion = occasion_of(people[2], told)
    early = shared(occasion, STEPS[0], people[2].identity, people[2].device, np.random.default_rng(1))
    assert reason(people[2].send("POST", "/v1/shares", encode(early))) == "wrong-proof"
    for point in (bytes(32), (2**255 - 20).to_bytes(32, "little"), b"x"):
        said = NoiseCommitment(group_id=told.terms.group_id, lineage=1, round=1, device=people[2].device, point=point)
        assert reason(people[2].send("POST", "/v1/noise", encode(said))) == "wrong-shares"
    all_share(people, told)
    listed = people[0].announcement()
    assert draft_of(people[0], told, STEPS[0])[1] == seeds[0]
    for one in people:
        assert send_answer(one, listed).ok
    assert kept(sqlite, noises) == 0
    assert draft_of(people[0], people[0].announcement(), STEPS[0])[1] not in (*seeds, b"")
