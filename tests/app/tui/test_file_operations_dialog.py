"""The marked files: asked for first, then done, on real files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from app.file_operations import Filed
from app.tui.file_operations_dialog import SHOWN, FileOperationsScreen, report
from app.tui.group_syncing import ConsentScreen
from app.tui.messages import FilesFiled
from app.tui.results_list import ResultsList
from console.wording import short_path
from tests.app.tui.conftest import WIDE, Stages, wind


def _real(types: Any, folder: Path) -> Any:
    """An engine over three real files."""
    folder.mkdir()
    documents = []
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"wind {name}")
        documents.append(types.Document(str(folder / f"{name}.txt"), f"Wind {name}", "text", "wind\n"))
    return types.FakeSearch(documents)


async def _ask(one: Any, pilot: Any, letter: str) -> FileOperationsScreen:
    await pilot.press("ctrl+g", letter)
    await one.until(pilot, lambda: isinstance(one.app.screen, FileOperationsScreen), "the question")
    screen: FileOperationsScreen = one.app.screen
    return screen


async def _ask_to_copy(one: Any, pilot: Any, folder: Path) -> FileOperationsScreen:
    """The question, with a folder that it accepts."""
    question = await _ask(one, pilot, "C")
    question.query_one(Input).value = str(folder)
    await pilot.press("enter")
    await one.until(pilot, lambda: not question.query_one("#filing-yes", Button).disabled)
    return question


async def test_marked_files_are_moved_once_the_folder_is_named_and_agreed_to(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """The question names both and no other; the name that is there is said and stays; what was learned goes along."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    target = tmp_path / "target"
    target.mkdir()
    (target / "b.txt").write_text("precious")
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("tab", "tab")
        question = await _ask(one, pilot, "M")
        await one.until(pilot, lambda: "Move 2 files to a folder" in one.text and "a.txt" in one.text)
        assert question._paths == [str(tmp_path / "files" / "a.txt"), str(tmp_path / "files" / "b.txt")]
        question.query_one(Input).value = str(target)
        await pilot.press("enter")
        note = question.query_one("#filing-note", Static)
        await one.until(pilot, lambda: str(note.render()).endswith("has these names already: b.txt"))
        assert (tmp_path / "files" / "a.txt").exists()
        yes = question.query_one("#filing-yes", Button)
        assert str(yes.label) == f"Move 1 file to {short_path(str(target))}"
        await one.until(pilot, lambda: yes.size.width >= min(len(str(yes.label)), 60), "the button holds its words")
        assert question.query_one("#filing-no", Button).has_focus
        await pilot.press("left", "enter")
        await one.until(pilot, lambda: (target / "a.txt").exists() and bool(one.notes), "the move")
        results = one.app.search_screen.query_one(ResultsList)
        await one.until(pilot, lambda: len(results.marks) == 1)
    assert (target / "a.txt").read_text() == "wind a"
    assert (target / "b.txt").read_text() == "precious"
    assert (tmp_path / "files" / "b.txt").read_text() == "wind b"
    assert one.engine.moved == [(str(tmp_path / "files" / "a.txt"), str(target / "a.txt"))]
    assert [hit.path for _, hit in results.marks] == [str(tmp_path / "files" / "b.txt")]
    assert "the folder has a file of that name already" in one.notes[-1]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (lambda: FileOperationsScreen("trash", []), "filing-no"),
        (lambda: FileOperationsScreen("move", []), "filing-folder"),
        (lambda: ConsentScreen(["Share?", "This and that."]), "consent-no"),
    ],
)
async def test_agreeing_has_the_focus_at_no_moment(question: Callable[[], Screen[Any]], first: str) -> None:
    """A key that comes before a question is laid out, as on a busy machine, does not agree to it."""
    app, asked = App[None](), question()
    async with app.run_test():
        app.push_screen(asked)
        seen = set()
        for _ in range(100):
            await asyncio.sleep(0)
            seen.add(asked.focused.id if asked.focused else None)
        assert seen - {None} == {first}


