"""kill -9 of a real server in every phase of a sealed round: nothing acknowledged is lost, nothing is added up twice.

The server is a process of its own that kills itself at the chosen point of its own work, while the last of five members
sends its update, or the last of the committee its answer. The members then go on with a fresh process: who has no
acknowledgement sends again. The ranker must be that of a run without a fault, to the bit, and the list the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import requests
from sqlalchemy import func, select

from federation_server.database import reading
from federation_server.serve import Installation
from federation_server.tables import models, rounds
from foltr.federated.wire import Announcement
from tests import few_coins
from tests.federation_server.client import Client, ServerProcess, afterwards, instead, reason, running
from tests.federation_server.sealed_members import STEPS, Begun, begin, copied, moved, send_answer, share

pytestmark = pytest.mark.usefixtures("few_coins")

COLLECT = {
    "inside the commitment's transaction": afterwards("sealed.inbox", "keep_noise"),
    "after the commitment's transaction": instead("sealed.inbox", "offered"),
    "before the share's transaction": instead("sealed.inbox", "keep_shared"),
    "inside the share's transaction": afterwards("sealed.inbox", "keep_shared"),
    "between the share's commit and its answer": instead("running.service", "Service._go_on"),
    "before the list": instead("sealed.summing", "make_list"),
    "inside the list's transaction": afterwards("sealed.summing", "_collected"),
    "after the list": afterwards("running.service", "Service._go_on"),
}
SUM = {
    "inside the answer's transaction": afterwards("sealed.inbox", "keep_answer"),
    "between the answer's commit and closing": instead("running.service", "Service._go_on"),
    "inside closing": instead("rounds.rounds", "end"),
    "between closing and opening": instead("rounds.rounds", "open_next"),
    "after closing": afterwards("running.service", "Service.close", when="result is not None"),
}


POINTS = {**COLLECT, **SUM}
PLACES = [("sqlite", point) for point in POINTS] + [("postgresql", point) for point in POINTS if "inside" in point]
"""between two transactions it is all the same which database keeps what was committed"""


@pytest.fixture(scope="module")
def in_files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Begun]:
    """One begun for either phase: four have sent their update, or all, and four their answer. Each test on SQLite goes
    on with a copy."""
    return cache(lambda summing: begin(tmp_path_factory.mktemp("begun"), n_notes=4 + summing, n_answers=4 * summing))


@pytest.mark.parametrize(("database_url", "point"), PLACES, indirect=["database_url"])
def test_killed_in_every_phase_of_a_sealed_round(
    tmp_path: Path, database_url: str, point: str, in_files: Callable[[bool], Begun]
) -> None:
    """Five members' updates are each added up once, wherever the server dies; the next round opens."""
    if database_url.startswith("sqlite"):
        begun = copied(in_files(point in SUM), tmp_path / "server")
    else:
        n_notes, n_answers = (5, 4) if point in SUM else (4, 0)
        begun = begin(tmp_path / "server", database_url, n_notes=n_notes, n_answers=n_answers)
    made, people, told, first, listed = begun.made, begun.people, begun.told, begun.first, begun.listed
    server = ServerProcess(made, few_coins.IN_A_PROCESS + POINTS[point])
    fixed = killed_by(server, people[4], told, listed.list_hash if point in SUM else "")
    with running(made):
        if point in COLLECT:
            share(people[4], told, STEPS[4])
            listed = people[0].announcement()
            assert listed.phase == "sum"
            assert all(send_answer(one, listed).ok for one in people)
        elif people[0].announcement().round == 1:
            assert people[0].announcement().list_hash == fixed
            answer = send_answer(people[4], listed)
            assert answer.ok or reason(answer) == "stale-round"
        assert people[0].announcement().round == 2
        np.testing.assert_array_equal(people[0].theta(), moved(told, first, people))
    assert counted(made) == (1, 5, 2)
    made.engine.dispose()


def killed_by(server: ServerProcess, client: Client, told: Announcement, listed: str) -> str:
    """The last message kills the server; the list's hash that was announced before."""
    try:
        server.start().wait_until_ready()
        if listed:
            send_answer(client, told)
        else:
            share(client, told, STEPS[4])
    except requests.RequestException:
        pass
    finally:
        exit_code = server.ended()
    assert exit_code == -9, server.log()
    return listed


def counted(made: Installation) -> tuple[int, int, int]:
    """Closed rounds, the updates of the first, and published models."""
    with reading(made.engine) as connection:
        closed = connection.execute(select(func.count()).where(rounds.c.state == "closed")).scalar_one()
        n_updates = connection.execute(select(rounds.c.n_updates).where(rounds.c.round == 1)).scalar_one()
        return closed, n_updates, connection.execute(select(func.count()).select_from(models)).scalar_one()
