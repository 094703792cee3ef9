"""What the addresses rest on: counting after an erasure, errors in the log, and a rule that wants more updates."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from federation_server import database
from federation_server.database import connect, error_text, reading, writing
from federation_server.forgetting import forgetting
from federation_server.group import enrolment, group
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.running import web_server
from federation_server.running.monitoring import Counters
from federation_server.running.service import Service
from federation_server.serve import service_of
from foltr.federated.wire import Accepted
from tests.federation_server.client import make_server
from tests.federation_server.groups import NOW, START, device, enrolling, forgetter, identity, make_group, send


def test_an_erased_update_counts_no_longer_towards_the_floor(engine: Engine, tmp_path: Path) -> None:
    """Of two updates in the open round one is erased with its member: one is left, and the files are to be scrubbed."""
    make_group(engine, n_members=2)
    send(engine, 0, START)
    send(engine, 1, START)
    with writing(engine) as connection:
        forgetting.forget(connection, forgetter(tmp_path), device(0), now=NOW)
        here = rounds.present(connection)
    assert here is not None
    assert here.n_updates == 1
    assert database.is_scrub_due(engine)
    database.scrub(engine)
    assert not database.is_scrub_due(engine)


def test_an_expired_member_does_not_pass_as_enrolled(engine: Engine) -> None:
    """Its key is refused, as that of a member who left."""
    make_group(engine, n_members=0)
    with writing(engine) as connection:
        group_id = group.terms(connection).group_id
        tokens = [enrolment.invite(connection, note="", seconds=600, now=NOW) for _ in range(2)]
        enrolment.redeem(connection, enrolling(tokens[0], identity(0), group_id), lifetime=10, now=NOW)
        with pytest.raises(enrolment.Refused):
            enrolment.redeem(connection, enrolling(tokens[1], identity(0), group_id), lifetime=10, now=NOW + 11)


def test_an_error_of_the_database_quotes_no_row() -> None:
    """Neither the log's text nor the error's own has the parameters of the statement; what can be mended is named."""
    engine = connect("sqlite://")
    with pytest.raises(SQLAlchemyError) as error, reading(engine) as connection:
        connection.execute(text("SELECT * FROM nowhere WHERE device = :device"), {"device": "a pseudonym"})
    assert "a pseudonym" not in str(error.value)
    assert error_text(error.value) == "OperationalError"
    full = OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
    assert error_text(full) == "OperationalError: the disk is full"
    held = OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
    assert error_text(held) == "OperationalError: database is locked"
    assert isinstance(error.value, OperationalError)


def test_only_the_update_that_makes_a_round_due_closes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one of the first two of three, nor one that was refused."""
    made = make_server(tmp_path / "server", quorum=3)
    service = service_of(made, Counters())
    for _ in range(2):
        service.tick()  # opens the first round, then looks at it
    closings: list[Service] = []
    monkeypatch.setattr(Service, "close", lambda self: closings.append(self))
    service._close_if_enough([Accepted(round=1, received=2), Refused("stale-round")])
    assert closings == []
    service._close_if_enough([Accepted(round=1, received=3)])
    assert closings == [service]
    made.engine.dispose()


def test_a_failure_of_the_periodic_work_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not each second as long as it lasts; after a success the next one is logged again. Whatever it is, the work goes
    on: without it no round would close at its deadline."""
    monkeypatch.setattr(logging.getLogger("foltr-server"), "propagate", True)  # a server of this process had it off
    monkeypatch.setattr(web_server, "TICK_SECONDS", 0.0)
    full, damaged = OSError("no room"), msgspec.DecodeError("a damaged row")
    counters, fails = Counters(), iter([full, full, full, False, damaged, damaged])
    server = web_server.Server(service_of(make_server(tmp_path / "server"), counters), counters)

    async def ticking() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.create_task(server._tick())

        def tick(service: Service) -> None:
            fail = next(fails, None)
            if fail is None:
                loop.call_soon_threadsafe(task.cancel)
            elif fail:
                raise fail

        monkeypatch.setattr(Service, "tick", tick)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(ticking())
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
