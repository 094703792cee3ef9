"""The folders that are searched and the files that could not be read, on the screen."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from textual.events import Key
from textual.widgets import OptionList

from app.chosen_folders import remember_root, remembered_roots
from app.following.indexing import update_index
from app.paths import Paths
from app.settings import IndexSettings, Settings
from app.tui.background_indexing import Background, contents_line
from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_lines import StatusLine
from app.tui.panels.first_start import FirstStart
from app.tui.panels.list_screens import FailuresScreen, FoldersScreen
from indexer.storage.catalogue import Catalogue
from tests.app.tui.conftest import WIDE, Stages, wind


async def opened(one: Any, pilot: Any) -> FoldersScreen:
    await pilot.press("f7")
    await one.until(pilot, lambda: isinstance(one.app.screen, FoldersScreen) and "2 places searched" in one.text)
    return one.app.screen


async def test_folders_are_seen_with_what_is_in_them(stage: Stages) -> None:
    """Each with its documents by type; Enter narrows the search to one."""
    async with wind(stage()) as (one, pilot):
        await opened(one, pilot)
        assert "~/energy" in one.text
        assert "2 documents: 1 markdown, 1 pdf" in one.text
        await pilot.press("enter")
        await one.until(pilot, lambda: one.engine.requests[-1].folder == "/home/anna/energy")


async def test_a_folder_is_taken_out_by_two_keys(stage: Stages) -> None:
    """The first says what it means; one that the settings name stays, and a line says so."""
    async with wind(stage()) as (one, pilot):
        await opened(one, pilot)
        await pilot.press("d")
        sure = "d again takes ~/energy out of the search; its files stay as they are."
        await one.until(pilot, lambda: sure in one.text)
        assert one.indexing.forgotten == []
        await pilot.press("d")
        await one.until(pilot, lambda: "no longer searched: ~/energy" in one.app.search_screen.line.text)
        await one.until(pilot, lambda: one.indexing.started[-1] == () and len(one.indexing.started) == 2)
        await opened(one, pilot)
        await pilot.press("down", "d", "d")
        await one.until(pilot, lambda: "is in the settings" in one.app.search_screen.line.text)
    assert one.indexing.forgotten == ["/home/anna/energy", "/home/anna/notes"]


async def test_a_folder_is_added_as_at_the_first_start(stage: Stages, conftest_types: SimpleNamespace) -> None:
    """The same dialogue, in which nothing is chosen yet, and `a` chooses all that it suggests."""
    folders = [conftest_types.Folder(f"/home/anna/{name}", "12 files") for name in ("Mail", "Music", "Notes")]
    one = stage(indexing=conftest_types.FakeIndexing(folders=folders))
    async with one.searched("wind", size=WIDE) as pilot:
        await opened(one, pilot)
        await pilot.press("a")
        await one.until(pilot, lambda: isinstance(one.app.screen, FirstStart) and "[ ]" in one.text)
        assert "[x]" not in one.text
        await pilot.press("a", "ctrl+s")
        await one.until(pilot, lambda: one.indexing.started[-1] == tuple(folder.choice for folder in folders))


async def test_without_documents_the_screen_says_how_to_add_a_folder(stage: Stages, conftest_types: Any) -> None:
    """And not that another spelling finds more."""
    one = stage(engine=conftest_types.FakeSearch([]))
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "0 documents indexed" in one.text)
        assert "Add a folder: F7" in one.text
        await one.search(pilot, "hello")
        assert "0 documents are indexed: add a folder (F7)." in one.text
        assert "another spelling" not in one.text


async def test_the_first_start_fits_a_small_window(stage: Stages, conftest_types: SimpleNamespace) -> None:
    """At 80x24 a dozen folders leave the buttons, the box for another one, and how to choose all in view; in a
    narrower one all the keys are; in a lower one the folder under the cursor is."""
    folders = [conftest_types.Folder(f"/home/anna/{n}", "12 files") for n in range(12)]
    one = stage(indexing=conftest_types.FakeIndexing(indexed=False, folders=folders))
    async with one.app.run_test(size=(80, 24)) as pilot:
        await one.until(pilot, lambda: "[x]" in one.text)
        for wanted in ("Which folders", "a selects all", "Another folder", "Start indexing", "Not now"):
            assert wanted in one.text, one.text
        await pilot.resize_terminal(60, 30)
        await one.until(pilot, lambda: "moves on" in one.text)
        await pilot.resize_terminal(80, 12)
        await pilot.press("up")
        await one.until(pilot, lambda: "~/11" in one.text)


def test_what_is_in_a_folder_is_counted(tmp_path: Path) -> None:
    """By a real index; one that is not read yet says so, and one that is remembered can be forgotten."""
    paths = Paths(tmp_path / "config", tmp_path / "data")
    for name in ("a/one.txt", "a/two.md", "b/three.txt"):
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_text("wind")
    settings = Settings(index=IndexSettings(workers=1, roots=[str(tmp_path / "files" / "b")]))
    background = Background(settings, paths)
    assert [about for _, about in background.folders()] == ["not read yet"]
    remember_root(paths, tmp_path / "files" / "a")
    update_index(settings, paths, roots=[str(tmp_path / "files" / "a"), str(tmp_path / "files" / "b")])
    assert [(Path(name).name, about) for name, about in background.folders()] == [
        ("b", "1 document: 1 text"), ("a", "2 documents: 1 markdown, 1 text"),
    ]  # fmt: skip
    assert background.forget(str(tmp_path / "files" / "a"))
    assert not background.forget(str(tmp_path / "files" / "b"))
    assert remembered_roots(paths) == ()


def test_the_last_folder_leaves_nothing_in_the_index(tmp_path: Path) -> None:
    """It is forgotten, and its documents go at once, though nobody follows changes then."""
    paths, settings = Paths(tmp_path / "config", tmp_path / "data"), Settings(index=IndexSettings(workers=1))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one.txt").write_text("wind")
    remember_root(paths, tmp_path / "files")
    update_index(settings, paths, roots=[str(tmp_path / "files")])
    background = Background(settings, paths)
    assert background.forget(str(tmp_path / "files"))
    background.start((), lambda line: None)
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        assert catalogue.counts().n_documents == 0
    assert (tmp_path / "files" / "one.txt").exists()


async def test_a_source_cannot_be_narrowed_to(stage: Stages) -> None:
    """Enter on it does nothing: it is no folder."""
    one = stage()
    one.indexing.folders = lambda: [("firefox", "")]
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("f7")
        await one.until(pilot, lambda: "1 place searched" in one.text)
        await pilot.press("enter", "escape")
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
        assert one.app.search_screen.questions.filters["folder"] == ""


def test_many_types_are_cut_short() -> None:
    """The six commonest, the first of the alphabet among equals."""
    types = dict.fromkeys("gfedcba", 1) | {"mail": 300}
    assert contents_line(types) == "307 documents: 300 mail, 1 a, 1 b, 1 c, 1 d, 1 e, …"
    assert contents_line({}) == "0 documents"


async def failures_opened(one: Any, pilot: Any) -> None:
    await pilot.press("ctrl+g", "F")
    await one.until(pilot, lambda: isinstance(one.app.screen, FailuresScreen) and "read" in one.text)


async def test_each_has_its_reason_and_its_folder_is_one_key_away(stage: Stages, tmp_path: Path) -> None:
    """Enter opens the folder of the second one."""
    one = stage()
    (tmp_path / "papers").mkdir()
    one.engine.unread = [("/home/anna/a.pdf", "it is encrypted"), (str(tmp_path / "papers" / "b.doc"), "it is damaged")]
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        await failures_opened(one, pilot)
        await one.until(pilot, lambda: "2 files could not be read" in one.text)
        assert "it is encrypted" in one.text
        await pilot.press("j", "enter")
        opened = tmp_path / "opened"
        await one.until(pilot, lambda: opened.exists() and opened.read_text().strip() == str(tmp_path / "papers"))


async def test_a_letter_right_behind_the_leader_key_is_not_typed(stage: Stages) -> None:
    """Both keys are here before the first is acted on, as from a fast hand or a macro."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        one.app.post_message(Key("ctrl+g", None))
        one.app.post_message(Key("F", "F"))
        await one.until(pilot, lambda: isinstance(one.app.screen, FailuresScreen))
        await pilot.press("escape")
        assert one.app.screen.query_one(QueryInput).value == ""


