"""The administrator's page in a real browser."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import Engine

from federation_server.dashboard.view import page
from federation_server.database import reading
from federation_server.rounds.rounds import policy_of
from federation_server.settings import ServerSettings
from foltr.federated.sealed.committee import quorums
from tests.federation_server.client import running
from tests.federation_server.dashboard.conftest import serving
from tests.federation_server.groups import ADMIN_TOKEN, NOW, POLICY, device
from tests.federation_server.sealed_members import make_sealed, members


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
