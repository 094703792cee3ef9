"""Sealed groups and the rest of life: restored from an older backup, with members who enrolled, left or were forgotten
since. Devices hand the roster back, and nobody hears of an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select

from app.federation import group_ranker, group_roster, ledger, membership, round_answer, server_move
from app.federation.failures import Declined, Distrusted, FederationError
from app.federation.group_status import overview
from app.settings import FederationSettings, Settings
from app.store import Store
from federation_server import backup
from federation_server.commands.checkup import checks
from federation_server.database import reading
from federation_server.group import enrolment, group, roster_book
from federation_server.rounds import rounds as the_rounds
from federation_server.rounds.history import epsilon, spent_in_period
from federation_server.running.dashboard import page
from federation_server.serve import Installation
from federation_server.tables import answers, lists, rounds, shares
from foltr.federated.wire import RosterEntry, Signed, decode
from tests.app.federation.groups import (
    DEVICES,
    Person,
    a_copy,
    first_member,
    first_members,
    friends,
    told_to,
    welcome,
)
from tests.app.federation.test_restored_server import place, restored, seen
from tests.app.federation.test_server_move import announce, elsewhere
from tests.federation_server.client import Running, make_server, run, running
from tests.federation_server.sealed_members import TWO_WEIGHTS
from tests.few_coins import take_few

pytestmark = pytest.mark.usefixtures("few_coins")

Make = Callable[..., Person]


@pytest.fixture
def made(five_friends: Path, tmp_path: Path) -> Installation:
    """A sealed group of five that is not served yet."""
    return a_copy(five_friends, tmp_path / "first")


def device(person: Person) -> str:
    return membership.member(person.store).device


def hold_round(live: Running, everyone: list[Person], *, n: int = 0, alone: bool = False) -> tuple[int, int]:
    """All sync until the open round is added up, without a word of error; its lineage and number.

    `n` of them are in its cohort; without it, all. With `alone` nobody answers the next one meanwhile.
    """
    live.server.service.tick()
    with reading(live.made.engine) as connection:
        here = the_rounds.present(connection)
    assert here is not None
    key = (rounds.c.lineage == here.lineage, rounds.c.round == here.number)
    query = select(rounds.c.state, rounds.c.rule, rounds.c.n_updates).where(*key)
    for turn, person in enumerate(everyone * 3):
        with reading(live.made.engine) as connection:
            row = connection.execute(query).one()
        if row.state == "closed":
            break
        person.sync(at_once=not alone or turn < len(everyone))
        assert place(person) >= (here.lineage, here.number)
    assert row == ("closed", "sum", n or len(everyone))
    return here.lineage, here.number


@pytest.fixture(scope="module")
def after_a_round(five_friends: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That group with a sixth member, whose first round is added up and whose second nobody has answered."""
    folder = tmp_path_factory.mktemp("six") / "server"
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        take_few(patch)
        live = stack.enter_context(running(a_copy(five_friends, folder)))
        stores = [Store(home / "state.sqlite") for home in sorted((folder / DEVICES).glob("*"))]
        everyone = [Person(store, Settings(federation=FederationSettings(timeout_seconds=120.0))) for store in stores]
        everyone.append(welcome(live.made, partial(first_member, folder), everyone[0], seed=5))
        hold_round(live, everyone, alone=True)
        for person in everyone:
            person.store.close()
    return folder


def hand_back_all(everyone: list[Person]) -> None:
    """Whoever knows the newest ranker has handed it back before anybody answers."""
    for person in everyone:
        person.sync(at_once=False)


def entries(made: Installation) -> tuple[RosterEntry, ...]:
    with reading(made.engine) as connection:
        return roster_book.entries(connection)


