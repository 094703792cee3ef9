"""Who may see the administrator's page."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
import requests
from requests.adapters import HTTPAdapter
from sqlalchemy import Engine

from federation_server.dashboard.routes import Dashboard
from federation_server.running.limits import Buckets
from federation_server.settings import LimitsSection, ServerSettings
from tests.federation_server.dashboard.conftest import serving
from tests.federation_server.groups import ADMIN_TOKEN


class From(HTTPAdapter):
    """Requests from another address of this machine."""

    def __init__(self, source: str) -> None:
        self._source = source
        super().__init__()

    def init_poolmanager(self, *args: object, **keywords: object) -> None:
        super().init_poolmanager(*args, source_address=(self._source, 0), **keywords)


def login(address: str, token: str, source: str) -> int:
    """The answer to a token that comes from `source`."""
    session = requests.Session()
    session.mount("http://", From(source))
    answer = session.post(f"{address}/dashboard/login", data={"token": token}, timeout=120, allow_redirects=False)
    return answer.status_code


def test_without_the_token_nothing_is_shown(address: str) -> None:
    """The page asks for the token, a wrong one opens nothing, and after five of one address a minute must pass."""
    assert "members" not in requests.get(f"{address}/dashboard", timeout=120).text.lower()
    assert [login(address, "guess", "127.0.0.1") for _ in range(6)] == [401] * 5 + [429]
    assert login(address, ADMIN_TOKEN, "127.0.0.1") == 429


def test_guessing_of_others_does_not_keep_the_administrator_out(engine: Engine, tmp_path: Path) -> None:
    """When all together have guessed too often, wrong tokens are told to wait, and the right one opens."""

    def three_a_day(dashboard: Dashboard) -> None:
        dashboard.all_guesses = Buckets(3, 86_400.0, time.monotonic)

    with serving(engine, tmp_path, ServerSettings(), three_a_day) as address:
        assert [login(address, "guess", f"127.0.1.{number}") for number in range(4)] == [401] * 3 + [429]
        assert login(address, ADMIN_TOKEN, "127.0.2.1") == 303
        assert login(address, "guess", "127.0.2.2") == 429


def test_the_dashboard_counts_against_the_limits_of_an_address(engine: Engine, tmp_path: Path) -> None:
    """Its pages are requests as any other: the third of two a minute is refused."""
    settings = ServerSettings(limits=LimitsSection(address_per_minute=2))
    with serving(engine, tmp_path, settings) as address:
        codes = [requests.get(f"{address}/dashboard", timeout=120).status_code for _ in range(3)]
    assert codes == [401, 401, 429]


def test_a_login_that_trickles_in_is_given_up(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that does not arrive in time is refused, as an update is."""
    monkeypatch.setattr("federation_server.running.web_server.BODY_SECONDS", 0.1)
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(b"POST /dashboard/login HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\ntoken=")
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_a_session_ends_with_leaving(address: str) -> None:
    """The cookie is for the dashboard's addresses alone, unreadable to scripts, and worthless after leaving."""
    session = requests.Session()
    answer = session.post(f"{address}/dashboard/login", data={"token": ADMIN_TOKEN}, timeout=120, allow_redirects=False)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/dashboard" in cookie
    kept = session.cookies.get_dict()
    assert session.get(f"{address}/dashboard", timeout=120).status_code == 200
    session.post(f"{address}/dashboard/logout", timeout=120)
    assert requests.get(f"{address}/dashboard", cookies=kept, timeout=120).status_code == 401
