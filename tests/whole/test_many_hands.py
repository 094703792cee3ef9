"""What was acknowledged is there afterwards, whoever else has the state open meanwhile, and whoever takes it away."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.store import Store
from tests.app.conftest import Device, make_device
from tests.app.resident.conftest import PATIENCE, serving
from tests.whole.many_hands import ManyHands
from tests.whole.power_cut import COMPILER

N_STEPS = 30
SEED = 15


@pytest.fixture
def device(tmp_path: Path) -> Device:
    made = make_device(tmp_path)
    made.index()
    return made


def n_picked(device: Device) -> int:
    with Store(device.data_dir / "state.sqlite") as store:
        return int(store.rows("SELECT count(*) FROM picked_documents")[0][0])


def opened(device: Device, rank: int) -> None:
    """A result opened as a user does; the program says that it was."""
    assert device.run("search", "fish").returncode == 0
    done = device.run("open", "--print", str(rank))
    assert done.returncode == 0, done.stderr


def test_questions_with_other_settings_lose_no_pick(device: Device) -> None:
    """Two searches are open in the resident process, a command works alone: all picks are there after a kill."""
    with serving(device) as resident:
        assert device.run("search", "fish").returncode == 0
        assert device.run("search", "--strength", "0.5", "fish").returncode == 0
        assert device.run("stats").returncode in (0, 1)
        for rank in (1, 2, 3):
            opened(device, rank)
        resident.kill()
        resident.join(PATIENCE)
        assert n_picked(device) == 3


def test_a_state_that_is_taken_away_under_a_resident_process_is_opened_anew(device: Device) -> None:
    """Its files removed, or the whole state another one: what is opened then is kept in what is there then."""
    with serving(device) as resident:
        opened(device, 1)
        for path in device.data_dir.glob("state.sqlite*"):
            path.unlink()
        opened(device, 2)
        assert n_picked(device) == 1
        shutil.copyfile(device.data_dir / "state.sqlite", device.home / "other")  # without its log: an empty one
        for path in device.data_dir.glob("state.sqlite*"):
            path.unlink()
        (device.home / "other").rename(device.data_dir / "state.sqlite")
        opened(device, 1)
        opened(device, 3)
        resident.kill()
        resident.join(PATIENCE)
    assert n_picked(device) == 2


SEARCHING = """
import sys, time
from pathlib import Path
import numpy as np
from app.federation.background_sync import BackgroundSync
from app.following.indexing import _move_picks
from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from app.store import SearchHistory, Store
from app.following.vector_making import _opened_first

paths = Paths.from_environment()
settings = Settings.load(paths)
search = Search(settings, paths)
others = {
    "history": lambda: SearchHistory(Store.for_searching(paths.state), settings.history).add("fish", now=time.time()),
    "sync": lambda: BackgroundSync(settings, paths).question(),
    "vectors": lambda: _opened_first(settings, paths, search.catalogue)(np.array([hit.doc_id for hit in page.hits])),
    "moves": lambda: _move_picks(settings, paths, search.catalogue, [("/none", "/nowhere")]),
}
page = search.search(SearchRequest("fish"))
search.opened(page, page.hits[0])
others[sys.argv[1]]()
print("ready", flush=True)
sys.stdin.readline()
for hit in page.hits[1:3]:
    search.opened(page, hit)
print("opened", flush=True)
sys.stdin.readline()
"""

SCREEN = """
import asyncio, threading, sys
from app.paths import Paths
from app.settings import Settings
import app.tui, app.tui.search_app as starting

def line():
    return asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)

async def until(pilot, condition):
    while not condition():
        await asyncio.sleep(0.01)

async def drive(app):
    async with app.run_test(size=(120, 40)) as pilot:
        session = app.search_screen.session
        await pilot.press(*"fish")
        await until(pilot, lambda: session.page is not None and session.page.request.text == "fish")
        told = []
        session.opened = lambda hit, opened=session.opened, **on: (opened(hit, **on), told.append(hit))
        for n_opened, word in ((1, "ready"), (3, "opened")):
            while len(told) < n_opened:
                n_before = len(told)
                await pilot.press("enter")
                await until(pilot, lambda: len(told) > n_before)
                await pilot.press("down")
            recorded = threading.Event()
            session.run(recorded.set)  # after the clicks that wait
            await until(pilot, recorded.is_set)
            print(word, file=sys.__stdout__, flush=True)
            await line()

def show(app):
    asyncio.run(drive(app))
    return 0

starting.show = show
if __name__ == "__main__":
    paths = Paths.from_environment()
    app.tui.run(Settings.load(paths), paths)
"""


@contextmanager
def working(device: Device, code: str, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=device.environment(**variables), cwd=device.home, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


EVERYTHING = '[history]\nenabled = true\n[federation]\nsync = "daily"\n[open]\nopener = "true {path}"\n'
OTHERS = ("history", "sync", "vectors", "moves", "screen")


@pytest.mark.parametrize("other", OTHERS)
def test_whatever_else_opens_the_state_in_a_process_that_searches_loses_no_pick(device: Device, other: str) -> None:
    """It opens and closes the state once, then a command works alone: picks made after that are there after a kill."""
    device.config_file.write_text(EVERYTHING)
    with working(device, SCREEN if other == "screen" else SEARCHING, other) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert device.run("stats").returncode in (0, 1)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "opened\n"
        process.kill()
        process.wait(PATIENCE)
        assert n_picked(device) == 3


@pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="wanted a C compiler and Linux for power cuts")
def test_each_acknowledged_step_is_there_afterwards(tmp_path: Path) -> None:
    """Screen, `serve`, `watch` and commands at random, with kills and power cuts: nothing is lost, and all agree.

    When a kill strikes decides what is drawn next, so at the end a result is opened on the screen and the power cut.
    """
    with ManyHands(tmp_path / "hands", SEED) as hands:
        for also in (hands.serving, hands.watching):
            also()
            for _ in range(N_STEPS // 2):
                hands.step()
        n_picked = hands.now.picks.high
        while not hands.now.screen_opened or hands.now.picks.high == n_picked:
            hands.looking()
        hands.check()
        hands.cut()
        hands.check(is_thorough=True)
