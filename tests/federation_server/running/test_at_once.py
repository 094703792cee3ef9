"""Requests that come while another one changes who is a member: PostgreSQL serves them side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from sqlalchemy import text

from federation_server.database import reading, writing
from federation_server.group import enrolment, group
from tests.federation_server.client import Client, Running, invite, make_server, reason, running
from tests.federation_server.sealed.test_summing import leave
from tests.federation_server.sealed_members import STEPS, make_sealed, members, share
from tests.waiting import until

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def at_once(live: Running, asked: list[Callable[[], requests.Response]]) -> list[requests.Response]:
    """The answers to requests of which none is done before all are under way."""
    with ThreadPoolExecutor(len(asked)) as pool:
        with writing(live.made.engine) as connection:
            group.lock(connection)
            answers = [pool.submit(one) for one in asked]
            until(lambda: waiting(live) == len(asked))
        return [answer.result() for answer in answers]


def waiting(live: Running) -> int:
    with reading(live.made.engine) as connection:
        return int(connection.execute(text(WAITING)).scalar_one())


def test_who_asks_again_before_the_first_answer_has_joined(database_url: str, tmp_path: Path) -> None:
    """A device asks to join, hears nothing and asks again: both requests are answered, and it is one member."""
    with running(make_server(tmp_path / "server", database=database_url)) as live:
        first, link = Client(live.made.public_address), invite(live.made)
        again = Client(first.address, first.identity, first.box)
        answers = at_once(live, [lambda: first.join(link), lambda: again.join(link)])
        assert [answer.status_code for answer in answers] == [200, 200]
        with reading(live.made.engine) as connection:
            assert [one.device for one in enrolment.all_members(connection)] == [first.device]


@pytest.mark.usefixtures("few_coins")
def test_of_two_who_leave_at_once_the_second_is_needed(database_url: str, tmp_path: Path) -> None:
    """Of five members one may be missing from a round that somebody has answered: the other one is asked to wait."""
    with running(make_sealed(tmp_path / "server", database=database_url)) as live:
        people = members(live.made, 5)
        assert share(people[0], people[0].announcement(), STEPS[0]).ok
        goes: list[Callable[[], requests.Response]] = [
            lambda one=one: leave(one, at_once=False)  # type: ignore[misc, return-value]
            for one in people[3:]
        ]
        answers = sorted(at_once(live, goes), key=lambda answer: answer.status_code)
        assert answers[0].ok
        assert reason(answers[1]) == "needed"
