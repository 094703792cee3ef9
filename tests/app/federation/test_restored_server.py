"""Devices and a server that comes back from a backup: they follow by themselves, without a word of error."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from app.federation import group_ranker, ledger, membership
from app.federation.failures import Declined, Unreachable
from app.federation.server import Answer, Correspondence
from federation_server import backup, setup
from federation_server.backup import restore
from federation_server.database import reading
from federation_server.group import enrolment, group
from federation_server.serve import Installation, open_installation
from foltr.federated.links import from_link
from foltr.federated.wire import ModelRecord, Signed, decode
from tests.app.federation.groups import Person
from tests.federation_server.client import make_server, run, running

Make = Callable[..., Person]


def make_group(folder: Path, make_person: Make, *, n: int, quorum: int = 0) -> tuple[Installation, list[Person]]:
    """A server whose rounds close with every member's update, or so many, and its members."""
    made = make_server(folder, quorum=quorum or n)
    people = [make_person(allow_unprotected=True) for _ in range(n)]
    with running(made):
        for seed, person in enumerate(people):
            person.see_pages(12, seed=seed)
            invite = from_link(setup.invitation(made, note="", seconds=3600, now=int(time.time())))
            person.joining().join(invite, agrees=lambda lines: True)
    return made, people


def restored(old: Installation, path: Path, folder: Path) -> Installation:
    """The server in a new folder, from its settings, secrets, tombstones and a backup."""
    folder.mkdir()
    for name in ("server.toml", "keys.json", "tombstones.jsonl"):
        if (old.folder / name).exists():
            shutil.copy2(old.folder / name, folder / name)
    made = open_installation(folder / "server.toml")
    restore(made, path, now=int(time.time()))
    return made


def hold_round(people: list[Person]) -> int:
    """All answer; the number of the round."""
    rounds = set()
    for person in people:
        person.see_pages(6, seed=len(ledger.entries(person.store)))
        report = person.sync()
        assert report.sent, report
        rounds.add(report.round)
    (number,) = rounds
    return number


def place(person: Person) -> tuple[int, int]:
    seen = membership.load_standing(person.store)
    assert seen.error == ""
    return seen.lineage, seen.round


def signed(person: Person) -> Signed:
    """The newest ranker that this device knows, as the server signed it."""
    stored = person.store.value(membership.RANKER_SEEN)
    assert stored is not None
    return decode(stored, Signed)


def seen(person: Person) -> ModelRecord:
    return decode(signed(person).body, ModelRecord)


def test_devices_follow_a_restored_server(tmp_path: Path, make_person: Make) -> None:
    """A backup of an open round that one has answered, three later rounds, a restore: one who missed the last of them
    comes first, then one who has its ranker, and the next round is the fifth."""
    made, people = make_group(tmp_path / "first", make_person, n=2)
    with running(made):
        assert hold_round(people) == 1
        people[0].see_pages(6, seed=77)
        assert people[0].sync().round == 2
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        people[1].see_pages(6, seed=78)
        people[1].sync()
        assert [hold_round(people) for _ in range(2)] == [3, 4]
    before = int(time.time())
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again):
        people[0].see_pages(6, seed=79)
        early = people[0].sync()
        assert (early.round, early.sent) == (4, True)
        assert "it has the ranker of round 3 back from this device" in early.said[0]
        newest = seen(people[1])
        assert not people[1].sync().sent  # its pages have taught the lost rounds
        assert hold_round(people) == 5
        for person in people:
            person.sync()
            lineage, number = place(person)
            assert lineage >= before
            assert number == 6
            adopted = group_ranker.load(person.store)
            assert adopted is not None
            assert adopted.record.lineage == lineage
        assert [len(ledger.entries(person.store)) for person in people] == [6, 5]  # the ledger never forgets
        with reading(again.engine) as connection:
            begun = group.at(connection, lineage, 4)
            assert begun is not None
            assert begun.record.theta == newest.theta
            assert enrolment.all_members(connection)[0].first_round == 1


