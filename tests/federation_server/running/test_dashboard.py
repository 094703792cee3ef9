"""A server with history, and its dashboard."""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import requests
import uvicorn
from msgspec.structs import replace
from requests.adapters import HTTPAdapter
from sqlalchemy import Engine, update

from federation_server.database import connect, reading, upgrade, writing
from federation_server.forgetting import forgetting
from federation_server.group import group
from federation_server.rounds.closing import close_due
from federation_server.rounds.rounds import policy_of
from federation_server.running.dashboard import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, ceiling, chart, page
from federation_server.running.dashboard_login import Dashboard
from federation_server.running.limits import Buckets
from federation_server.running.service import Service
from federation_server.running.web_server import Server
from federation_server.settings import LimitsSection, ServerSettings
from federation_server.tables import rounds
from federation_server.vault import hash_of
from foltr.federated.sealed.committee import quorums
from tests.federation_server.client import running
from tests.federation_server.groups import ADMIN_TOKEN, OPEN, POLICY, VAULT, device, forgetter, make_group, send
from tests.federation_server.sealed_members import make_sealed, members

NOW = int(time.time())


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a group with six rounds, one of them attacked, and one member forgotten."""
    folder = tmp_path_factory.mktemp("history")
    made = connect(f"sqlite:///{folder}/server.sqlite")
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
        forgetting.forget(connection, forgetter(folder), device(11), now=NOW)
    made.dispose()
    return folder


@pytest.fixture
def engine(history: Path, tmp_path: Path) -> Engine:
    """A copy of it."""
    shutil.copytree(history, tmp_path, dirs_exist_ok=True)
    return connect(f"sqlite:///{tmp_path}/server.sqlite")


@pytest.fixture
def noised(tmp_path: Path) -> Engine:
    """A group of twelve with noise, six of the period's eight rounds over and two answers in the seventh."""
    made = connect(f"sqlite:///{tmp_path}/noised.sqlite")
    upgrade(made)
    make_group(made, n_members=12)
    with writing(made) as connection:
        group.set_terms(connection, msgspec.structs.replace(group.terms(connection), n_rounds=8))
        group.set_fact(connection, "dashboard token", hash_of(ADMIN_TOKEN))
        connection.execute(update(rounds).values(opened=NOW, deadline=NOW + 60))
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


@pytest.mark.parametrize(
    ("largest", "whole", "top"),
    [(0, False, 1), (0, True, 2), (0.9, False, 1), (1.0, False, 1), (1.01, False, 2), (0.021, False, 0.025),
     (17.3, False, 20), (3, True, 4), (1, True, 2), (9, True, 10), (11, True, 20)],
)  # fmt: skip
def test_the_scale_ends_at_a_round_number(largest: float, whole: bool, top: float) -> None:
    """The smallest such number that holds the largest value; of counts an even one."""
    assert ceiling(largest, whole=whole) == pytest.approx(top)


def test_points_lie_where_their_values_say() -> None:
    """0 at the bottom, the ceiling at the top, the first round left, the last one right."""
    drawn = chart(["1.1", "1.2", "1.3"], [0.0, 1.0, 0.5], label="x")
    dots = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)]
    middle = (LEFT + WIDTH - RIGHT) / 2
    half = (TOP + HEIGHT - BOTTOM) / 2
    assert dots == [(LEFT, HEIGHT - BOTTOM), (middle, TOP), (WIDTH - RIGHT, half)]


def test_a_gap_lifts_the_line() -> None:
    """A round without a value cuts the line in two; the drawing is well-formed and says its last value."""
    drawn = chart(["1.1", "1.2", "1.3", "1.4"], [1.0, 2.0, None, 1.5], beside=[1.0, 1.0, 1.0, 1.0], label="a <b>")
    assert re.search(r'class="own" d="M[\d. ]+L[\d. ]+M[\d. ]+"', drawn)
    root = ET.fromstring(drawn)
    assert root.attrib["aria-label"] == "a <b>, 1.1 to 1.4: 1.50 at last"


def test_nothing_yet_is_said() -> None:
    """Without rounds, and where no round has the number, there is no empty scale."""
    assert "nothing yet" in chart([], [], label="x")
    assert "nothing yet" in chart(["1.1"], [None], beside=[1.0], label="x")


def open_page(address: str) -> requests.Response:
    session = requests.Session()
    session.post(f"{address}/dashboard/login", data={"token": ADMIN_TOKEN}, timeout=120)
    return session.get(f"{address}/dashboard", timeout=120)


