"""The name of a group: `foltr-server rename`, `init` and `serve`."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server.cli import main
from tests.federation_server.client import make_server, member, running


def test_devices_hear_the_new_name_from_a_signed_announcement(tmp_path: Path) -> None:
    """The running server announces it at once, under the same group id."""
    made = make_server(tmp_path / "server")
    with running(made):
        ada = member(made)
        before = ada.announcement()
        assert main(["--folder", str(made.folder), "rename", "grey herons"]) == 0
        after = ada.announcement()
    assert (before.group, after.group) == ("herons", "grey herons")
    assert after.terms == before.terms


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "\x1b[2J", "x" * 81])
def test_a_name_is_one_printable_line(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is refused before the group is touched, or made."""
    for command in (["rename", name], ["init", "--group", name], ["serve", "--group", name]):
        assert main(["--folder", str(tmp_path / "server"), *command]) == 2
        assert "printable characters" in capsys.readouterr().err
    assert not (tmp_path / "server").exists()
