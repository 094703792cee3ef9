"""A review on the screen, over a real index of a few real files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from app.review.judgements import JudgementBook
from app.search.search import Search
from app.settings import Paths, Settings
from app.store import Store
from app.tui.review_screen import ReviewScreen
from tests.app.tui.conftest import Stages

TEXTS = {
    "turbine.md": "# Wind turbines\n\nA turbine turns wind into power.\n" + "\nIt turns.\n" * 40,
    "solar.md": "# Solar panels\n\nPanels turn light into power.\n",
    "landlord.txt": "Dear landlord,\nthe windows let the wind in.\n",
}


def answers(paths: Paths) -> dict[str, str]:
    """What is on the disk."""
    with Store(paths.state) as store:
        book = JudgementBook(store)
        return {Path(one.path).name: one.answer for review in book.reviews() for one in book.of(review.number)}


def name_on(screen: Any) -> str:
    return Path(screen.shown.hit.path).name if screen.shown else ""


async def test_a_review_from_the_search_screen(stage: Stages, paths: Paths, tmp_path: Path) -> None:
    """The key of the table begins it for what is typed; each key is one answer, kept before the next document."""
    one = stage(open_engine=lambda: Search(Settings(), paths), data_dir=paths.data_dir)
    async with one.searched("turbine", size=(120, 40)) as pilot:
        await pilot.press("ctrl+g", "A")
        await one.until(pilot, lambda: isinstance(one.app.screen, ReviewScreen))
        screen = one.app.screen
        await one.until(pilot, lambda: name_on(screen) == "turbine.md")
        assert "0 found" in one.text
        assert "A turbine turns wind into power." in one.text
        assert screen.pane.body.preview.spans
        await pilot.press("y")
        await one.until(pilot, lambda: name_on(screen) not in ("", "turbine.md"))
        second = name_on(screen)
        assert answers(paths) == {"turbine.md": "yes"}
        await pilot.press("l")
        await one.until(pilot, lambda: name_on(screen) not in ("", second))
        await pilot.press("n")
        await one.until(pilot, lambda: name_on(screen) == second, "what was put off comes last")
        await pilot.press("u")
        await one.until(pilot, lambda: name_on(screen) not in ("", second))
        assert answers(paths) == {"turbine.md": "yes", second: "later"}
        await pilot.press("o")
        await one.until(pilot, lambda: (tmp_path / "opened").exists())
        await pilot.press("n")
        await one.until(pilot, lambda: name_on(screen) == second)
        await pilot.press("n")
        await one.until(pilot, lambda: "all 3 documents read" in one.text)
        await pilot.press("y", "q")
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
    one.app.search_screen.session.close()
    assert sorted(answers(paths).values()) == ["no", "no", "yes"]


async def test_a_review_alone_ends_the_program(stage: Stages, paths: Paths) -> None:
    """As the command begins it, by its query or number; the other keys scroll, and answer nothing."""
    for which in ("wind", 1):
        one = stage(open_engine=lambda: Search(Settings(), paths), data_dir=paths.data_dir)
        one.app.search_screen.setup = replace(one.app.search_screen.setup, review=which)
        async with one.app.run_test(size=(80, 20)) as pilot:
            await one.until(
                pilot,
                lambda one=one: bool(name_on(one.app.screen)) if isinstance(one.app.screen, ReviewScreen) else False,
            )
            body = one.app.screen.pane.body
            whole, page = body.virtual_size.height - body.size.height, body.size.height - 1
            for key, row, match in (
                ("j", 1, 1), ("space", 1 + page, 1), ("k", page, 1), ("b", 0, 1), ("G", whole, 1), ("g", 0, 1),
                ("tab", 0, 0), ("shift+tab", 0, 1), ("x", 0, 1),
            ):  # fmt: skip
                await pilot.press(key)
                await pilot.pause()
                assert (key, body.scroll_offset.y, body.current) == (key, row, match)
            assert answers(paths) == {}
            await pilot.press("escape")
        assert one.app.return_value == 0
        one.app.search_screen.session.close()


async def test_all_keys_are_seen_in_a_narrow_terminal(stage: Stages, paths: Paths) -> None:
    """Also the last one, which leaves."""
    one = stage(open_engine=lambda: Search(Settings(), paths), data_dir=paths.data_dir)
    one.app.search_screen.setup = replace(one.app.search_screen.setup, review="wind")
    async with one.app.run_test(size=(40, 20)) as pilot:
        await one.until(pilot, lambda: isinstance(one.app.screen, ReviewScreen) and "leave" in one.text)
        await pilot.press("escape")
    one.app.search_screen.session.close()


async def test_what_cannot_be_reviewed_is_said(stage: Stages, paths: Paths) -> None:
    """No query, and a number that is not there."""
    one = stage(open_engine=lambda: Search(Settings(), paths), data_dir=paths.data_dir)
    async with one.app.run_test(size=(120, 40)) as pilot:
        await one.settle(pilot)
        await pilot.press("ctrl+g", "A")
        await one.until(pilot, lambda: "type what to review first" in one.text)
        one.app.search_screen._show_review(99)
        await one.until(pilot, lambda: "there is no review 99" in one.text)
        await pilot.press("y", "u", "o", "q")
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
    one.app.search_screen.session.close()


async def test_no_review_begins_before_the_index_is_open(stage: Stages, conftest_types: Any) -> None:
    """It is said; a review would wait for a document that nobody makes."""
    engine, is_open = conftest_types.FakeSearch(), threading.Event()
    one = stage(engine=engine, open_engine=lambda: is_open.wait(120) and engine)
    async with one.app.run_test(size=(120, 40)) as pilot:
        one.app.search_screen.box.value = "wind"
        await pilot.press("ctrl+g", "A")
        await one.until(pilot, lambda: "the index is not open yet" in one.text)
        assert one.app.screen is one.app.search_screen
        is_open.set()
