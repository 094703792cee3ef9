"""kill -9 of a real server at every state of a round: nothing acknowledged is lost, nothing is counted twice.

The server is a process of its own that kills itself at the chosen point of its own work. The same three members then
go on with a fresh process: who has no acknowledgement sends again. The model must be that of a run without a fault.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import requests
from sqlalchemy import func, select, text

from federation_server.database import connect, is_current, reading, upgrade
from federation_server.serve import Installation, open_installation
from federation_server.tables import models, rounds, updates
from foltr.federated.wire import Announcement
from tests.federation_server.client import (
    Client,
    ServerProcess,
    afterwards,
    instead,
    make_server,
    member,
    reason,
    running,
)  # fmt: skip
from tests.federation_server.round_robin import balanced
from tests.ports import free_port

CHANGES = (0.25, 0.5, 1.5)
"""what three members add to the first weight; their mean is 0.75"""
POINTS = {
    "before the transaction": instead("running.service", "Service._keep"),
    "inside the transaction": afterwards("rounds.intake", "keep"),
    "between commit and answer": afterwards("running.service", "Service._keep"),
    "between answer and closing": instead("running.service", "Service.close", first="import time; time.sleep(0.3)"),
    "inside closing": instead("rounds.rounds", "end"),
    "between closing and opening": instead("rounds.rounds", "open_next"),
    "after opening": afterwards("running.service", "Service.close", when="result is not None"),
}
"""of which one lets the last answer leave first"""


PLACES = [("sqlite", point) for point in POINTS] + [("postgresql", point) for point in POINTS if "inside" in point]
"""between two transactions it is all the same which database keeps what was committed"""


@pytest.mark.parametrize(("database_url", "point"), PLACES, indirect=["database_url"])
def test_killed_at_every_state_of_a_round(tmp_path: Path, database_url: str, point: str) -> None:
    """Three members' updates are each counted once, wherever the server dies of the third one; the next round works."""
    made = make_server(tmp_path / "server", database=database_url)
    with running(made):
        ada, bob, eve = members = [member(made) for _ in CHANGES]
        told, first = ada.announcement(), ada.theta()[0]
        assert ada.update(CHANGES[0], told).ok
        assert bob.update(CHANGES[1], told).ok
    acknowledged = killed_by(ServerProcess(made, POINTS[point]), eve, told)
    with running(made):
        if not acknowledged:
            answer = eve.update(CHANGES[2], told)
            # Or it had been kept, and was counted when the fresh process closed the round that was full.
            assert answer.ok or reason(answer) == "stale-round"
        assert [client.announcement().round for client in members] == [2, 2, 2]
        assert eve.theta()[0] == first + np.mean(CHANGES)
        assert all(client.update(1.0).ok for client in members)
        assert ada.theta()[0] == pytest.approx(first + np.mean(CHANGES) + 1.0)
    assert counted(made) == {1: 3, 2: 3}
    made.engine.dispose()


def killed_by(server: ServerProcess, client: Client, told: Announcement) -> bool:
    """The third update kills the server; whether an acknowledgement came first."""
    try:
        server.start().wait_until_ready()
        acknowledged = client.update(CHANGES[2], told).ok
    except requests.RequestException:
        acknowledged = False
    finally:
        exit_code = server.ended()
    assert exit_code == -9, server.log()
    return acknowledged


def counted(made: Installation) -> dict[int, int]:
    """Stored updates by closed round."""
    with reading(made.engine) as connection:
        query = select(updates.c.round, func.count()).group_by(updates.c.round)
        return {row[0]: row[1] for row in connection.execute(query)}


def test_two_processes_close_a_round_once(tmp_path: Path, postgresql: str) -> None:
    """Two servers on one PostgreSQL take updates at once; each round is closed by one of them, with all its updates."""
    url = fresh(postgresql)
    made = make_server(tmp_path / "server", database=url, quorum=8)
    other = second(made, tmp_path / "other")
    with running(made), running(other), ThreadPoolExecutor(8) as pool:
        members = [member(made) for _ in range(8)]
        for number, client in enumerate(members):
            client.address = (made, other)[number % 2].public_address
        for wanted in (1, 2):
            told = members[0].announcement()
            assert told.round == wanted
            assert all(answer.ok for answer in pool.map(lambda client: client.update(0.5, told), members))  # noqa: B023
            while {client.announcement().round for client in members} != {wanted + 1}:
                time.sleep(0.02)  # the process that did not close it has not looked yet
        with reading(made.engine) as connection:
            closed = connection.execute(select(rounds.c.round, rounds.c.n_updates).where(rounds.c.state == "closed"))
            assert {row[0]: row[1] for row in closed} == {1: 8, 2: 8}
            assert connection.execute(select(func.count()).select_from(models)).scalar_one() == 3
            assert connection.execute(select(func.count()).where(rounds.c.state == "open")).scalar_one() == 1


@pytest.mark.parametrize("victim", [0, 1])
def test_either_of_two_processes_behind_a_proxy_may_die(tmp_path: Path, postgresql: str, victim: int) -> None:
    """Members know the proxy alone; whichever server is killed, the other goes on, and each update counts once."""
    made = make_server(tmp_path / "server", database=fresh(postgresql), quorum=4)
    other = second(made, tmp_path / "other")
    processes = [ServerProcess(one).start().wait_until_ready() for one in (made, other)]
    try:
        with balanced(made.settings.server.port, other.settings.server.port) as address:
            members = [member(made) for _ in range(4)]
            for client in members:
                client.address = address
            told = members[0].announcement()
            first = members[0].theta()[0]
            assert all(client.update(0.5, told).ok for client in members[:2])
            killed = processes[victim].process
            assert killed is not None
            killed.kill()
            killed.join()
            for client in members:
                client.session.close()  # the connections through the proxy died with the server
            assert all(client.update(0.5, told).ok for client in members)
            while {client.announcement().round for client in members} != {2}:
                time.sleep(0.02)
            assert members[0].theta()[0] == first + 0.5
    finally:
        for process in processes:
            process.stop()
    assert counted(made) == {1: 4}
    for one in (made, other):
        one.engine.dispose()


def test_two_processes_upgrade_an_empty_database_at_once(postgresql: str) -> None:
    """Both find the tables afterwards, and neither fails."""
    url = fresh(postgresql)
    engines = [connect(url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(upgrade, engines)) == [None] * 4
    assert all(is_current(engine) for engine in engines)
    for engine in engines:
        engine.dispose()


def second(made: Installation, folder: Path) -> Installation:
    """Another server on the same database, with the same keys and a port of its own."""
    port = free_port()
    folder.mkdir()
    settings = (made.folder / "server.toml").read_text()
    (folder / "server.toml").write_text(settings.replace(f"port = {made.settings.server.port}", f"port = {port}", 1))
    made.vault.write(folder / "keys.json")
    return open_installation(folder / "server.toml")


def fresh(postgresql: str) -> str:
    """The address of an empty database; the whole PostgreSQL goes away with the tests."""
    name = f"t{os.urandom(6).hex()}"
    admin = connect(postgresql).execution_options(isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return postgresql.replace("/postgres?", f"/{name}?")
