"""Five devices and a real server: sealed rounds to the end, with people missing, new, killed, or lied to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from sqlalchemy import func, select, update

from app.federation import inviting, ledger, membership, people
from app.federation.server import corresponding, theta_of
from federation_server import group as the_group
from federation_server.database import reading, writing
from federation_server.tables import rounds, shares
from foltr.federated.wire import Announcement
from foltr.privacy.accounting import Ledger
from foltr.privacy.gaussian_accounting import gaussian_epsilon
from foltr.privacy.mechanisms import Gaussian
from tests.app.federation.groups import Group, Person, hasty, serving

Make = Callable[..., Person]
SEALED = 'mode = "sealed"'


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Group]:
    """A sealed group of the default terms, without an end of its rounds."""
    with serving(tmp_path / "server", privacy=SEALED, quorum=0, floor=3) as made:
        yield made


def friends(group: Group, make_person: Make, n: int = 5) -> list[Person]:
    """A founder by the administrator's invite, who invites the others; each has seen pages."""
    made = [make_person() for _ in range(n)]
    for number, person in enumerate(made):
        person.see_pages(20, seed=number)
        invite = group.invite() if number == 0 else inviting.invite(made[0].store, made[0].settings, by=hasty).invite
        person.joining().join(invite, agrees=lambda lines: True)
    return made


def told_to(person: Person) -> Announcement:
    member = membership.member(person.store)
    with corresponding(member, person.settings.federation, by=hasty) as server:
        return server.announcement(membership.load_standing(person.store))


def after_deadline(group: Group) -> None:
    with writing(group.installation.engine) as connection:
        connection.execute(update(rounds).where(rounds.c.state == "open").values(deadline=1))
    group.service.tick()


def closed_rounds(group: Group) -> int:
    with reading(group.installation.engine) as connection:
        return int(connection.execute(select(func.count()).where(rounds.c.state == "closed")).scalar_one())


def kept(group: Group, table: object) -> int:
    with reading(group.installation.engine) as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def test_five_people_add_up_a_round_and_the_ledger_is_the_accountants(sealed: Group, make_person: Make) -> None:
    """All share, the committee adds up, the next round begins from the sum; each ledger has one round of z."""
    everyone = friends(sealed, make_person)
    before = told_to(everyone[0])
    said = [person.sync().said for person in everyone]
    assert all("answered round 1" in " ".join(lines) for lines in said)
    assert "added up round 1 of 5 members, unread" in said[-1]  # the last to answer adds up in the same sync
    for person in everyone[:3]:
        assert any(line.startswith("added up round 1 of 5") for line in person.sync().said)
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
    (person,) = friends(sealed, make_person, 1)
    mechanism = Gaussian(clip=0.8, noise_multiplier=2.17, distributed=True, n_clients=3)
    entry = ledger.plan_entry(told_to(person).terms, lineage=1, round=1, now=1, mechanism=mechanism)
    assert np.isfinite(ledger.epsilon((entry,), 1e-5, "zero-out"))
    terms = msgspec.structs.replace(told_to(person).terms, mode="open")
    opened = ledger.plan_entry(terms, lineage=1, round=1, now=1, mechanism=mechanism)
    assert np.isinf(ledger.epsilon((opened,), 1e-5, "zero-out"))


def test_the_sum_is_that_of_the_updates(sealed: Group, make_person: Make) -> None:
    """Without anyone having opened anything, the ranker's weights that are not shared stay, and the others move."""
    everyone = friends(sealed, make_person)
    with reading(sealed.installation.engine) as connection:
        first = theta_of(the_group.newest(connection).record)
    for _ in range(2):
        for person in everyone:
            person.sync()
    with reading(sealed.installation.engine) as connection:
        newest = the_group.newest(connection)
    moved = np.flatnonzero(theta_of(newest.record) - first)
    shared = told_to(everyone[0]).terms.settings["shared"]
    assert newest.record.round >= 1
    assert set(moved) == set(shared)


def test_two_may_be_missing_and_a_third_may_not(sealed: Group, make_person: Make) -> None:
    """With four of five at the deadline the round is added up by four of them; who was away answers the next one."""
    everyone = friends(sealed, make_person)
    for person in everyone[:4]:
        person.sync()
    assert told_to(everyone[0]).phase == "collect"
    after_deadline(sealed)
    assert told_to(everyone[0]).phase == "sum"
    assert "round 1 is being added up" in everyone[4].sync().said[-2:][0] or ledger.entries(everyone[4].store) == ()
    for person in everyone[:4]:
        person.sync()
    assert told_to(everyone[0]).round == 2
    assert everyone[4].sync().sent


def test_a_newcomer_of_the_administrator_waits_until_a_member_vouches(sealed: Group, make_person: Make) -> None:
    """It sends nothing and says whom to ask; once vouched for, the next round has it."""
    everyone = friends(sealed, make_person)
    newcomer = make_person()
    newcomer.see_pages(20, seed=9)
    member = newcomer.join(sealed)
    report = newcomer.sync()
    assert not report.sent
    assert "no member has vouched for this device yet" in report.said[0]
    assert people.own_print(member) in report.said[0]
    assert ledger.entries(newcomer.store) == ()
    waiting = inviting.waiting(everyone[0].store, everyone[0].settings, by=hasty)
    assert [(one.device, people.print_of(one.device_key, one.box_key)) for one in waiting] == [
        (member.device, people.own_print(member))
    ]
    inviting.vouch(everyone[0].store, everyone[0].settings, member.device[:8], by=hasty)
    assert "takes part in the next" in newcomer.sync().said[0]
    for _ in range(2):
        for person in everyone:
            person.sync()
    assert told_to(newcomer).round == 2
    assert newcomer.sync().sent


def test_fewer_than_five_are_too_few_to_hide_one_another(sealed: Group, make_person: Make) -> None:
    """Four members send nothing, and are told how many it takes."""
    for person in friends(sealed, make_person, 4):
        assert "needs 5 members that are vouched for" in person.sync().said[0]
        assert ledger.entries(person.store) == ()
    assert kept(sealed, shares) == 0
