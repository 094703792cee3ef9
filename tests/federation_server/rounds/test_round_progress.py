"""Whom the open round waits for: numbers, and one sentence."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import Engine

from federation_server.database import connect, reading, upgrade, writing
from federation_server.group import enrolment, group
from federation_server.rounds.closing import Closed, close_due
from federation_server.rounds.round_progress import Awaited
from federation_server.rounds.rounds import Schedule
from federation_server.sealed.summing import awaited_now
from tests.federation_server.groups import NOW, POLICY, START, VAULT, device, join, make_group, send

EVERYBODY = Schedule(quorum=0, seconds=60)


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Three members, a floor of two, and a round that waits for everybody."""
    made = connect(f"sqlite:///{tmp_path}/server.sqlite")
    upgrade(made)
    make_group(made, floor=2, n_members=3)
    return made


def waits(engine: Engine) -> Awaited:
    with reading(engine) as connection:
        found = awaited_now(connection, EVERYBODY, now=NOW)
    assert found is not None
    return found


def close(engine: Engine, *, asked: bool = False) -> Closed | None:
    with writing(engine) as connection:
        return close_due(connection, VAULT, replace(POLICY, schedule=EVERYBODY), now=NOW, asked=asked)


def test_without_a_quorum_a_round_waits_for_each_active_member_and_no_longer(engine: Engine) -> None:
    """Three members and three answers close it at once, where a quorum of five would wait for its deadline."""
    send(engine, 0, START)
    send(engine, 1, START)
    assert (waits(engine).n_missing, waits(engine).is_enough, close(engine)) == (1, True, None)
    send(engine, 2, START)
    closed = close(engine)
    assert closed is not None
    assert closed.n_updates == 3


def test_who_answered_and_left_does_not_stand_for_who_is_missing(engine: Engine) -> None:
    """As many updates as active members, one of them of a member that has left since: the silent one is awaited."""
    send(engine, 0, START)
    send(engine, 1, START)
    with writing(engine) as connection:
        enrolment.end_membership(connection, device(0), now=NOW)
    found = waits(engine)
    assert (found.n_updates, found.n_active, found.n_missing, found.is_complete) == (2, 2, 1, False)
    with writing(engine) as connection:
        enrolment.end_membership(connection, device(2), now=NOW)
    assert waits(engine).is_complete


def test_the_operator_may_close_early_but_not_below_the_floor(engine: Engine) -> None:
    """One update of at least two: it stays open, also when asked; with two it closes when asked alone."""
    send(engine, 0, START)
    assert close(engine, asked=True) is None
    send(engine, 1, START)
    assert close(engine) is None
    closed = close(engine, asked=True)
    assert closed is not None
    assert closed.n_updates == 2
    assert waits(engine).round == 2


@pytest.mark.parametrize(
    ("n_updates", "quorum", "n_active", "n_missing", "said"),
    [
        (0, 0, 1, 1, "0 of 1 active member answered; a round needs 3: invite 2 more members"),
        (1, 0, 5, 4, "1 of 5 active members answered, 4 more close it at once; without 2 more it goes on after "),
        (3, 5, 3, 0, "3 of 3 active members answered, 2 more close it at once; otherwise it closes on "),
        (3, 0, 5, 2, "3 of 5 active members answered, 2 more close it at once; otherwise it closes on "),
        (5, 0, 5, 0, "5 of 5 active members answered; it closes now, if the server is running"),
    ],
)
def test_what_is_awaited_in_a_sentence(n_updates: int, quorum: int, n_active: int, n_missing: int, said: str) -> None:
    """How many answered, how many more close it, and what happens without them."""
    found = Awaited(
        lineage=1, round=1, n_updates=n_updates, floor=3, quorum=quorum, n_active=n_active, n_missing=n_missing,
        deadline=NOW,
    )  # fmt: skip
    assert found.sentence.startswith(said)


def test_a_sealed_group_says_who_it_is_too_few_of(engine: Engine) -> None:
    """Three members that nobody vouched for make no cohort, however many answers the floor wants."""
    with writing(engine) as connection:
        group.set_terms(connection, msgspec.structs.replace(group.terms(connection), mode="sealed"))
    assert waits(engine).sentence == "a sealed round needs 5 members that are vouched for, and has 0"


def test_a_new_member_is_awaited_in_the_open_round(engine: Engine) -> None:
    """Who joins while a round is open can answer it, so it waits for them."""
    for number in range(3):
        send(engine, number, START)
    with writing(engine) as connection:
        join(connection, 3)
    assert (waits(engine).n_missing, waits(engine).is_complete) == (1, False)
