"""Computers of one person in a group: one member of a real server, with one budget and one note."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import delete, insert, select

from app import backup
from app.devices.own_devices import meet_others, who_answers
from app.federation import answering_device, group_ranker, ledger, membership, server_move
from app.federation.failures import FederationError
from app.federation.membership import Membership
from app.federation.server import Correspondence
from app.federation.sync import Sync, SyncReport
from app.federation.transport import Transport
from app.settings import FederationSettings
from app.store import Store
from federation_server.database import reading, writing
from federation_server.tables import depot_files, depots, members, updates
from foltr.federated.envelope import sign_document
from foltr.federated.wire import ServerMove
from tests.app.devices.computers import SETTINGS, Computer
from tests.app.federation.groups import Group, Person, friends, hasty, serving, serving_sealed

FEDERATION = FederationSettings(timeout_seconds=120.0)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Whose rounds close with two updates."""
    with serving(tmp_path / "server") as made:
        yield made


def two(tmp_path: Path, group: Group | None = None) -> tuple[Computer, Computer]:
    """That have met, in a folder or at the group's server; the laptop came first, and each has opened results."""
    shared = group or tmp_path / "cloud"
    settings = msgspec.structs.replace(SETTINGS, federation=FEDERATION)
    laptop, desk = (Computer(tmp_path / name, shared, settings=settings) for name in ("laptop", "desk"))
    desk.join(laptop.begin())
    laptop.meet()
    for number, computer in enumerate((laptop, desk)):
        with person_at(computer) as person:
            person.see_pages(25, seed=number)
    return laptop, desk


@contextmanager
def person_at(
    computer: Computer, by: Callable[[Membership, FederationSettings], Transport] = hasty
) -> Iterator[Person]:
    with Store(computer.paths.state) as store:
        yield Person(store, computer.settings, by=by)


def nobody(member: Membership, settings: FederationSettings) -> Transport:
    raise AssertionError("this device speaks to the server")


def sync(computer: Computer, by: Callable[[Membership, FederationSettings], Transport] = hasty) -> SyncReport:
    with person_at(computer, by) as person:
        made = Sync(person.store, person.settings, lambda lines: True, by=by, sleep=lambda _: None)
        return replace(made, meet=partial(meet_others, computer.paths, computer.settings)).run()


def join(computer: Computer, group: Group) -> Membership:
    with person_at(computer) as person:
        member = person.join(group)
    computer.meet()
    return without_noise(member)


def member_of(computer: Computer) -> Membership | None:
    """Without the key of its noise, which no device tells another."""
    with Store(computer.paths.state) as store:
        found = membership.load(store)
    return found and without_noise(found)


def without_noise(member: Membership) -> Membership:
    return msgspec.structs.replace(member, noise_key=b"")


def n_rows(group: Group, table: object = updates) -> int:
    with reading(group.made.engine) as connection:
        return len(connection.execute(select(table)).all())  # type: ignore[call-overload]


def n_spent(computer: Computer) -> int:
    with Store(computer.paths.state) as store:
        return len(ledger.entries(store))


def test_two_computers_are_one_member(group: Group, tmp_path: Path) -> None:
    """Whichever joined, the one that holds the pen answers, once; the other asks the server nothing."""
    laptop, desk = two(tmp_path)
    member = join(desk, group)
    assert not sync(desk, nobody).sent
    report = sync(laptop)
    assert report.sent
    assert member_of(laptop) == member_of(desk) == member
    sync(desk, nobody)
    assert n_spent(laptop) == n_spent(desk) == n_rows(group) == n_rows(group, members) == 1