@pytest.mark.parametrize(("phase", "first"), [("collect", "known"), ("sum", "unknown")])
def test_the_roster_is_handed_back(
    made: Installation, tmp_path: Path, make_person: Make, phase: str, first: str
) -> None:
    """A backup within a round holds no message of it. Restored after its end and two members more, all sync, and the
    next round has all seven, whether the first to come is one that the backup knows or not."""
    with running(made) as live:
        everyone = friends(made, make_person)
        for person in everyone[: 5 if phase == "sum" else 2]:
            person.sync()
        assert told_to(everyone[0]).phase == phase
        counts = backup.write(made.engine, tmp_path / "backup", now=int(time.time())).counts
        assert not {table.name for table in (shares, lists, answers)} & counts.keys()
        hold_round(live, everyone)
        everyone.append(welcome(made, make_person, everyone[4], seed=5))
        everyone.append(welcome(made, make_person, everyone[5], seed=6))
        for person in everyone:
            person.sync()  # so that all know the roster's end
    before = entries(made)
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with reading(again.engine) as connection:
        assert connection.execute(select(rounds)).all() == []
    assert len(entries(again)) == 5
    if first == "unknown":
        everyone.reverse()
    with running(again) as live:
        everyone[0].sync(at_once=False)
        assert entries(again) == before
        hand_back_all(everyone)
        where = hold_round(live, everyone)
        assert where[0] > 1
        assert [place(person)[0] for person in everyone] == [where[0]] * 7
        with reading(again.engine) as connection:
            members = enrolment.all_members(connection)
        assert {member.device for member in members} == {device(person) for person in everyone}
        assert {member.expires for member in members} == {None}
    noted = round_answer.noted_lists(everyone[0].store, *where)
    assert len(noted) == 1


def test_who_answered_a_round_that_a_restore_took_back_is_told(
    made: Installation, tmp_path: Path, make_person: Make
) -> None:
    """Once, before it answers in the new lineage; whoever had sent nothing is told nothing."""
    with running(made):
        everyone = friends(made, make_person)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        assert everyone[0].sync().sent
    told = "the group went back: if round 1 was not over by then, what this device sent for it is spent"
    with running(restored(made, tmp_path / "backup", tmp_path / "second")):
        said = [person.sync().said for person in (everyone[0], everyone[0], everyone[1])]
    assert [told in lines for lines in said] == [True, False, False]


def test_who_was_forgotten_since_the_backup_stays_forgotten(
    made: Installation, tmp_path: Path, make_person: Make
) -> None:
    """The others hand back that it left: its row and its keys are gone, and it is in no later cohort. Who joined
    and was forgotten after the backup comes back as hashes alone."""
    with running(made) as live:
        everyone = friends(made, make_person, 6)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        guest = welcome(made, make_person, everyone[0], seed=9)
        everyone[1].sync()  # knows the guest's entry whole
        leaving = everyone.pop()
        keys = [membership.member(one.store).identity.public for one in (guest, leaving)]
        for one in (guest, leaving):
            assert one.joining().leave(forget=True, at_once=True) is not None
        hold_round(live, everyone)
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again) as live:
        hand_back_all(everyone)
        hold_round(live, everyone)
        with reading(again.engine) as connection:
            known = {member.device_key for member in enrolment.all_members(connection)}
        assert len(known) == 5
        assert not known & set(keys)
    found = entries(again)
    assert [entry.body is None for entry in found if entry.kind == "join"] == [False] * 5 + [True, True]
    files = b"".join(path.read_bytes() for path in again.folder.glob("group.sqlite*"))
    assert not any(key in files for key in keys[:1])


def test_a_server_that_went_on_otherwise_is_not_believed(made: Installation, tmp_path: Path, make_person: Make) -> None:
    """A newcomer got the number at which the others had pinned another entry: each says so plainly, nothing is sent."""
    with running(made):
        everyone = friends(made, make_person)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        late = welcome(made, make_person, everyone[4], seed=5)
        everyone[0].sync()
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    spent = len(ledger.entries(everyone[0].store))
    with running(again):
        welcome(again, make_person, None, seed=8)
        with pytest.raises(Distrusted, match="otherwise than this device has verified"):
            everyone[0].sync()
        with pytest.raises(FederationError, match="has gone on with other members"):
            late.sync()
        assert everyone[1].sync().sent  # had not seen further than the backup
    assert len(ledger.entries(everyone[0].store)) == spent


def test_entries_that_do_not_continue_the_chain_are_refused(
    made: Installation, tmp_path: Path, make_person: Make
) -> None:
    """One that is missing, a page that this server did not sign, and a stranger: each has its code, nothing is kept."""
    with running(made):
        everyone = friends(made, make_person)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        late = [welcome(made, make_person, everyone[4], seed=5 + n) for n in range(2)]
        stored = late[1].store.value(membership.ROSTER_SEEN)
        assert stored is not None
    again, seen, held = restored(made, tmp_path / "backup", tmp_path / "second"), decode(stored, Signed), entries(made)
    forged = msgspec.structs.replace(seen, signature=bytes(64))
    stranger = make_person()
    with running(again):
        for page, told, wanted in (
            (seen, held[:6], "wrong-roster"),
            (seen, held[6:], "wrong-roster"),
            (forged, held, "wrong-roster"),
        ):
            member = membership.member(late[1].store)
            with late[1].reach.talk(member) as server, pytest.raises(Declined) as no:
                server.hand_back(page, told)
            assert no.value.reason == wanted
        member = msgspec.structs.replace(membership.member(late[1].store), seed=bytes(range(32)))
        with stranger.reach.talk(member) as server, pytest.raises(Declined) as no:
            server.hand_back(seen, held)
        assert no.value.reason == "unknown-device"
        assert len(entries(again)) == 5
        late[1].sync()
        assert entries(again) == held