def test_who_joins_after_a_restore_was_in_none_of_the_lost_rounds(
    tmp_path: Path, make_person: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer of the restored server, then the ranker of two lost rounds: `members` counts these for who may have
    been in them, and for the newcomer no round yet."""
    made, people = make_group(tmp_path / "first", make_person, n=3, quorum=2)
    backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
    with running(made):
        assert [hold_round(people[:2]) for _ in range(2)] == [1, 2]
        people[0].sync(at_once=False)
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again) as live:
        newcomer = make_person(allow_unprotected=True).join(live).device
        people[0].sync(at_once=False)
        assert run(again.folder, "members") == 0
    listed = {line[:32]: line for line in capsys.readouterr().out.splitlines()}
    assert len(listed) == 4
    assert listed.pop(newcomer).endswith("  member  no round yet")  # whom nobody has to vouch for in an open group
    assert all("takes part since round 1.1, last seen in 1.2" in line for line in listed.values())


def test_an_update_that_waits_has_simply_ended(tmp_path: Path, make_person: Make) -> None:
    """Prepared for a round that the restored server does not know, it is never sent, and nobody hears of an error."""
    made, people = make_group(tmp_path / "first", make_person, n=2)
    backup.write(made.engine, tmp_path / "backup", now=int(time.time()))

    def lose(self: Correspondence, body: bytes, kind: type[Answer]) -> object:
        raise Unreachable("the line is down")

    with running(made), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Correspondence, "send", lose)
        with pytest.raises(Unreachable):
            people[0].sync()
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again):
        assert people[0].sync().sent
        states = [(upload.state, upload.body is None) for upload in ledger.all_uploads(people[0].store)]
    assert states == [("late", True), ("sent", True)]
    place(people[0])


def test_restored_twice_and_from_an_older_backup(tmp_path: Path, make_person: Make) -> None:
    """Newest first, then an older one, within the same second: lineages rise, devices answer each time, and
    one that has adopted a ranker has it still."""
    made, people = make_group(tmp_path / "first", make_person, n=2)
    backup.write(made.engine, tmp_path / "older", now=int(time.time()))
    with running(made):
        hold_round(people)
        people[0].sync()
    backup.write(made.engine, tmp_path / "newer", now=int(time.time()))
    seen = [place(people[0])]
    now, present = time.time(), made
    for number, name in enumerate(("newer", "older", "newer")):
        folder = tmp_path / f"again-{number}"
        present = restored(present, tmp_path / name, folder)
        with running(present):
            assert group_ranker.load(people[0].store) is not None
            people[0].sync()
            assert group_ranker.load(people[0].store) is not None
            hold_round(people)
            people[0].sync()
        seen.append(place(people[0]))
    assert seen == sorted(seen)
    assert len({lineage for lineage, _ in seen}) == 4
    assert seen[-1][0] >= int(now)


def test_what_was_carried_over_teaches_once(tmp_path: Path, make_person: Make) -> None:
    """After a member was forgotten by adding up again the others' pages count as taught; a waiting answer counts."""
    made, people = make_group(tmp_path / "first", make_person, n=3)
    with running(made):
        hold_round(people)
        people[1].see_pages(6, seed=50)
        assert people[1].sync().sent
        assert people[0].joining().leave(forget=True).receipt.method == "reaggregate"  # type: ignore[union-attr]
        carried, fresh = people[1].sync(), people[2].sync()
        assert carried.sent
        assert carried.round == 2
        assert [upload.n_interactions for upload in ledger.all_uploads(people[1].store)] == [18, 6]
        assert [upload.n_interactions for upload in ledger.all_uploads(people[2].store)] in ([18], [18, 0])
        assert fresh.round == 2


def test_a_group_that_has_learned_on_takes_nothing_from_anybody(tmp_path: Path, make_person: Make) -> None:
    """Two who know only the backup's ranker close a round first: who has a newer one is told, and keeps it."""
    made, people = make_group(tmp_path / "first", make_person, n=4, quorum=2)
    backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
    with running(made):
        assert [hold_round(people[:2]) for _ in range(2)] == [1, 2]
        people[0].sync()
        newer = group_ranker.load(people[0].store)
        assert newer is not None
        assert newer.record.round == 2
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again):
        assert hold_round(people[2:]) == 1
        said = people[0].sync().said
        assert any("goes on without the ranker of round 2" in line for line in said)
        assert group_ranker.load(people[0].store) is not None
        with reading(again.engine) as connection:
            assert group.newest(connection).record.round == 1
        place(people[0])
        assert not any("restored" in line for line in people[0].sync().said)


def test_only_what_the_server_signed_and_lost_is_taken_back(tmp_path: Path, make_person: Make) -> None:
    """Altered, of another group, and older: the first two are refused with their code, and none begins a lineage."""
    made, people = make_group(tmp_path / "first", make_person, n=2)
    other, strangers = make_group(tmp_path / "other", make_person, n=2)
    backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
    with running(other):
        hold_round(strangers)
        strangers[0].sync()
    with running(made):
        older = signed(people[0])
        hold_round(people)
        people[0].sync()
    newest = signed(people[0])
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    forged = msgspec.structs.replace(newest, body=newest.body.replace(b'"noise":0.0', b'"noise":1.0'))
    assert forged != newest
    member = membership.member(people[0].store)
    with running(again), people[0].reach.talk(member) as server:
        for wrong in (forged, signed(strangers[0])):
            with pytest.raises(Declined) as no:
                server.hand_back_ranker(wrong)
            assert no.value.reason == "wrong-ranker"
        fallen = server.hand_back_ranker(older)
        assert fallen.round == 0
        taken = server.hand_back_ranker(newest)
        assert (taken.round, taken.theta) == (1, seen(people[0]).theta)
        assert server.hand_back_ranker(older) == server.hand_back_ranker(newest) == taken
        assert taken.lineage > fallen.lineage


@pytest.mark.parametrize("before", [0, 1])
def test_a_ranker_that_holds_somebody_forgotten_is_not_taken_back(
    tmp_path: Path, make_person: Make, before: int
) -> None:
    """Who was forgotten had taken part before the backup, or only since: the device that was away drops its ranker."""
    made, people = make_group(tmp_path / "first", make_person, n=3)
    with running(made):
        for _ in range(before):
            hold_round(people)
        backup.write(made.engine, tmp_path / "backup", now=int(time.time()))
        hold_round(people)
        people[0].sync()
        assert group_ranker.load(people[0].store) is not None
        assert people[2].joining().leave(forget=True).receipt.method == "reaggregate"  # type: ignore[union-attr]
    newest = signed(people[0])
    again = restored(made, tmp_path / "backup", tmp_path / "second")
    with running(again):
        member = membership.member(people[0].store)
        with people[0].reach.talk(member) as server, pytest.raises(Declined) as no:
            server.hand_back_ranker(newest)
        assert no.value.reason == "wrong-lineage"
        people[0].sync()
        adopted = group_ranker.load(people[0].store)
        assert adopted is None or adopted.record.lineage == place(people[0])[0]
