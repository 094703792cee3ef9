"""Choosing paths for another program, in a real terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app.paths import Paths
from app.settings import IndexSettings, Settings
from app.tui.screen_setup import Picking
from tests.app.tui.conftest import WIDE, Stages, wind


async def test_enter_chooses_the_row_under_the_cursor_and_it_counts_as_opened(stage: Stages) -> None:
    """Exit code 0, one path, one click, one lesson."""
    picking = Picking(query="wind")
    one = stage(picking=picking)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: one.asked == "wind")
        await pilot.press("down", "enter")
        await one.until(pilot, lambda: one.app.return_value is not None)
    one.app.search_screen.session.close()
    assert (one.app.return_value, picking.paths) == (0, ("/home/anna/energy/report.pdf",))
    assert one.engine.opened_paths == ["/home/anna/energy/report.pdf"]
    assert len(one.engine.left) == 1


async def test_marks_of_two_questions_come_in_the_order_of_marking(stage: Stages) -> None:
    """Tab marks and goes on; what is marked stays marked when something else is asked."""
    picking = Picking(multi=True)
    async with wind(stage(picking=picking)) as (one, pilot):
        await pilot.press("down", "tab", "ctrl+u")
        await one.search(pilot, "sun")
        await pilot.press("tab", "enter")
        await one.until(pilot, lambda: one.app.return_value is not None)
    one.app.search_screen.session.close()
    assert picking.paths == ("/home/anna/energy/report.pdf", "/home/anna/notes/solar.txt")
    assert one.engine.opened_paths == list(picking.paths)
    assert len(one.engine.left) == 2


@pytest.mark.parametrize(
    ("keys", "paths"),
    [(("enter",), ("energy/turbine.md",)), (("down", "enter"), ("energy/report.pdf",)),
     (("tab", "tab", "enter"), ("energy/turbine.md", "energy/report.pdf"))],
)  # fmt: skip
async def test_keys_wait_for_the_rows_that_they_mean(
    stage: Stages, keys: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    """Typed while the index is still asked, they are done once the page is there."""
    picking = Picking(multi=True)
    one = stage(picking=picking)
    one.engine.gate["wind"] = threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        await pilot.press(*"wind", *keys)
        assert one.app.return_value is None
        one.engine.gate["wind"].set()
        await one.until(pilot, lambda: one.app.return_value is not None)
    one.app.search_screen.session.close()
    assert (one.app.return_value, picking.paths) == (0, tuple(f"/home/anna/{path}" for path in paths))


async def test_a_key_for_a_text_that_is_typed_no_more_chooses_nothing(stage: Stages) -> None:
    """Enter that waited for the rows of one query takes no row of the next one."""
    picking = Picking()
    one = stage(picking=picking)
    one.engine.gate["wind"] = threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        await pilot.press(*"wind", "enter", "ctrl+u")
        one.engine.gate["wind"].set()
        await one.search(pilot, "sun")
        assert one.app.return_value is None
    assert picking.paths == ()


@pytest.mark.parametrize(
    ("text", "key", "code"), [("wind", "escape", 130), ("wind", "ctrl+c", 130), ("zz", "enter", 1)]
)
async def test_leaving_chooses_nothing(stage: Stages, text: str, key: str, code: int) -> None:
    """The exit codes of fzf: 130 for Esc and Ctrl-C, 1 for Enter where nothing was found."""
    picking = Picking(multi=True)
    one = stage(picking=picking)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.search(pilot, text)
        await pilot.press(key)
        await one.until(pilot, lambda: one.app.return_value is not None)
    assert (one.app.return_value, picking.paths) == (code, ())


async def test_one_is_chosen_without_multi(stage: Stages) -> None:
    """Tab marks nothing there."""
    picking = Picking(query="wind")
    one = stage(picking=picking)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: one.asked == "wind")
        await pilot.press("tab", "tab", "enter")
        await one.until(pilot, lambda: one.app.return_value is not None)
    assert picking.paths == ("/home/anna/energy/turbine.md",)


@pytest.mark.parametrize("null", [False, True])
def test_the_screen_is_on_the_terminal_and_the_bytes_of_the_path_on_stdout(tmp_path: Path, null: bool) -> None:
    """stdin and stdout are pipes, as in $(...); a name that is not UTF-8 arrives as it is."""
    from app.following.indexing import update_index

    name = os.fsencode(tmp_path) + b"/files/caf\xe9.txt"
    (tmp_path / "files").mkdir()
    Path(os.fsdecode(name)).write_text("a heron stood there")
    paths = Paths(tmp_path / "config", tmp_path / "data")
    update_index(Settings(index=IndexSettings(workers=1)), paths, roots=[str(tmp_path / "files")])
    environment = {**os.environ, "TERM": "xterm", "FOLTR_CONFIG_DIR": str(paths.config_dir)}
    environment["FOLTR_DATA_DIR"] = str(paths.data_dir)
    arguments = [sys.executable, "-m", "app.cli", "--pick", *(["-0"] if null else []), "heron"]
    pid, terminal = pty.fork()
    if pid == 0:  # in a session of its own, whose terminal is this one
        done = subprocess.run(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, check=False)
        (tmp_path / "out").write_bytes(done.stdout)
        os._exit(done.returncode)
    try:
        shown, end = b"", time.monotonic() + 180
        while b"1 of 1" not in shown:
            assert time.monotonic() < end, shown[-500:]
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 65536)
        os.write(terminal, b"\r")
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < end
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    os.read(terminal, 65536)
                except OSError:
                    break
    finally:
        os.close(terminal)  # which ends the picker, too, whatever has failed
    assert (tmp_path / "out").read_bytes() == name + (b"\0" if null else b"\n")


def test_without_a_terminal_it_is_one_line(tmp_path: Path) -> None:
    """A job without a terminal gets exit code 2 and is told why."""
    environment = {**os.environ, "FOLTR_CONFIG_DIR": str(tmp_path), "FOLTR_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "--pick"], env=environment, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "wanted a terminal to draw on, and there is none" in done.stderr
