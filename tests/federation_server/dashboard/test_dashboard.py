"""The administrator's page in a real browser."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import requests
import uvicorn
from sqlalchemy import Engine

from federation_server import forgetting, group
from federation_server.application import Server
from federation_server.closing import close_due
from federation_server.dashboard.routes import Dashboard
from federation_server.database import connect, reading, upgrade, writing
from federation_server.service import Service
from federation_server.settings import ForgettingSection, ServerSettings
from federation_server.vault import hash_of
from tests.federation_server.groups import OPEN, POLICY, VAULT, device, make_group, send

TOKEN = "a token of the administrator"
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
        group.set_fact(connection, "dashboard token", hash_of(TOKEN))
        settings = ForgettingSection(method="reaggregate")
        forgetting.farewell(connection, VAULT, POLICY, settings, device(11), forget=True, now=NOW)
    return made


def _theta(engine: Engine) -> np.ndarray:
    with reading(engine) as connection:
        return group.newest(connection).model.theta


@pytest.fixture
def address(engine: Engine) -> Iterator[str]:
    """The server on a free port of loopback."""
    server = Server(Service(engine, VAULT, POLICY, ServerSettings()))
    listener = socket.create_server(("127.0.0.1", 0))
    application = server.application(*Dashboard(server).routes())
    running = uvicorn.Server(uvicorn.Config(application, log_config=None))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    running.should_exit = True
    thread.join(120)


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
    answer = session.post(f"{address}/dashboard/login", data={"token": TOKEN}, timeout=120, allow_redirects=False)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/dashboard" in cookie
    kept = session.cookies.get_dict()
    assert session.get(f"{address}/dashboard", timeout=120).status_code == 200
    session.post(f"{address}/dashboard/logout", timeout=120)
    assert requests.get(f"{address}/dashboard", cookies=kept, timeout=120).status_code == 401


def test_the_page_names_no_member(address: str) -> None:
    """No pseudonym is on it, and it loads nothing from anywhere."""
    session = requests.Session()
    session.post(f"{address}/dashboard/login", data={"token": TOKEN}, timeout=120)
    page = session.get(f"{address}/dashboard", timeout=120)
    assert not [number for number in range(12) if device(number) in page.text]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text


def test_the_page_in_a_browser(address: str, tmp_path: Path) -> None:
    """A person logs in with the token and sees rounds, guard, privacy and requests; the screenshot is not blank."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("Chromium and its driver are not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service as Driver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--window-size=1200,1100", f"--user-data-dir={tmp_path}/profile"):  # fmt: skip
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Driver(shutil.which("chromedriver")))
    try:
        browser.get(f"{address}/dashboard")
        browser.find_element(By.NAME, "token").send_keys(TOKEN)
        browser.find_element(By.TAG_NAME, "button").click()
        WebDriverWait(browser, 30).until(lambda page: page.find_elements(By.TAG_NAME, "h2"))
        text = browser.find_element(By.TAG_NAME, "body").text
        picture = Path(os.environ.get("FOLTR_SCREENSHOTS", tmp_path)) / "dashboard.png"
        browser.save_screenshot(str(picture))
        curves = browser.find_elements(By.TAG_NAME, "polyline")
    finally:
        browser.quit()
    for wanted in ("test", "no guarantee", "1.6", "guard", "suspicious", "Forget-me requests"):
        assert wanted in text
    assert len(curves) == 4
    assert picture.stat().st_size > 20_000
