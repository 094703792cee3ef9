"""The screen in front of the real search, on a real index of a few real files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from app.following.indexing import update_index
from app.search.search import Search
from app.settings import DevicesSettings, OpenSettings, Paths, Settings
from app.tui.preview.preview_pane import PreviewBody
from app.tui.results_list import ResultsList
from console.printable import safe_line
from tests.app.machines.machines_of_one import make_machine, paths_of, ssh_to
from tests.app.tui.conftest import Stages

TEXTS = {
    "energy/turbine.md": "# Wind turbines\n\nA turbine turns wind into power.\n",
    "energy/solar.md": "# Solar panels\n\nPanels turn light into power; no wind is needed.\n",
    "letters/landlord.txt": "Dear landlord,\nthe windows let the wind in.\n",
}


async def test_from_typing_to_a_lesson(stage: Stages, paths: Paths, tmp_path: Path) -> None:
    """Type, see results with snippets and a preview, open one, and something was learned when the query changes."""
    engines: list[Search] = []

    def open_engine() -> Search:
        engines.append(Search(Settings(), paths))
        return engines[0]

    one = stage(open_engine=open_engine, data_dir=paths.data_dir)
    async with one.searched("wind", size=(120, 40)) as pilot:
        results = one.app.search_screen.query_one(ResultsList)
        assert results.page is not None
        assert {Path(hit.path).name for hit in results.page.hits} == {Path(name).name for name in TEXTS}
        await one.until(pilot, lambda: results.snippet_of(0) is not None)
        snippet = results.snippet_of(0)
        assert any(snippet.text[a:b].lower().startswith("wind") for a, b in snippet.spans)
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: body.preview is not None and bool(body.preview.spans))
        await pilot.press("f3")
        await one.until(pilot, lambda: "shipped  learned" in one.text)
        await pilot.press("f2", "down", "enter")
        await one.until(pilot, lambda: (tmp_path / "opened").exists())
        await one.until(pilot, lambda: "opened " in one.text)
        await pilot.press("escape", *"solar")
        await one.until(pilot, lambda: "learned from" in one.text, "a lesson")
        await one.settle(pilot)
        assert [Path(hit.path).name for hit in results.page.hits] == ["solar.md"]
    one.app.search_screen.session.close()


async def test_the_order_that_is_named_is_the_one_shown(stage: Stages, paths: Paths) -> None:
    """Filters alone have no learned order: the newest come first."""
    one = stage(open_engine=lambda: Search(Settings(), paths))
    async with one.searched("type:markdown", size=(120, 40)) as pilot:
        line = one.app.search_screen.line
        await one.until(pilot, lambda: " · newest first" in line.text)
        await pilot.press("escape")
        await one.search(pilot, "type:markdown wind")
        await one.until(pilot, lambda: " · learned order" in line.text)


async def test_other_machines_are_asked_when_the_hand_rests(stage: Stages, tmp_path: Path) -> None:
    """Those of the setting; their rows begin with a name, and open as copies."""
    here = make_machine(tmp_path / "here", TEXTS)
    make_machine(tmp_path / "desk", {"wind.md": "# The wind of the hill\n\nWind, wind and no power.\n"})
    devices = DevicesSettings(ask=["desk"], ssh=ssh_to(tmp_path), ask_seconds=60.0)
    settings = Settings(devices=devices, open=OpenSettings(opener=str(tmp_path / "opener.sh")))
    one = stage(open_engine=lambda: Search(settings, paths_of(here)), settings=settings)
    async with one.app.run_test(size=(120, 40)) as pilot:
        await one.search(pilot, "wind hill")
        screen = one.app.search_screen
        await one.until(pilot, lambda: screen.session.page.request.on == ("desk",))
        await one.until(pilot, lambda: "on desk" in one.text)
        await one.until(pilot, lambda: "no power" in one.text, "the text of the other machine")
        await pilot.press("enter")
        await one.until(pilot, lambda: (tmp_path / "opened").exists())
        assert Path((tmp_path / "opened").read_text().strip()).parent == tmp_path / "mail"
    one.app.search_screen.session.close()


async def test_malformed_queries_answer_or_point(stage: Stages, paths: Paths) -> None:
    """Nothing that can be typed ends the screen."""
    one = stage(open_engine=lambda: Search(Settings(), paths))
    async with one.searched("wind", size=(80, 24)) as pilot:
        for text in ('"', "title:", "((", "NOT", "modified:>then", "size:>", "*", "-", "a" * 500, "\u202e[b]", "=("):
            one.app.search_screen.box.set_text(text)
            await one.until(pilot, lambda text=text: one.asked == safe_line(text), text)
        assert one.app.is_running


MAILS = {
    f"Mail/cur/170410320{i}.M1P1.host:2,S": f"From: Ann <a@x.org>\nTo: Bo <b@x.org>\nSubject: Boat {i}\n"
    f"Date: Mon, 0{i} Jan 2024 10:00:00 +0000\nMessage-ID: <{i}@x>\nReferences: <1@x>\n\nThe boat leaves.\n"
    for i in (1, 2, 3)
}


async def test_a_thread_is_one_row_until_a_key_shows_its_mails(stage: Stages, tmp_path: Path) -> None:
    """The row names sender, subject and how many there are; the preview begins with the head; the key returns too."""
    for name, text in {**MAILS, "boat.txt": "a boat of paper"}.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_text(text)
    paths = Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")
    update_index(Settings(), paths, roots=[str(tmp_path / "files")])
    one = stage(open_engine=lambda: Search(Settings(), paths), data_dir=paths.data_dir)
    async with one.searched("boat type:mail", size=(120, 40)) as pilot:
        screen = one.app.search_screen
        await one.until(pilot, lambda: "3 in this thread" in one.text)
        assert len(screen.session.page.hits) == 1
        row, below = (screen.query_one(ResultsList).make_line(i).text for i in range(2))
        assert row.startswith("▌ @ Boat 3  Ann ")
        assert "1704103" not in row
        assert below.rstrip().endswith("3 in this thread")
        body = screen.query_one(PreviewBody)
        await one.until(pilot, lambda: body.make_line(0).text.startswith("From"))
        assert [body.make_line(i).text.split()[0] for i in range(3)] == ["From", "To", "Date"]
        await pilot.press("alt+i")
        await one.until(pilot, lambda: len(screen.session.page.hits) == 3)
        await pilot.press("alt+i")
        await one.until(pilot, lambda: screen.session.page.request.text == "boat type:mail")
    screen.session.close()


async def test_documents_like_the_selected_one_are_a_key_away(stage: Stages, paths: Paths) -> None:
    """What is searched for then stands in the box; from another result it goes on, from this one back."""
    one = stage(open_engine=lambda: Search(Settings(), paths))
    async with one.searched("turbine", size=(120, 40)) as pilot:
        box = one.app.search_screen.box
        await pilot.press("alt+k")
        await one.until(pilot, lambda: box.value == "wind power")
        await one.settle(pilot)
        assert {hit.path.rsplit("/", 1)[1] for hit in one.app.search_screen.session.page.hits[:2]} == {
            "turbine.md", "solar.md",
        }  # fmt: skip
        await pilot.press("alt+k")
        await one.until(pilot, lambda: box.value == "turbine")
        one.app.search_screen.questions.turn_like()
        box.set_text("turbines mill")  # before the answer can be taken
        await one.settle(pilot)
        assert box.value == "turbines mill"
        await pilot.press("escape")
        await one.search(pilot, "landlord")
        await pilot.press("alt+k")
        await one.until(pilot, lambda: box.value == "wind")
        await pilot.press("escape")
        await one.search(pilot, "type:pdf nothing")
        await pilot.press("alt+k")
        await one.until(pilot, lambda: "no result is selected" in one.text)


async def test_a_screen_left_open_over_midnight_tells_the_new_day(
    stage: Stages, paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was changed four hours ago is of today at eight in the evening, and not at two; by another time zone."""
    monkeypatch.setattr("app.tui.search_screen.LOOK_SECONDS", 0.05)
    now = time.time()
    for name in TEXTS:
        os.utime(tmp_path / "files" / name, (now - 4 * 3600, now - 4 * 3600))
    update_index(Settings(), paths, roots=[str(tmp_path / "files")])
    evening = (time.gmtime(now).tm_hour - 20 + 12) % 24 - 12
    one = stage(open_engine=lambda: Search(Settings(), paths))
    one.app.search_screen.results._now = None  # the real one

    def move_to(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    move_to(f"XXX{evening}")
    async with one.searched("wind", size=(120, 40)) as pilot:
        await one.until(pilot, lambda: one.text.count(" 16:") == 3)
        move_to(f"XXX{evening - 6}")  # six hours on, which is the next day at whatever hour the test runs
        await one.until(pilot, lambda: " 16:" not in one.text and " 22:" not in one.text)
