"""Handing a hit to a program: what is planned, and the text for the pager."""

from __future__ import annotations

import stat
import sys
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from app.document_to_open import Place
from app.external_programs import How, MachineError
from app.search.results import Hit
from app.settings import OpenSettings, Settings
from app.tui.messages import HandedOver, NotOpened, TerminalWanted
from app.tui.opening_results import hand_over

SETTINGS = Settings(open=OpenSettings(editor="cat +{line} {path}", pager="cat -n {path}", opener="true"))


def _hit(path: Path, type: str = "text", part: str = "") -> Hit:
    return Hit(1, 1, str(path), part, "", type, "", 0.0, 1, "", 1.0, 1)


def _do(hit: Hit, how: str, tmp_path: Path, place: Place = Place(7, 2)) -> object:  # noqa: B008 -- frozen
    return hand_over(hit, how, place=place, settings=SETTINGS, data_dir=tmp_path, text_of=lambda hit: "the text")


def test_the_system_opens_beside_the_screen(tmp_path: Path) -> None:
    """A program that needs no terminal is started at once."""
    path = tmp_path / "a.txt"
    path.write_text("x")
    done = _do(_hit(path), "system", tmp_path)
    assert isinstance(done, HandedOver)
    assert (done.hit.path, done.program) == (str(path), "true")


def test_what_lies_elsewhere_is_brought_first(tmp_path: Path) -> None:
    """What became of it is said of the row; that it could not be brought is one line."""
    (tmp_path / "copy.txt").write_text("x")
    far = structs.replace(_hit(Path("desk:/a.txt")), machine="desk")

    def asked(hit: Hit, how: How) -> tuple[Hit, How]:
        return structs.replace(hit, path=str(tmp_path / "copy.txt")), how

    def nobody(hit: Hit, how: How) -> tuple[Hit, How]:
        raise MachineError("desk: did not answer within 3 s")

    do = partial(hand_over, far, "editor", place=Place(), settings=SETTINGS, data_dir=tmp_path, text_of=lambda hit: "")
    wanted, failed = do(here=asked), do(here=nobody)
    assert isinstance(wanted, TerminalWanted)
    assert (wanted.hit, wanted.ready.command.argv[-1]) == (far, str(tmp_path / "copy.txt"))
    assert isinstance(failed, NotOpened)
    assert failed.error == "desk: did not answer within 3 s"


def test_an_editor_is_told_the_line_and_gets_the_terminal(tmp_path: Path) -> None:
    """$EDITOR +line, for files whose lines are those of the text."""
    path = tmp_path / "a.txt"
    path.write_text("x")
    wanted = _do(_hit(path), "editor", tmp_path)
    assert isinstance(wanted, TerminalWanted)
    assert wanted.ready.command.argv == ("cat", "+7", str(path))
    assert wanted.ready.temporary == ""


def test_a_line_of_extracted_text_is_no_line_of_the_file(tmp_path: Path) -> None:
    """A PDF or a mail in a mailbox opens at its start in an editor."""
    path = tmp_path / "a.pdf"
    path.write_text("x")
    wanted = _do(_hit(path, "pdf"), "editor", tmp_path)
    assert isinstance(wanted, TerminalWanted)
    assert wanted.ready.command.argv == ("cat", "+1", str(path))


def test_a_pager_gets_the_text_of_a_pdf_in_a_private_file_that_goes_away(tmp_path: Path) -> None:
    """The pager shows what was indexed; nobody else can read the copy, and it is deleted afterwards."""
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF")
    wanted = _do(_hit(path, "pdf"), "pager", tmp_path)
    assert isinstance(wanted, TerminalWanted)
    copy = Path(wanted.ready.temporary)
    assert wanted.ready.command.argv == ("cat", "-n", str(copy))
    assert copy.read_text() == "the text"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert wanted.ready.run() == 0
    assert not copy.exists()


def test_a_pdf_without_a_display_is_read_in_the_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over SSH nothing can show its pages, so its text is shown; one without text says why it does not open."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF")
    settings = Settings(open=OpenSettings(pager="cat -n {path}"))
    shown, refused = (
        hand_over(
            _hit(path, "pdf"), "system", place=Place(), settings=settings, data_dir=tmp_path,
            text_of=lambda hit, text=text: text,
        )
        for text in ("the text", " ")
    )  # fmt: skip
    assert isinstance(shown, TerminalWanted)
    assert Path(shown.ready.temporary).read_text() == "the text"
    assert shown.ready.run() == 0
    assert isinstance(refused, NotOpened)
    assert "no graphical display" in refused.error


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    """The reason says which file."""
    refused = _do(_hit(tmp_path / "gone.txt"), "system", tmp_path)
    assert isinstance(refused, NotOpened)
    assert refused.error == f"{tmp_path / 'gone.txt'}: it is gone"
