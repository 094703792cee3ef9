"""`foltr-server doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group that was made by `foltr-server init`."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    return tmp_path / "server"


def run(folder: Path, *arguments: str) -> int:
    return main(["--folder", str(folder), *arguments])


def test_the_doctor_compares_settings_with_what_members_agreed_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Privacy is what the terms say; settings that were changed since have no effect, and that is said."""
    run(folder, "doctor")
    assert "ok   terms: as the settings say" in capsys.readouterr().out
    changed = '[method]\nmode = "open"\nprivacy = { mechanism = "none" }\n[rounds]\nn_local = 7\n'
    (folder / "server.toml").write_text(changed)
    assert run(folder, "doctor") == 1
    shown = capsys.readouterr().out
    assert "ok   privacy: {'mechanism': 'gaussian'" in shown
    assert "FAIL terms: the settings say otherwise about settings, n_local, n_unlearn, mode" in shown
