"""What a server deletes after its time, and what a clock that is years ahead must not make it delete."""

from __future__ import annotations

import time
from pathlib import Path

from sqlalchemy import func, select

from federation_server.database import reading
from federation_server.group.enrolment import LEAP
from federation_server.rounds.rounds import DAY
from federation_server.tables import invites, rounds, updates
from tests.federation_server.client import Running, make_server, member, running
from tests.waiting import until

TWO_DAYS = "[retention]\nupdate_days = 2\ninvite_days = 2\n"


def kept(server: Running) -> tuple[int, int]:
    """Updates and invites in the tables."""
    with reading(server.made.engine) as connection:
        counted = [
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (updates, invites)
        ]
    return counted[0], counted[1]


def is_over(server: Running) -> bool:
    """Whether a round is: one is closed behind the answer to its last member."""
    with reading(server.made.engine) as connection:
        return connection.execute(select(rounds.c.round).where(rounds.c.state == "closed")).first() is not None


def test_a_wrong_clock_deletes_nothing_that_is_new(tmp_path: Path) -> None:
    """Ten years ahead for half an hour: a used invite and an update stay, and leave when their two days are over."""
    with running(make_server(tmp_path / "server", quorum=1, more=TWO_DAYS)) as server:
        assert member(server.made).update(0.1).ok
        until(lambda: is_over(server))
        server.service.clean()
        began, past = int(time.time()), 2 * DAY + LEAP
        for ahead, n_cleaned, expected in ((3650 * DAY, 30, (1, 1)), (0, 1, (1, 1)), (past, past // LEAP, (0, 0))):
            server.service.clock = lambda ahead=ahead: began + ahead  # type: ignore[misc]
            for _ in range(n_cleaned):
                server.service.clean()
            assert kept(server) == expected