def test_who_has_no_pen_hears_in_a_line_who_has_or_what_ends_that(
    group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computers that met before there was a pen have none until one takes it; a move is followed where it is."""
    begin = answering_device.be_one_of_several
    with monkeypatch.context() as before:
        before.setattr(answering_device, "be_one_of_several", lambda store, *, is_first: begin(store, is_first=False))
        laptop, desk = two(tmp_path)
    member = join(laptop, group)
    desk.meet()
    for computer in (laptop, desk):
        assert not sync(computer, nobody).sent
        assert "`foltr-search devices pen --take`" in who_answers(computer.paths, computer.settings)
    desk.devices().take_pen()
    laptop.meet()
    assert who_answers(desk.paths, desk.settings) == ""
    elsewhere = who_answers(laptop.paths, laptop.settings)
    assert elsewhere.startswith("desk answers the group")
    record = ServerMove(group_id=member.group_id, serial=1, address="https://new.example:1", certificate="")
    signed = sign_document(group.made.vault.identity, "moved", record)
    with (
        person_at(laptop, nobody) as person,
        pytest.raises(FederationError, match="not followed from here: desk answers"),
    ):
        server_move.by_link(person.store, signed, person.reach, elsewhere)


def test_a_server_that_rolls_back_their_depot_gets_no_second_answer(group: Group, tmp_path: Path) -> None:
    """It hides the handing over of the pen and what was spent: neither answers again, then or later."""
    laptop, desk = two(tmp_path, group)
    assert sync(laptop).sent
    desk.meet()
    with reading(group.made.engine) as connection:
        before = [dict(row._mapping) for row in connection.execute(select(depot_files))]
    laptop.devices().hand_pen("desk")
    with writing(group.made.engine) as connection:
        connection.execute(delete(depot_files))
        connection.execute(insert(depot_files), before)
    assert not sync(desk, nobody).sent
    assert not sync(laptop, nobody).sent  # which writes again what was lost
    assert "was answered before" in " ".join(sync(desk).said)
    assert n_spent(laptop) == n_spent(desk) == n_rows(group) == n_rows(group, members) == 1


def test_without_their_depot_nothing_is_sent(group: Group, tmp_path: Path) -> None:
    """If the server deleted it, the holder of the pen does not answer before the computers exchange again."""
    laptop, _ = two(tmp_path, group)
    with writing(group.made.engine) as connection:
        connection.execute(delete(depots))
    with pytest.raises(FederationError, match="nothing was sent: other devices: the group's server keeps nothing"):
        sync(laptop)
    laptop.devices().meet_in(laptop.devices().at_server(""))
    assert sync(laptop).sent


def test_the_pen_takes_along_what_was_spent(group: Group, tmp_path: Path) -> None:
    """The new holder answers not the same round but the next; the former one sends nothing to the group."""
    laptop, desk = two(tmp_path)
    join(laptop, group)
    assert sync(laptop).sent
    laptop.devices().hand_pen("desk")
    with pytest.raises(FederationError, match="another of your computers"):
        laptop.devices().hand_pen("desk")
    sync(laptop, nobody)
    assert "was answered before" in " ".join(sync(desk).said)
    with Store(laptop.paths.state) as store, pytest.raises(FederationError, match="run this there"):
        answering_device.speaker(store)
    with person_of_their_own(tmp_path / "other") as other:
        other.join(group)
        assert other.sync().sent  # which closes the round
        assert sync(desk).said[0].startswith("answered round 2")
    sync(laptop, nobody)
    assert n_spent(laptop) == n_spent(desk) == 2


@contextmanager
def person_of_their_own(folder: Path) -> Iterator[Person]:
    with Store(folder / "state.sqlite") as store:
        person = Person(store, msgspec.structs.replace(SETTINGS, federation=FEDERATION))
        person.see_pages(25, seed=9)
        yield person


def test_the_published_ranker_arrives_on_both(group: Group, tmp_path: Path) -> None:
    """The other one gets it from the folder, and tests it on its own pages."""
    laptop, desk = two(tmp_path)
    join(laptop, group)
    with person_of_their_own(tmp_path / "other") as other:
        other.join(group)
        other.sync()
    sync(laptop)
    sync(laptop)
    desk.meet()
    seen = []
    for computer in (laptop, desk):
        with Store(computer.paths.state) as store:
            standing, adopted = membership.load_standing(store), group_ranker.load(store)
            seen.append((standing.lineage, standing.round, standing.tested, store.value(membership.RANKER_SEEN)))
            assert standing.verdict
            assert adopted is None or adopted.hash == standing.tested
    assert seen[0] == seen[1]


@pytest.mark.parametrize("forget", [False, True])
def test_who_leaves_the_group_leaves_for_all(group: Group, tmp_path: Path, forget: bool) -> None:
    """Even on a device without the pen: the key is erased on both, and both have the receipt."""
    laptop, desk = two(tmp_path)
    join(laptop, group)
    sync(laptop)
    desk.meet()
    with person_at(desk) as person:
        assert person.joining().leave(forget=forget) is not None
    for computer in (desk, laptop):
        computer.meet()
        assert member_of(computer) is None
        assert n_spent(computer) == 1
        with Store(computer.paths.state) as store:
            assert len(membership.all_receipts(store)) == 1
            assert store.rows("SELECT 1 FROM roster") == []
    for computer in (desk, laptop):  # no record has the key any more
        computer.meet()
        with Store(computer.paths.state) as store:
            told = [bytes(record) for (record,) in store.rows("SELECT record FROM device_records")]
            assert not any(b"box_key" in record for record in told)
    member = join(laptop, group)
    desk.meet()
    assert member_of(desk) == member


def test_a_lost_pen_is_taken_and_waits(group: Group, tmp_path: Path) -> None:
    """Without the holder's word nothing is sent within the budget's days; the ranker still arrives."""
    laptop, desk = two(tmp_path)
    join(laptop, group)
    desk.meet()
    desk.devices().remove("laptop")
    assert desk.devices().holder() == b""
    desk.devices().take_pen()
    report = sync(desk)
    assert not report.sent
    assert "took the pen" in report.refused
    assert n_spent(desk) == n_rows(group) == 0
    with pytest.raises(FederationError, match="nothing of the others can be read"):
        sync(laptop, nobody)


def test_a_backup_does_not_bring_the_pen_back(group: Group, tmp_path: Path) -> None:
    """Restored from nothing, a device that had it in the meantime, and gave it away, does not answer."""
    laptop, _ = two(tmp_path)
    join(laptop, group)
    backup.write_backup(laptop.paths, tmp_path / "kept", now=1.0)
    laptop.devices().hand_pen("desk")
    laptop.paths.state.unlink()
    backup.restore(laptop.paths, tmp_path / "kept")
    away = tmp_path / "away"
    shutil.copytree(tmp_path / "cloud", away)
    for path in away.iterdir():
        (tmp_path / "cloud" / path.name).unlink()  # nothing has come yet
    with Store(laptop.paths.state) as store:
        assert not answering_device.holds(store)
    with pytest.raises(FederationError, match="is empty and was not"):
        sync(laptop, nobody)


def test_who_goes_alone_hands_the_pen_over(group: Group, tmp_path: Path) -> None:
    """The others stay the member and the one that left is none; the last one keeps the pen."""
    laptop, desk = two(tmp_path)
    member = join(laptop, group)
    laptop.devices().leave()
    assert member_of(laptop) is None
    assert sync(desk).sent
    assert member_of(desk) == member
    desk.devices().leave()
    assert member_of(desk) == member
    with Store(desk.paths.state) as store:
        assert answering_device.holds(store)


def test_a_member_that_pairs_is_the_member_of_both(group: Group, tmp_path: Path) -> None:
    """What it had spent alone counts for both, and the first one answers from then on."""
    shared = tmp_path / "cloud"
    settings = msgspec.structs.replace(SETTINGS, federation=FEDERATION)
    laptop, desk = (Computer(tmp_path / name, shared, settings=settings) for name in ("laptop", "desk"))
    with person_at(desk) as person:
        person.join(group)
        assert person.sync().sent
    desk.join(laptop.begin())
    assert sync(desk, nobody).round == 1
    laptop.meet()
    assert member_of(laptop) == member_of(desk) is not None
    assert n_spent(laptop) == 1
    assert "was answered before" in " ".join(sync(laptop).said)


def test_an_application_in_vain_is_in_nobodys_way(group: Group, tmp_path: Path) -> None:
    """A computer that asked to join while the server was away becomes the member that the other one is."""
    laptop, desk = two(tmp_path)
    with Store(desk.paths.state) as store:
        membership.save(store, membership.applicant(group.invite()))
    assert join(laptop, group)
    desk.meet()
    assert member_of(desk) == member_of(laptop)
    with Store(laptop.paths.state) as one, Store(desk.paths.state) as other:
        assert membership.member(one).noise_key != membership.member(other).noise_key != b""


def test_two_memberships_stay_two_until_one_leaves(group: Group, tmp_path: Path) -> None:
    """Of computers that were members before they met; then both are the member that is left."""
    shared = tmp_path / "cloud"
    settings = msgspec.structs.replace(SETTINGS, federation=FEDERATION)
    laptop, desk = (Computer(tmp_path / name, shared, settings=settings) for name in ("laptop", "desk"))
    for computer in (laptop, desk):
        with person_at(computer) as person:
            person.join(group)
            assert person.sync(sleep=lambda _: None).sent
    desk.join(laptop.begin())
    for computer in (laptop, desk, laptop):
        computer.meet()
    assert member_of(laptop) != member_of(desk)
    assert n_spent(laptop) == n_spent(desk) == 2
    sync(desk, nobody)
    with person_at(desk) as person:
        person.joining().leave(forget=False)
    for computer in (laptop, desk):
        computer.meet()
    assert member_of(laptop) == member_of(desk) is not None


@pytest.mark.usefixtures("few_coins")
def test_the_pen_changes_hands_between_the_answer_and_the_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sealed group the new holder adds up what the former one answered, and the server is asked as by one device:
    for no entry of the roster twice."""
    laptop, desk = two(tmp_path)
    asked: list[int] = []
    roster = Correspondence.roster
    with contextlib.ExitStack() as end:
        sealed = end.enter_context(serving_sealed(tmp_path / "sealed"))
        others = [end.enter_context(person_of_their_own(tmp_path / f"other-{number}")) for number in range(4)]
        with person_at(laptop) as person:
            everyone = iter([*others, person])
            friends(sealed.made, lambda: next(everyone))
        desk.meet()
        assert sync(laptop).sent
        laptop.devices().hand_pen("desk")
        for other in others:
            other.sync()
        monkeypatch.setattr(
            Correspondence, "roster", lambda server, after: asked.append(after) or roster(server, after)
        )
        report = sync(desk)
        assert any(line.startswith("added up round 1 of 5") for line in report.said)
    assert n_spent(desk) == 1
    assert min(asked) > 0