def test_the_page_names_no_member(address: str) -> None:
    """No pseudonym is on it, and it loads nothing from anywhere."""
    page = open_page(address)
    assert not [number for number in range(12) if device(number) in page.text]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text


def test_the_numbers_that_members_see_are_on_it(noised: Engine) -> None:
    """z = .5, three weights, nine updates: noise is .29 of the signal in a round, .12 in six; who is awaited."""
    with reading(noised) as connection:
        text = page(connection, POLICY, now=NOW)
    assert '<div class="big">0.12 <small>times, over the whole lineage' in text
    assert "0.29 in the last round" in text
    assert "2 of 12 active members answered, 1 more close it at once; otherwise it closes on" in text
    assert "6 of 8 rounds in 365 days" in text
    assert "the server opens each update" in text


def test_a_sealed_groups_page_says_what_its_rounds_need(tmp_path: Path) -> None:
    """Five vouched members and the one who may lie, by the mechanism; not the floor of an open group."""
    with running(make_sealed(tmp_path / "server")) as server:
        members(server.made, 6)
        policy = policy_of(server.made.settings)
        with reading(server.made.engine) as connection:
            text = page(connection, policy, now=int(time.time()))
    assert "6 vouched for, 5 of them by one member; a sealed round needs at least 5" in text
    assert f"while at most {quorums(6).n_spared} of 6 side with the operator" in text
    assert "at least 3" not in text


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Chromium without a window."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("Chromium and its driver are not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service as Driver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     f"--user-data-dir={tmp_path}/profile"):  # fmt: skip
        options.add_argument(argument)
    found = webdriver.Chrome(options=options, service=Driver(shutil.which("chromedriver")))
    try:
        yield found
    finally:
        found.quit()


def log_in(browser: Any, address: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(f"{address}/dashboard")
    browser.find_element(By.NAME, "token").send_keys(ADMIN_TOKEN)
    browser.find_element(By.TAG_NAME, "button").click()
    WebDriverWait(browser, 30).until(lambda page: page.find_elements(By.TAG_NAME, "h2"))


def picture(browser: Any, width: int, scheme: str, file: Path) -> int:
    """Draws the whole page so wide, light or dark; by how many pixels it is wider than the window."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    for height in (900, None):
        tall = height or browser.execute_script("return document.documentElement.scrollHeight")
        size = {"width": width, "height": tall, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.save_screenshot(str(file))
    return int(browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth"))


def test_a_person_reads_rounds_guard_and_requests(address: str, browser: Any) -> None:
    """Behind the token: an attacked round, no guarantee without noise, and that someone was forgotten."""
    from selenium.webdriver.common.by import By

    log_in(browser, address)
    text = browser.find_element(By.TAG_NAME, "body").text
    for wanted in (
        "test",
        "no guarantee",
        "1.6",
        "guard",
        "suspicious",
        "Forget-me requests",
        "settings tell of no noise",
    ):
        assert wanted in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_desk_and_a_telephone(noised: Engine, browser: Any, tmp_path: Path, scheme: str) -> None:
    """Six charts of six rounds, nothing beyond the edge at 1200 and 420 pixels, and readable in both colours."""
    from selenium.webdriver.common.by import By

    folder = Path(os.environ.get("FOLTR_SCREENSHOTS", tmp_path))
    with serving(noised, tmp_path, ServerSettings()) as address:
        log_in(browser, address)
        for width in (1200, 420):
            file = folder / f"dashboard-{width}-{scheme}.png"
            assert picture(browser, width, scheme, file) <= 0
            assert file.stat().st_size > 20_000
        assert len(browser.find_elements(By.TAG_NAME, "svg")) == 6
        assert len(browser.find_elements(By.CSS_SELECTOR, "svg .beside")) == 3
        colours = [
            browser.execute_script("return getComputedStyle(arguments[0])[arguments[1]]", element, name)
            for element, name in (
                (browser.find_element(By.TAG_NAME, "section"), "backgroundColor"),
                (browser.find_element(By.TAG_NAME, "section"), "color"),
                (browser.find_element(By.CSS_SELECTOR, "svg .own"), "stroke"),
                (browser.find_element(By.CSS_SELECTOR, "svg .beside"), "stroke"),
            )
        ]
    background, *inks = map(luminance, colours)
    assert all((max(ink, background) + 0.05) / (min(ink, background) + 0.05) >= 4.5 for ink in inks)


def luminance(colour: str) -> float:
    """Relative luminance of "rgb(r, g, b)", as WCAG 2 defines contrast by."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
