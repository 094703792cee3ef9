"""The plain dialogue, as somebody types it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.extract.media import recognised
from indexer.extract.source import fingerprint
from tests.app.commands.picking import names

if TYPE_CHECKING:
    from tests.app.conftest import Device


def say(device: Device, *lines: str, query: str = "", **variables: str) -> list[str]:
    """What is printed for these lines, without the prompts."""
    typed = "".join(f"{line}\n" for line in lines)
    done = device.run("--plain", *query.split(), env=variables, typed=typed)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    return [line.removeprefix("> ") for line in done.stdout.replace("> ", "\n").splitlines() if line.strip("> ")]


def numbered(lines: list[str]) -> list[str]:
    """The names of the results that were said, in order."""
    return [line.partition(". ")[2].partition(":")[0] for line in lines if line.partition(". ")[0].isdigit()]


def test_it_says_the_page_that_the_command_prints(indexed: Device) -> None:
    """The same documents in the same order, each with a number, and never a line drawn over another."""
    found = say(indexed, "fish", "q")
    shown = [line for line in found if line.partition(". ")[0].isdigit()]
    assert len(shown) == len(names(indexed, "fish")) > 1
    assert all(name in line for name, line in zip(names(indexed, "fish"), shown, strict=True))
    assert numbered(say(indexed, query="fish")) == numbered(found)


def test_the_pages_turn(indexed: Device) -> None:
    """`n` continues where the last page ended, and `p` goes back; past either end it says so."""
    small = {"FOLTR_SEARCH__PAGE_SIZE": "1"}
    lines = say(indexed, "fish", "n", "p", "p", **small)
    first, second, again = numbered(lines)
    assert first == again != second
    assert lines[-1] == "There are none before."


def test_a_number_opens_and_is_learned_from(device: Device) -> None:
    """The configured program gets the file, and the next page has learned from it."""
    device.index()
    log = device.home / "opened"
    opener = device.home / "opener.sh"
    opener.write_text(f'#!/bin/sh\necho "$1" >> {log}\n')
    opener.chmod(0o755)
    editor = {"FOLTR_OPEN__ENTER": "editor", "FOLTR_OPEN__EDITOR": f"{opener} {{path}}"}
    rank = names(device, "fish").index("kingfisher.md") + 1
    device.run("search", "boat")
    lines = say(device, "fish", str(rank), "9" * 5000, "q", **editor)
    assert log.read_text().splitlines() == [str(device.notes / "birds" / "kingfisher.md")]
    assert any(line.startswith("There are results 1 to ") for line in lines)
    assert device.run("open", str(rank), "--print").stdout == log.read_text()
    assert '"n_picks"' in device.run("model", "--json").stdout or "1 pick" in device.run("model").stdout


def test_a_program_that_cannot_be_started_is_a_line(indexed: Device) -> None:
    """The dialogue goes on, nothing counts as opened, and the copy of the text that was made for it is gone."""
    rank = names(indexed, "boat").index("invoice.html") + 1
    lines = say(indexed, "boat", str(rank), "heron", "q", FOLTR_OPEN__ENTER="pager", FOLTR_OPEN__PAGER="no-such-pager")
    assert "cannot start no-such-pager: No such file or directory" in lines
    assert "heron" in lines[-1]
    assert not any("learned" in line for line in lines)
    assert list((indexed.data_dir / "mail").iterdir()) == []


def test_why_text_and_a_query_that_looks_like_an_answer(indexed: Device) -> None:
    """`w 1` and `t 1` print them; after a slash letters and numbers are searched for."""
    lines = say(indexed, "heron", "t 1", "w 1", "/2024", "?", "q")
    assert any("heron" in line for line in lines)
    assert any("return 2024" in line for line in lines)
    assert lines[-1].startswith("Type words to search")


def test_documents_like_a_result_are_found(indexed: Device) -> None:
    """By words that are printed; for a text that shares none with another, no search is made."""
    lines = say(indexed, "heron water", "l 1", "invoice", "l 1", "q")
    asked = numbered(say(indexed, "heron fish", "q"))
    assert numbered(lines[lines.index("Searching: heron fish") :])[: len(asked)] == asked
    assert lines[-1] == "No other document has any of its words."


def test_what_was_said_has_its_moment(device: Device) -> None:
    """A passage of a recording begins with its time."""
    memo = device.notes / "memo.ogg"
    shutil.copy(Path(__file__).parents[2] / "indexer/extract/media/spoken.ogg", memo)
    device.index()
    store = device.data_dir / recognised.FILE
    recognised.remember(
        store, fingerprint(str(memo)), engine="x", pages=["", "", "Plant cherry trees"], reason="", seconds=1
    )
    device.run("index", "--rebuild")
    assert "at 0:10: Plant cherry trees" in "\n".join(say(device, "cherry", "q"))
