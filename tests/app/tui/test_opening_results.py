"""Opening results: which program, and what is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.settings import ScreenSettings
from app.tui.bars.status_lines import StatusLine
from app.tui.results_list import ResultsList
from app.tui.session import same_question
from tests.app.tui.conftest import WIDE, Stages, wind


def _on_disk(types: Any, folder: Path, *names: str) -> Any:
    """An engine whose documents exist."""
    documents = []
    for name in names:
        path = folder / name
        path.write_text("wind\n")
        documents.append(types.Document(str(path), f"Wind in {name}", "text", "calm\nwind\n"))
    return types.FakeSearch(documents)


def _opened(folder: Path) -> list[str]:
    log = folder / "opened"
    return [Path(line).name for line in log.read_text().splitlines()] if log.exists() else []


async def test_enter_opens_with_the_systems_program_and_records_one_click(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """From the search box, Enter opens the selected result: one program, one click."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt", "b.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("down", "enter")
        await one.until(pilot, lambda: bool(one.engine.opened_paths))
        await one.until(pilot, lambda: _opened(tmp_path) == ["b.txt"])
        assert one.engine.opened_paths == [str(tmp_path / "b.txt")]
        assert "opened Wind in b.txt" in one.app.search_screen.query_one(StatusLine).text
        assert one.engine.left == []


async def test_a_page_is_left_once_when_the_query_becomes_another(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """Two results opened on one page are one lesson; it is learned when something else is asked, and shown."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt", "b.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("enter", "down", "enter")
        await one.until(pilot, lambda: len(one.engine.opened_paths) == 2)
        await pilot.press("ctrl+s")
        await one.settle(pilot)
        assert one.engine.left == []
        await pilot.press(*" in")
        await one.until(pilot, lambda: len(one.engine.left) == 1)
        await one.until(pilot, lambda: "learned from 1 pick" in one.text)
        await pilot.press("escape", *"calm")
        await one.until(pilot, lambda: one.asked == "calm")
        await one.settle(pilot)
    one.app.search_screen.session.close()
    assert len(one.engine.left) == 1


async def test_leaving_the_program_leaves_the_page(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """What was opened last is learned from at the end, and the engine is closed after that."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("enter")
        await one.until(pilot, lambda: bool(one.engine.opened_paths))
        await pilot.press("ctrl+q")
    one.app.search_screen.session.close()
    one.app.search_screen.session.close()
    assert [page.request.text for page in one.engine.left] == ["wind"]
    assert one.engine.closed


async def test_pages_without_an_opening_are_not_left(stage: Stages) -> None:
    """A page on which nothing was opened teaches nothing."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("escape", *"solar")
        await one.until(pilot, lambda: one.asked == "solar")
    one.app.search_screen.session.close()
    assert one.engine.left == []


async def test_a_file_that_is_gone_is_said_and_not_recorded(stage: Stages) -> None:
    """Opening a missing file is one line, and no click."""
    one = stage()
    async with one.searched("rain", size=WIDE) as pilot:
        await pilot.press("enter")
        await one.until(pilot, lambda: bool(one.notes))
        assert one.notes == ["/home/anna/notes/gone.txt: it is gone"]
        assert one.engine.opened_paths == []


async def test_a_double_click_opens(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """One click selects, two open."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt", "b.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.click(ResultsList, offset=(10, 5), times=2)
        await one.until(pilot, lambda: _opened(tmp_path) == ["b.txt"])
        await one.until(pilot, lambda: one.engine.opened_paths == [str(tmp_path / "b.txt")])


async def test_enter_in_the_list_opens(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """As in the search box."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt", "b.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("ctrl+o", "enter")
        await one.until(pilot, lambda: _opened(tmp_path) == ["a.txt"])


async def test_o_opens_the_folder(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """The folder that holds the file goes to the same program."""
    one = stage(engine=_on_disk(conftest_types, tmp_path, "a.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("ctrl+o", "o")
        await one.until(pilot, lambda: _opened(tmp_path) == [tmp_path.name])


async def test_y_copies_the_path(stage: Stages) -> None:
    """Where no program takes it, the terminal is asked to, and that is said."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("alt+y")
        assert one.app.clipboard == "/home/anna/energy/turbine.md"
        await one.until(pilot, lambda: "copied /home/anna/energy/turbine.md (sent to the terminal" in one.text)


async def test_enter_before_the_answer_asks_and_does_not_open_something_unseen(stage: Stages) -> None:
    """A hurried Enter never opens a result that was not on the screen yet."""
    one = stage(screen=ScreenSettings())
    async with one.searched("wind", size=WIDE) as pilot:
        one.app.search_screen.session.forget_question()
        await pilot.press(*" sea", "enter")
        await one.until(pilot, lambda: one.asked == "wind sea")
        assert one.engine.opened_paths == []


async def test_one_question_typed_in_two_ways_is_one_question(stage: Stages) -> None:
    """Blanks and order make no new question; filters do."""
    one = stage()
    async with one.searched("wind", size=WIDE):
        first = one.engine.requests[-1]
    from msgspec.structs import replace

    assert same_question(first, replace(first, text=" wind ", order="name", as_you_type=True))
    assert not same_question(first, replace(first, type="pdf"))
    assert not same_question(first, replace(first, text="winds"))
