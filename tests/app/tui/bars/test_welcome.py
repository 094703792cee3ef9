"""The empty screen: what can be done there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.search.results import Hit
from app.tui.bars.welcome import EXAMPLES, Welcome
from app.tui.results_list import ResultsList
from tests.app.tui.conftest import WIDE, Stages


def _lately(engine: Any, *paths: Path) -> None:
    for path in paths:
        path.write_text("wind")
    engine.lately = tuple(
        Hit(rank, rank - 1, str(path), "", path.stem, "text", "", 1.0, 4, "", 0.0, 0)
        for rank, path in enumerate(paths, 1)
    )


async def test_recent_files_are_chosen_with_the_keys_of_the_results(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """Down and Enter open the second; Enter alone opens nothing by mistake; typing replaces them."""
    engine = conftest_types.FakeSearch()
    _lately(engine, tmp_path / "heron.txt", tmp_path / "swift.txt")
    one = stage(engine=engine)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "swift" in one.text, "the recent files")
        assert "documents ready" in one.text
        assert "Opened and changed lately, with Down:" in one.text
        await pilot.press("enter")
        await one.settle(pilot)
        assert engine.opened_paths == []
        await pilot.press("down", "enter")
        await one.until(pilot, lambda: engine.opened_paths == [str(tmp_path / "swift.txt")])
        await one.search(pilot, "wind")
        assert one.app.search_screen.query_one(ResultsList).page.request.text == "wind"
        assert not one.app.search_screen.query_one(Welcome).display
        await pilot.press("escape")
        await one.until(pilot, lambda: "heron" in one.text and "Last searches, with Up: wind" in one.text)


async def test_without_recent_files_it_says_how_to_begin(stage: Stages) -> None:
    """The examples, and no list."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "documents ready" in one.text)
        assert "Type some words." in one.text
        assert not one.app.search_screen.query_one(ResultsList).display


async def test_each_example_takes_one_line(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """Beside the preview of a recent file, on 120 columns."""
    engine = conftest_types.FakeSearch()
    _lately(engine, tmp_path / "heron.txt")
    one = stage(engine=engine)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "heron" in one.text, "the recent file")
        assert [meaning for example, meaning in EXAMPLES if f"{example.ljust(25)}{meaning}" not in one.text] == []


async def test_a_pasted_page_leaves_room_for_the_rest(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """Where nothing answers it the advice is in view, and the recent files are once it was cleared."""
    engine = conftest_types.FakeSearch()
    _lately(engine, tmp_path / "heron.txt")
    one = stage(engine=engine)
    async with one.searched("lorem ipsum dolor " * 120, size=(80, 24)) as pilot:
        assert "another spelling" in one.text
        await pilot.press("escape")
        await one.until(pilot, lambda: "heron" in one.text, "the recent files")
        assert "Last searches, with Up: lorem ipsum" in one.text


async def test_recent_files_that_are_no_longer_searched_go(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """As once their folder was taken out: no key acts on a file that is not shown."""
    engine = conftest_types.FakeSearch()
    _lately(engine, tmp_path / "heron.txt")
    one = stage(engine=engine)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "heron" in one.text, "the recent files")
        engine.lately = ()
        one.app.search_screen.session.want_recent()
        await one.until(pilot, lambda: "heron" not in one.text, "the start without them")
        assert "Lately" not in one.text
        assert one.app.search_screen.results.selected is None
