"""A document on its way to one of the user's programs: as its file, a mail of its own, an address, or its text.

A pager would show the bytes of a PDF or of a mailbox, and a machine without a desktop shows neither. There the
extracted text is handed over, in a file that only the user can read and that goes when the program has ended.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from app.loose_mail import loose_mail
from app.opener import How, Invocation, NoDisplayError, OpenError, address_of, is_plain, plan, run
from app.search.description import headed
from app.settings import Settings

if TYPE_CHECKING:
    from app.search.results import Hit
    from indexer.storage.catalogue import DocumentRow


class Place(Struct, frozen=True):
    """Where in the document to go; 0 where unknown."""

    line: int = 0
    """of its text, from 1"""
    page: int = 0


class Prepared(Struct, frozen=True):
    """A program that is about to be started for a document."""

    command: Invocation
    temporary: str = ""
    """a file to delete afterwards"""

    def run(self) -> int:
        """Start it, wait for its end where it needs the terminal, and give its exit code; raises OpenError."""
        try:
            return run(self.command)
        finally:
            self.discard()

    def discard(self) -> None:
        """Delete what was made for it."""
        if self.temporary:
            Path(self.temporary).unlink(missing_ok=True)


def prepare(
    document: Hit | DocumentRow, how: How, *, place: Place, settings: Settings, data_dir: Path,
    text_of: Callable[[], str],
) -> Prepared:  # fmt: skip
    """Choose the program for a document, and make what it is given.

    `text_of` gives the extracted text, and is called where a pager shows it: when that was asked for, for a mail that
    no program opens, and for whatever has text where there is no display. Raises OpenError.
    """
    plain = is_plain(document.type, document.part)
    if how == "pager" and not plain:
        return _as_text(document, place, settings, data_dir, text_of())
    mail = None
    try:
        mail = loose_mail(document, data_dir) if how == "system" else None
        address = address_of(document.type, document.properties)
        return Prepared(
            plan(
                document.path, how, settings=settings, line=place.line if plain else 0, page=place.page, mail=mail,
                address=address,
            )
        )  # fmt: skip
    except NoDisplayError:
        text = text_of()
        if not text.strip():
            raise
    except OpenError:
        if mail is None or settings.open.mail:
            raise
        text = text_of()
    return _as_text(document, place, settings, data_dir, text)


def _as_text(document: Hit | DocumentRow, place: Place, settings: Settings, data_dir: Path, text: str) -> Prepared:
    """The text in the pager, which goes to the same line of it, below a mail's head."""
    shown = headed(document, text)
    line = place.line + shown.count("\n") - text.count("\n") if place.line else 0
    with tempfile.NamedTemporaryFile(
        "w", dir=data_dir, suffix=".txt", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.write(shown)
    try:
        return Prepared(plan(file.name, "pager", settings=settings, line=line), file.name)
    except OpenError:
        Path(file.name).unlink()
        raise
