"""Giving a hit to the user's own program: choosing it, in a worker, and stepping aside for one that needs the terminal.

A pager would show the bytes of a PDF or of a mailbox, so it is given the extracted text instead, in a file that only
the user can read and that is deleted when the pager ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual.message import Message

from app.opener import How, OpenError, plan, run
from app.search.results import Hit
from app.settings import Settings
from app.tui.messages import HandedOver, NotOpened, TerminalWanted

AS_THEY_ARE = frozenset({"text", "markdown", "source", "data", "calendar"})
"""types whose lines in the file are the lines of the extracted text"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the document to go; 0 where unknown."""

    line: int = 0
    page: int = 0


def hand_over(
    hit: Hit, how: How, *, place: Place, settings: Settings, data_dir: Path, text_of: Callable[[Hit], str]
) -> Message:
    """Start the program for a hit, or say that it needs the terminal, or why it cannot be started.

    Runs in a worker. `text_of` gives the extracted text, for a pager.
    """
    is_plain = hit.type in AS_THEY_ARE and not hit.part
    temporary = ""
    try:
        if how == "pager" and not is_plain:
            temporary = _private_copy(text_of(hit), data_dir)
        line = place.line if is_plain or temporary else 0
        command = plan(temporary or hit.path, how, settings=settings, line=line, page=place.page)
        if command.needs_terminal:
            return TerminalWanted(hit, command, temporary)
        run(command)
    except (OpenError, OSError) as error:
        _delete(temporary)
        return NotOpened(hit, str(error))
    return HandedOver(hit, Path(command.argv[0]).name)


def finish(wanted: TerminalWanted) -> int:
    """Run a program that needs the terminal, wait for its end and give its exit code; raises OpenError."""
    try:
        return run(wanted.command)
    finally:
        _delete(wanted.temporary)


def _private_copy(text: str, data_dir: Path) -> str:
    with tempfile.NamedTemporaryFile("w", dir=data_dir, suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def _delete(path: str) -> None:
    if path:
        Path(path).unlink(missing_ok=True)