@pytest.mark.parametrize("phase", ["collect", "sum", "rest"])
def test_who_leaves_in_a_round_is_forgotten(after_a_round: Path, tmp_path: Path, make_person: Make, phase: str) -> None:
    """Wherever the round is: the receipt says "noise", the journal keeps to it, the roster's entry is blanked when no
    message rests on it any more, and the others' next round holds them alone."""
    made = a_copy(after_a_round, tmp_path / "first")
    with running(made) as live:
        *everyone, leaving = first_members(made, make_person)
        me, number = device(leaving), told_to(everyone[0]).round
        others = {"collect": everyone[:2], "sum": everyone, "rest": []}[phase]
        for person in [*others, *([leaving] if phase != "rest" else [])]:
            person.sync()
        kept = leaving.joining().leave(forget=True)
        assert kept is not None
        assert kept.receipt.method == "noise"
        assert told_to(everyone[0]).round == number
        assert kept.receipt.state == ("waiting" if phase == "sum" else "done")
        for n in (6, 5) if phase == "sum" else (5,):
            hold_round(live, everyone, n=n)
        assert [one.receipt.state for one in leaving.joining().progress()] == ["done"]
        assert [finding.holds for finding in leaving.joining().findings()] == [True]
        state = group_roster.known(everyone[0].store, membership.member(everyone[0].store).group_id)
        assert state.of_device(me) is None
        assert len(state.vouched) == 5
        assert sum(entry.body is None for entry in entries(made) if entry.kind == "join") == 1


def test_a_newcomer_takes_nobody_off(made: Installation, make_person: Make) -> None:
    """But whom it has brought in itself, and who is no member any more."""
    with running(made):
        everyone = friends(made, make_person, 6)
        late = welcome(made, make_person, everyone[5], seed=7)

        def gone(by: Person, about: Person) -> None:
            group_roster.vouch(by.store, by.reach, device(about), gone=True)

        for about in (everyone[0], everyone[1], everyone[5]):
            with pytest.raises(Declined, match="is still a member"):
                gone(late, about)
        gone(everyone[5], late)
        assert run(made.folder, "members", "revoke", device(everyone[5]), "--yes") == 0
        gone(everyone[1], everyone[5])
        roster = group_roster.of_now(everyone[0].store, everyone[0].reach)
        assert {one.device for one in roster.vouched} == {device(one) for one in everyone[:5]}


