"""Who may see the administrator's page."""

from __future__ import annotations

import requests

from tests.federation_server.groups import ADMIN_TOKEN


def test_without_the_token_nothing_is_shown(address: str) -> None:
    """The page asks for the token, a wrong one opens nothing, and after five attempts a minute must pass."""
    assert "members" not in requests.get(f"{address}/dashboard", timeout=120).text.lower()
    codes = [
        requests.post(f"{address}/dashboard/login", data={"token": "guess"}, timeout=120).status_code for _ in range(6)
    ]
    assert codes == [401] * 5 + [429]


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
