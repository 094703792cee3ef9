"""A server with history, and its dashboard."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import uvicorn
from sqlalchemy import Engine

from federation_server.dashboard.routes import Dashboard
from federation_server.database import connect, reading, upgrade, writing
from federation_server.forgetting import forgetting
from federation_server.group import group
from federation_server.rounds.closing import close_due
from federation_server.running.service import Service
from federation_server.running.web_server import Server
from federation_server.settings import ServerSettings
from federation_server.vault import hash_of
from tests.federation_server.groups import ADMIN_TOKEN, OPEN, POLICY, VAULT, device, forgetter, make_group, send

NOW = int(time.time())


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """A group with history: six rounds, one of them attacked, and one member forgotten."""
    made = connect(f"sqlite:///{tmp_path}/server.sqlite")
    upgrade(made)
    make_group(made, settings=OPEN, n_members=12)
    rng = np.random.default_rng(0)
    for number in range(6):
        theta = _theta(made)
        for member in range(9):
            send(made, member, theta + [0.3, 0.1, -0.2] + 0.05 * rng.standard_normal(3))
        if number == 4:
            send(made, 9, theta - np.array([30.0, 10.0, -20.0]))
        with writing(made) as connection:
            assert close_due(connection, VAULT, POLICY, now=NOW) is not None
    with writing(made) as connection:
        group.set_fact(connection, "dashboard token", hash_of(ADMIN_TOKEN))
        forgetting.forget(connection, forgetter(tmp_path), device(11), now=NOW)
    return made


@pytest.fixture
def noised(tmp_path: Path) -> Engine:
    """A group of twelve with noise, six of the period's eight rounds over and two answers in the seventh."""
    made = connect(f"sqlite:///{tmp_path}/noised.sqlite")
    upgrade(made)
    make_group(made, n_members=12)
    with writing(made) as connection:
        group.set_terms(connection, msgspec.structs.replace(group.terms(connection), n_rounds=8))
        group.set_fact(connection, "dashboard token", hash_of(ADMIN_TOKEN))
    rng = np.random.default_rng(1)
    for number in range(7):
        for member in range(9 if number < 6 else 2):
            send(made, member, _theta(made) + [0.3, 0.1, -0.2] + 0.5 * rng.standard_normal(3))
        with writing(made) as connection:
            assert (close_due(connection, VAULT, POLICY, now=NOW) is not None) == (number < 6)
    return made


def _theta(engine: Engine) -> np.ndarray:
    with reading(engine) as connection:
        return group.newest(connection).model.theta


@pytest.fixture
def address(engine: Engine, tmp_path: Path) -> Iterator[str]:
    """The server on a free port of loopback."""
    with serving(engine, tmp_path, ServerSettings()) as found:
        yield found


@contextmanager
def serving(
    engine: Engine,
    folder: Path,
    settings: ServerSettings,
    prepare: Callable[[Dashboard], None] = lambda dashboard: None,
) -> Iterator[str]:
    """Its address while it is served."""
    # A day: on a busy machine a round of a minute could close before the page is read.
    patient = replace(POLICY, schedule=replace(POLICY.schedule, seconds=86_400))
    server = Server(Service(engine, replace(forgetter(folder), policy=patient), settings))
    listener = socket.create_server(("127.0.0.1", 0))
    dashboard = Dashboard(server)
    prepare(dashboard)
    application = server.application(*dashboard.routes())
    running = uvicorn.Server(uvicorn.Config(application, log_config=None))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(120)
