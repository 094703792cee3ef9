"""The administrator's page in a real browser."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import requests

from tests.federation_server.groups import ADMIN_TOKEN, device


def test_the_page_names_no_member(address: str) -> None:
    """No pseudonym is on it, and it loads nothing from anywhere."""
    session = requests.Session()
    session.post(f"{address}/dashboard/login", data={"token": ADMIN_TOKEN}, timeout=120)
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
        browser.find_element(By.NAME, "token").send_keys(ADMIN_TOKEN)
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
