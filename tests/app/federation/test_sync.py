"""A device and a real server, from the invite to the receipt."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from app.federation import group_ranker, ledger, membership
from app.federation.failures import Declined, FederationError, Unreachable
from app.federation.server import Answer, Correspondence
from app.federation.transport import Transport
from console.wording import iso_minute
from federation_server.database import reading, writing
from federation_server.group.group import set_fact
from federation_server.rounds.rounds import present
from federation_server.tables import models, rounds, updates
from foltr.federated.envelope import unseal
from foltr.federated.wire import Invite, Sealed, decode, digest
from tests import copied
from tests.app.federation.groups import OPEN, QUIET, Group, Person, serving

Make = Callable[..., Person]


def stored_digests(group: Group) -> list[str]:
    with reading(group.made.engine) as connection:
        return list(connection.execute(select(updates.c.digest).order_by(updates.c.digest)).scalars())


def round_private_key(group: Group) -> bytes:
    with reading(group.made.engine) as connection:
        here = present(connection)
    assert here is not None
    assert here.sealed_key is not None
    return group.made.vault.decrypt(here.sealed_key)


def test_a_sync_answers_the_round_once(group: Group, person: Person) -> None:
    """The first sync sends one update and writes one entry; a second one sends nothing and writes nothing."""
    person.join(group)
    first, second = person.sync(), person.sync()
    assert first.sent
    assert second.sent
    assert second.said[0] == "round 1 was answered before"
    assert len(ledger.entries(person.store)) == 1
    assert len(stored_digests(group)) == 1


def test_a_sync_says_how_many_are_awaited_and_until_when(group: Group, person: Person) -> None:
    """Of the updates that close the round one is there: the others, and the day on which it closes without them."""
    person.join(group)
    said = person.sync().said[0]
    quorum = group.made.settings.rounds.quorum
    day = iso_minute(membership.load_standing(person.store).deadline)
    assert quorum > 1
    assert said.endswith(f"(1 update so far, {quorum - 1} awaited until {day})")


def test_a_device_takes_over_the_groups_new_name(group: Group, person: Person) -> None:
    """The name of the signed announcement is said once and kept; what a terminal would obey in it is not."""
    before = person.join(group)
    with writing(group.made.engine) as connection:
        set_fact(connection, "group", "grey\x1b[2J herons")
    assert person.sync().said[0] == f"the group {before.group} is now called grey\ufffd[2J herons"
    after = membership.member(person.store)
    assert after.group == "grey\ufffd[2J herons"
    assert (after.group_id, after.device) == (before.group_id, before.device)
    assert "called" not in "".join(person.sync().said)
    with writing(group.made.engine) as connection:
        set_fact(connection, "group", "x" * 1_000_000)
    assert [len(line) < 200 for line in person.sync().said] == [True, True]


def test_two_devices_close_a_round_and_the_next_begins_from_their_ranker(tmp_path: Path, make_person: Make) -> None:
    """With two updates the group's ranker moves on, and a device that syncs again is offered it."""
    people = [make_person(epsilon_budget=500), make_person(epsilon_budget=500)]
    with serving(tmp_path / "quiet", privacy=QUIET) as group:
        for number, person in enumerate(people):
            person.see_pages(10, seed=number)  # fewer than the adoption test needs
            person.join(group)
            assert person.sync().sent
        people[0].sync()
    adopted = group_ranker.load(people[0].store)
    assert adopted is not None
    assert adopted.record.round == 1


def test_the_ranker_that_every_device_has_is_no_news(group: Group, make_person: Make) -> None:
    """Before anything was learned there is nothing to take over, and nothing is said about it."""
    person = make_person()
    person.see_pages(10)
    person.join(group)
    said = person.sync().said
    assert group_ranker.load(person.store) is None
    assert "noise" not in " ".join(said)


def test_each_page_teaches_a_lineage_once(group: Group, make_person: Make) -> None:
    """Each round replays only pages that came after the last one; where there are none it is answered all the same."""
    people = [make_person(), make_person()]
    for number, person in enumerate(people):
        person.see_pages(6, seed=number)
        person.join(group)
        person.sync()
    assert people[0].sync().said[0].startswith("answered round 2, with noise alone: no new pages (1 update so far")
    people[1].sync()
    people[0].see_pages(4, seed=9)
    people[0].sync()
    assert [upload.n_interactions for upload in ledger.all_uploads(people[0].store)] == [6, 0, 4]
    assert len(ledger.entries(people[0].store)) == 3