async def test_no_is_chosen_unless_another_button_is(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """Enter and Esc on the question about the trash leave every file where it is."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    async with one.searched("wind", size=WIDE) as pilot:
        for key in ("enter", "escape"):
            question = await _ask(one, pilot, "D")
            await one.until(pilot, lambda: "Put 1 file into the trash?" in one.text)
            assert question.query_one("#filing-no", Button).has_focus
            await pilot.press(key)
            await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
        await one.settle(pilot)
    assert len(list((tmp_path / "files").iterdir())) == 3


async def test_all_marked_ones_are_opened_and_count(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """Two programs are started after one question, two clicks recorded."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("tab", "tab")
        await _ask(one, pilot, "O")
        await pilot.press("shift+tab", "enter")
        await one.until(pilot, lambda: len(one.engine.opened_paths) == 2, "two opened")
    assert sorted(Path(path).name for path in one.engine.opened_paths) == ["a.txt", "b.txt"]


async def test_the_paths_of_the_marked_ones_are_copied_together(stage: Stages) -> None:
    """One on each line."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("tab", "tab", "ctrl+y")
        wanted = "/home/anna/energy/turbine.md\n/home/anna/energy/report.pdf"
        await one.until(pilot, lambda: one.app.clipboard == wanted)


def test_the_report_counts_and_names_what_was_refused() -> None:
    """Ten refusals of eleven: eight by name, two by number."""
    filed = [Filed("/a", "/t/a"), *(Filed(f"/{n}", error="it is gone") for n in range(SHOWN + 2))]
    done, refused = report("copy", filed, "/t")
    assert done == "copied 1 file to /t"
    assert refused.splitlines()[0] == "/0: it is gone"
    assert refused.splitlines()[-1] == "and 2 more"
    assert report("trash", [Filed("/a")], "") == ("trashed 1 file", "")


async def test_what_was_named_is_opened_though_another_row_is_selected_by_then(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """A newer commit puts another document on top while the question is asked."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    async with one.searched("wind", size=WIDE) as pilot:
        question = await _ask(one, pilot, "O")
        assert question._paths == [str(tmp_path / "files" / "a.txt")]
        one.engine.documents.reverse()
        one.engine.generation += 1
        one.app.search_screen._look_again()
        await one.until(pilot, lambda: one.app.search_screen.results.selected.path.endswith("c.txt"))
        await pilot.press("left", "enter")
        await one.until(pilot, lambda: bool(one.engine.opened_paths))
    assert one.engine.opened_paths == question._paths


async def test_the_name_of_a_folder_is_no_markup(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """The button names it whole, and a click on it does nothing else."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    target = tmp_path / "[b]x[@click=app.quit]y"
    target.mkdir()
    async with one.searched("wind", size=WIDE) as pilot:
        question = await _ask(one, pilot, "C")
        question.query_one(Input).value = str(target)
        await pilot.press("enter")
        yes = question.query_one("#filing-yes", Button)
        await one.until(pilot, lambda: not yes.disabled)
        assert (str(yes.label), yes.label.spans) == (f"Copy 1 file to {short_path(str(target))}", [])


async def test_a_folder_that_has_gone_while_it_was_asked_about_is_told(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """The question stays, for another folder."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    (tmp_path / "target").mkdir()
    async with one.searched("wind", size=WIDE) as pilot:
        question = await _ask_to_copy(one, pilot, tmp_path / "target")
        (tmp_path / "target").rmdir()
        (tmp_path / "target").write_text("a file")
        await pilot.press("left", "enter")
        note = question.query_one("#filing-note", Static)
        await one.until(pilot, lambda: str(note.render()).startswith("wanted a folder, and there is none"))
        assert one.app.screen is question


async def test_what_is_marked_while_files_are_copied_stays_marked(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """Only the mark of the file that was copied goes."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    first, second = (str(tmp_path / "files" / name) for name in ("a.txt", "b.txt"))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("tab", "tab")
        results = one.app.search_screen.results
        assert [hit.path for _, hit in results.marks] == [first, second]
        one.app.search_screen.post_message(FilesFiled("copy", (Filed(first, "/t/a.txt"),), "/t"))
        await one.until(pilot, lambda: [hit.path for _, hit in results.marks] == [second])


async def test_a_result_opens_while_files_are_copied(
    stage: Stages, conftest_types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy may take minutes; nobody waits for it."""
    one = stage(engine=_real(conftest_types, tmp_path / "files"))
    copied = threading.Event()
    monkeypatch.setattr("app.file_operations.copy_to", lambda paths, folder: copied.wait(120) and [])
    (tmp_path / "target").mkdir()
    async with one.searched("wind", size=WIDE) as pilot:
        await _ask_to_copy(one, pilot, tmp_path / "target")
        await pilot.press("left", "enter")
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
        await pilot.press("enter")
        await one.until(pilot, lambda: bool(one.engine.opened_paths))
        assert not copied.is_set()
        copied.set()