def test_a_ghost_waits_for_a_members_signature(
    made: Installation, tmp_path: Path, make_person: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """Removed by the operator it is on the roster still: `members remove`, `members` and doctor name what a member has
    to do, and once that is done its keys are gone and nobody speaks of it any more."""
    with running(made) as live:
        everyone = friends(made, make_person, 6)
        ghost = device(everyone.pop())
        assert run(made.folder, "members", "remove", ghost, "--yes") == 0
        assert f"foltr-search vouch {ghost[:8]} --gone" in capsys.readouterr().err
        assert run(made.folder, "members") == 0
        assert ghost in capsys.readouterr().err
        (check,) = [one for one in checks(made, made.folder, now=int(time.time())) if one.name == "roster"]
        assert not check.good
        assert ghost in check.text
        group_roster.vouch(everyone[0].store, everyone[0].reach, ghost[:8], gone=True)
        assert run(made.folder, "members") == 0
        assert capsys.readouterr().err == ""
        (check,) = [one for one in checks(made, made.folder, now=int(time.time())) if one.name == "roster"]
        assert check.good
        assert entries(made)[5].body is None
        hold_round(live, everyone)


def test_who_lost_the_device_and_joins_again_is_one_person(
    after_a_round: Path, tmp_path: Path, make_person: Make
) -> None:
    """Who brought in the new device says so: the year goes on where it was, the ghost is off the roster, in one step.
    Nobody else can say it, nor of a member that has answered: that would spend another's year. Who did not bring in the
    lost one waits for the operator to end its membership."""
    made = a_copy(after_a_round, tmp_path / "first")
    with running(made) as live:
        everyone = first_members(made, make_person)
        lost = device(everyone.pop())
        again = welcome(made, make_person, everyone[2], seed=7)
        with pytest.raises(Declined, match="only who brought in a later member"):
            group_roster.vouch(everyone[0].store, everyone[0].reach, device(again), was=lost)
        with pytest.raises(Declined, match="is still a member"):
            group_roster.vouch(everyone[2].store, everyone[2].reach, device(again), was=lost)
        assert run(made.folder, "members", "revoke", lost, "--yes") == 0
        with pytest.raises(Declined, match="only who brought in a later member"):
            group_roster.vouch(everyone[2].store, everyone[2].reach, device(everyone[3]), was=lost)
        assert ledger.entries(again.store) == ()
        group_roster.vouch(everyone[2].store, everyone[2].reach, device(again), was=lost)
        with pytest.raises(FederationError, match="0 members"):
            group_roster.vouch(everyone[2].store, everyone[2].reach, device(again), was=lost)
        said = again.sync().said
        assert said[0] == "counted as spent from now on: 1 round that the server has had from you"
        assert [entry.lineage > 0 for entry in ledger.entries(again.store)] == [False, True]
        hold_round(live, [*everyone, again], alone=True)
        late = welcome(made, make_person, again, seed=8)
        hold_round(live, [*everyone, again, late])
        assert run(made.folder, "members", "revoke", device(everyone[0]), "--yes") == 0
        with pytest.raises(Declined, match="it has answered rounds already"):
            group_roster.vouch(again.store, again.reach, device(late), was=device(everyone[0]))


def test_a_sealed_group_moves_in_the_midst_of_a_round(made: Installation, tmp_path: Path, make_person: Make) -> None:
    """Told of another port after two had answered: all go there by themselves, and the round is added up there."""
    with running(made):
        everyone = friends(made, make_person)
        there = elsewhere(made)
        announce(made, there)
        for person in everyone[:2]:
            person.sync()
        for person in everyone[2:]:
            server_move.note(person.store, told_to(person).moved)
    with running(there) as live:
        assert hold_round(live, everyone) == (1, 1)
        assert {membership.member(person.store).address for person in everyone} == {there.public_address}


def test_the_newest_ranker_and_what_is_left_of_the_year_come_back(tmp_path: Path, make_person: Make) -> None:
    """Two rounds of three, a backup after the first, a restore, one sync each: the ranker of the second is back, no
    older one is adopted, the third round is the next, and server and devices say that it is the last of the year."""
    made = make_server(tmp_path / "first", quorum=0, floor=3, in_period=3, mode="sealed", privacy=TWO_WEIGHTS)
    with running(made) as live:
        everyone = friends(made, make_person)
        hold_round(live, everyone, alone=True)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        hold_round(live, everyone, alone=True)
        hand_back_all(everyone)
    lost, now = seen(everyone[0]), int(time.time())
    before = [group_ranker.load(person.store) for person in everyone]
    assert lost.round == 2
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again) as live:
        for person, kept in zip(everyone, before, strict=True):
            person.sync(at_once=False)
            assert membership.load_standing(person.store).error == ""
            assert seen(person).theta == lost.theta
            adopted = group_ranker.load(person.store)
            assert (adopted and adopted.record.round) in (kept and kept.record.round, 2)
            assert overview(person.store, person.settings.federation, now=now)["privacy"]["rounds_left"] == 1
        with reading(again.engine) as connection:
            agreed = group.terms(connection)
            spent, here = spent_in_period(connection, agreed, now=now), the_rounds.present(connection)
            shown = page(connection, again.forgetter.policy, now=now)
        assert here is not None
        assert here.number == 3
        assert (spent.n_rounds, spent.n_left) == (2, 1)
        assert spent.epsilon == epsilon(agreed, 2)
        assert "handed back after a restore" in shown
        lineage, number = hold_round(live, everyone, alone=True)
        assert number == 3
        assert told_to(everyone[0]).phase == "rest"
        said = next(check.text for check in checks(again, again.folder, now=now) if check.name == "round")
        assert said.startswith("resting until")
    assert lineage > lost.lineage
