"""An invite as a QR code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from federation_server.cli import main
from federation_server.commands.invite import BORDER, RESET, WHITE_ON_BLACK, qr_code
from foltr.federated.links import PREFIX

HALVES = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}
"""upper and lower module of each character: 1 is dark, and what is drawn is light"""


def modules(drawn: str) -> list[list[int]]:
    """The matrix that the characters show, without its border."""
    rows: list[list[int]] = []
    for line in drawn.splitlines():
        assert line.startswith(WHITE_ON_BLACK)
        assert line.endswith(RESET)
        pairs = [HALVES[sign] for sign in line.removeprefix(WHITE_ON_BLACK).removesuffix(RESET)]
        rows += [[upper for upper, _ in pairs], [lower for _, lower in pairs]]
    side = len(rows[0])
    assert all(not any(row[:BORDER] + row[-BORDER:]) for row in rows[:side])
    return [row[BORDER:-BORDER] for row in rows[BORDER : side - BORDER]]


def test_the_code_holds_the_link_and_fits_a_terminal() -> None:
    """Module for module what the library encodes, with finders at three corners, within 80 columns."""
    import segno

    link = PREFIX + "aZ9_" * 110
    found = modules(qr_code(link))
    assert found == [list(row) for row in segno.make_qr(link, error="l", boost_error=False).matrix]
    finder = [1, 1, 1, 1, 1, 1, 1]
    assert found[0][:7] == found[0][-7:] == found[-1][:7] == finder
    assert len(found) + 2 * BORDER <= 80


def test_the_link_stays_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`invite --qr` draws beside the link, on stderr, the code of that very link."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    capsys.readouterr()
    assert main(["--folder", str(tmp_path / "server"), "invite", "--qr"]) == 0
    said = capsys.readouterr()
    (link,) = said.out.splitlines()
    assert qr_code(link) in said.err


def test_without_its_package_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says how to install it, and no invite is left that nobody was shown."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    monkeypatch.setitem(sys.modules, "segno", None)
    assert main(["--folder", str(tmp_path / "server"), "invite", "--qr"]) == 2
    assert "[qr]" in capsys.readouterr().err
    assert main(["--folder", str(tmp_path / "server"), "invite", "list"]) == 1