async def test_they_are_read_again_when_asked(stage: Stages) -> None:
    """One key starts the indexing anew with the failures; without any it does nothing."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        await failures_opened(one, pilot)
        await one.until(pilot, lambda: "All files could be read" in one.text)
        await pilot.press("r", "escape")
        one.engine.unread = [("/home/anna/a.pdf", "it took too long")]
        await pilot.click(StatusLine)
        await one.until(pilot, lambda: "it took too long" in one.text)
        await pilot.press("r")
        await one.until(pilot, lambda: one.indexing.retried == 1)


async def test_a_page_is_turned_before_the_rows_are_laid_out(stage: Stages) -> None:
    """A key of a burst may come between the rows and the first frame that has them."""
    async with wind(stage()) as (one, pilot):
        one.app.push_screen(FailuresScreen(lambda: []))
        await one.until(pilot, lambda: "All files could be read" in one.text)
        shown = one.app.screen.query_one(OptionList)
        one.app.screen._show([("/home/anna/a.pdf", "cut off"), ("/home/anna/b.pdf", "cut off")])
        shown.action_page_down()
        shown.action_page_up()
        await one.until(pilot, lambda: "b.pdf" in one.text)
        await pilot.press("pagedown")
        await one.until(pilot, lambda: shown.highlighted == 1)


async def test_its_keys_are_named_in_a_narrow_window_too(stage: Stages) -> None:
    """At 60x20 they take two lines below as many files as there is room for."""
    one = stage()
    one.engine.unread = [(f"/home/anna/{n}.pdf", "it is encrypted") for n in range(30)]
    async with one.app.run_test(size=(60, 20)) as pilot:
        await one.settle(pilot)
        await failures_opened(one, pilot)
        await one.until(pilot, lambda: "30 files could not be read" in one.text and "Esc closes" in one.text)


async def test_what_cannot_be_read_or_taken_out_is_told(stage: Stages, conftest_types: SimpleNamespace) -> None:
    """A damaged list and a full disk are one line each, and the screen goes on."""
    indexing = conftest_types.FakeIndexing()
    indexing.forget = lambda name: os.stat("/no such disk")
    async with wind(stage(indexing=indexing)) as (one, pilot):
        await opened(one, pilot)
        await pilot.press("d", "d")
        await one.until(pilot, lambda: one.notes[-1:] == ["[Errno 2] No such file or directory: '/no such disk'"])
        indexing.folders = lambda: os.stat("/no such list")
        await pilot.press("f7")
        await one.until(pilot, lambda: one.notes[-1:] == ["[Errno 2] No such file or directory: '/no such list'"])