def test_a_lost_answer_is_made_up_for_with_the_same_bytes(group: Group, person: Person) -> None:
    """When the acknowledgement is lost the next sync sends the same sealed bytes, and the server counts them once."""
    person.join(group)
    sent: list[bytes] = []

    def lose(self: Correspondence, body: bytes, kind: type[Answer]) -> object:
        sent.append(body)
        sending(self, body, kind)
        raise Unreachable("the answer was lost")

    sending = Correspondence.send
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Correspondence, "send", lose)
        with pytest.raises(Unreachable):
            person.sync()
    upload = ledger.find_upload(person.store, 1, 1)
    assert upload is not None
    assert upload.body == sent[0]
    assert person.sync().sent
    assert len(stored_digests(group)) == 1
    assert len(ledger.entries(person.store)) == 1


KILLED = """
import os, signal
from pathlib import Path
from tests.app.federation.groups import Person, hasty
from app.federation.server import Correspondence
from console.wording import iso_minute
from app.settings import Settings
from app.store import Store
from app.federation.sync import Sync

def die(self, body, kind):
    os.kill(os.getpid(), signal.SIGKILL)

Correspondence.send = die
Sync(Store(Path({state!r})), Settings(), lambda lines: True, by=hasty, sleep=lambda seconds: None).run()
"""


def test_killed_between_the_ledger_and_the_upload_counts_as_spent(group: Group, person: Person) -> None:
    """After kill -9 just before sending, the ledger has the round, the server has not; the same bytes go out later."""
    person.join(group)
    code = KILLED.format(state=str(person.store.path))
    done = copied.run([], variables=os.environ, cwd=person.store.path.parent, code=code)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert stored_digests(group) == []
    spent = ledger.entries(person.store)
    assert [(entry.lineage, entry.round) for entry in spent] == [(1, 1)]
    upload = ledger.find_upload(person.store, 1, 1)
    assert upload is not None
    assert upload.body is not None
    inner = unseal(round_private_key(group), decode(upload.body, Sealed).box)
    assert person.sync().sent
    assert ledger.entries(person.store) == spent
    assert stored_digests(group) == [hashlib.blake2b(inner, digest_size=32).hexdigest()]


def test_an_update_that_comes_too_late_is_spent_and_not_sent_again(group: Group, make_person: Make) -> None:
    """A round that closes while an update waits refuses it; the device says so and goes on to the next round."""
    late, *others = (make_person(retries=0) for _ in range(3))
    for number, person in enumerate((late, *others)):
        person.see_pages(10, seed=number)
        person.join(group)

    def others_first(self: Correspondence, body: bytes, kind: type[Answer]) -> object:
        patch.undo()
        for person in others:
            person.sync()
        return sending(self, body, kind)

    sending = Correspondence.send
    patch = pytest.MonkeyPatch()
    patch.setattr(Correspondence, "send", others_first)
    report = late.sync()
    assert not report.sent
    assert "too late for round 1" in report.said[0]
    assert len(ledger.entries(late.store)) == 1
    late.see_pages(5, seed=7)
    assert late.sync().sent


def test_a_ranker_of_an_older_version_is_known_by_what_was_published(group: Group, person: Person) -> None:
    """After an update in the midst of a round: its ranker lacks a field that came since, and its hash is of what the
    older server had signed."""
    with writing(group.made.engine) as connection:
        fields = json.loads(connection.execute(select(models.c.record)).scalar_one())
        body = json.dumps({name: fields[name] for name in fields if name != "lost"}, separators=(",", ":")).encode()
        connection.execute(models.update().values(record=body, hash=digest(body)))
        connection.execute(rounds.update().values(model_hash=digest(body)))
    person.join(group)
    assert person.sync().sent


class AnswersLost(Transport):
    """The first answer to each request is lost, and it is sent again."""

    def _once(self, method: str, path: str, body: bytes, *, signed: bool) -> bytes:
        Transport._once(self, method, path, body, signed=signed)
        return Transport._once(self, method, path, body, signed=signed)


def test_who_closed_the_round_is_not_told_that_it_came_too_late(group: Group, make_person: Make) -> None:
    """The last update closes the round, and the server's word for it is lost: sent again it is for a round that is
    over, but it was counted, and the device says so."""
    *others, last = [make_person() for _ in range(group.made.settings.rounds.quorum)]
    for person in (*others, last):
        person.join(group)
    for person in others:
        person.sync()
    last.by = AnswersLost
    report = last.sync()
    assert report.sent
    assert "answered round 1, with noise alone: no new pages (the round closed with it" in report.said[0]
    assert ledger.all_uploads(last.store)[0].state == "sent"
    assert len(ledger.entries(last.store)) == 1


def test_the_budget_is_never_passed(group: Group, person: Person) -> None:
    """With a budget below one round's epsilon nothing is sent or written, and the sync says why; the ranker comes."""
    person.join(group)
    person.set(epsilon_budget=0.5)
    report = person.sync()
    assert not report.sent
    assert "past its budget of 0.5" in report.refused
    assert ledger.entries(person.store) == ()
    assert stored_digests(group) == []
    assert membership.load_standing(person.store).error == report.refused


@pytest.mark.parametrize(
    "privacy",
    [
        OPEN,
        'privacy = { mechanism = "gaussian", clip = 0.5, noise_multiplier = 4.0, distributed = true, n_clients = 3 }',
        'privacy = { mechanism = "fpdgd-paper", sensitivity = 3.0, epsilon = 4.5, n_clients = 3 }',
    ],
)
def test_terms_without_protection_need_a_setting(tmp_path: Path, person: Person, privacy: str) -> None:
    """No noise, the paper's noise and shares of noise are refused unless federation.allow_unprotected is true."""
    with serving(tmp_path / "unprotected", privacy=privacy) as group:
        person.join(group)
        assert "infinite epsilon" in person.sync().refused
        assert ledger.entries(person.store) == ()
        person.set(allow_unprotected=True)
        assert person.sync().sent
        assert ledger.epsilon(ledger.entries(person.store), 1e-5, "zero-out") == float("inf")


def test_an_invite_works_once(group: Group, make_person: Make) -> None:
    """A second device with the same link is refused by the server; the first may ask again with its own key."""
    invite = group.invite()
    first, second = make_person(), make_person()
    first.joining().join(invite, agrees=lambda lines: True)
    with pytest.raises(Declined, match="bad-invite"):
        second.joining().join(invite, agrees=lambda lines: True)
    with pytest.raises(FederationError, match="belongs to the group herons already"):
        first.join(group)


def test_an_enrolment_whose_answer_was_lost_is_taken_up_again(group: Group, person: Person) -> None:
    """Joining once more after a crash uses the key of the first attempt, so the spent invite still works."""
    invite = group.invite()

    def lose(self: Correspondence, invite: Invite) -> object:
        enrol(self, invite)
        raise Unreachable("the answer was lost")

    enrol = Correspondence.enrol
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Correspondence, "enrol", lose)
        with pytest.raises(Unreachable):
            person.joining().join(invite, agrees=lambda lines: True)
    assert person.joining().join(invite, agrees=lambda lines: True).group == "herons"


def test_a_device_that_joins_again_does_not_answer_a_round_twice(group: Group, person: Person) -> None:
    """Under a new pseudonym, the round that was answered under the old one is sat out."""
    person.join(group)
    person.sync()
    person.joining().leave(forget=False)
    person.join(group)
    assert "before this device joined again" in person.sync().said[0]
    assert len(ledger.entries(person.store)) == 1


def test_the_others_follow_to_the_new_lineage(tmp_path: Path, make_person: Make) -> None:
    """After someone was forgotten a device drops the abandoned ranker, and its pages count as new."""
    people = [make_person(epsilon_budget=500), make_person(epsilon_budget=500)]
    with serving(tmp_path / "quiet", privacy=QUIET) as group:
        for number, person in enumerate(people):
            person.see_pages(10, seed=number)
            person.join(group)
            person.sync()
        people[1].sync()
        people[0].joining().leave(forget=True)
        report = people[1].sync()
    assert report.sent
    assert "learned from 10 pages" in report.said[1]
    assert group_ranker.load(people[1].store) is None, "it begins again from the ranker that every device has"
    assert membership.load_standing(people[1].store).lineage == 2


def test_a_forgetting_round_replays_used_pages_and_its_progress_can_be_asked_for(
    tmp_path: Path, make_person: Make
) -> None:
    """With FedEraser the others replay the newest n' pages, and the leaver sees the work get done."""
    with serving(tmp_path / "eraser", forgetting="federaser", quorum=2, floor=1) as group:
        people = [make_person() for _ in range(3)]
        for number, person in enumerate(people):
            person.see_pages(10, seed=number)
            person.join(group)
        for person in people[:2]:
            person.sync()
        kept = people[0].joining().leave(forget=True)
        assert kept is not None
        assert kept.receipt.state == "unlearning"
        assert "had not taken part before" in people[2].sync().said[0]
        report = people[1].sync()
        assert "learned from 5 pages" in report.said[1]
        # The round has one update, its floor, so it closes at the deadline.
        with writing(group.made.engine) as connection:
            connection.execute(rounds.update().values(deadline=0))
        group.service.tick()
        (now,) = people[0].joining().progress()
        assert now.receipt.state == "done"
        assert now.receipt.approximate
