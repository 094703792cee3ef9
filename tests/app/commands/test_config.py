"""`config` as a user runs it: the file is made and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.cli import main

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_config_edit_makes_the_file_and_checks_it(device: Device) -> None:
    """`config edit` starts from the default file, and reports what cannot be used afterwards."""
    device.config_file.parent.rmdir()
    done = device.run("config", "edit", env={"FOLTR_OPEN__EDITOR": "true"})
    assert done.returncode == 0, done.stderr
    assert device.config_file.read_text(encoding="utf-8") == device.run("config", "default").stdout
    device.config_file.write_text("[index]\nworkers = 'x'\n", encoding="utf-8")
    again = device.run("config", "edit", env={"FOLTR_OPEN__EDITOR": "true"})
    assert again.returncode == 2
    assert "index.workers wants a whole number" in again.stderr


def test_config_check_lists_every_problem(device: Device) -> None:
    """Each problem is a line on stderr; a valid configuration prints nothing."""
    assert device.run("config", "check").returncode == 0
    device.config_file.write_text("[index]\nworkers = -1\nx = 1\n", encoding="utf-8")
    done = device.run("config", "check")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2


def test_a_theme_that_does_not_exist_is_a_problem(device: Device) -> None:
    """`config check` names it and the nearest one; short names and Textual's own are fine."""
    device.config_file.write_text('[screen]\ntheme = "texual-dark"\n', encoding="utf-8")
    done = device.run("config", "check")
    assert done.returncode == 2
    assert (
        done.stderr == "foltr-search: screen.theme: there is no theme 'texual-dark'; the nearest one is textual-dark\n"
    )
    for theme in ("dark", "nord"):
        device.config_file.write_text(f'[screen]\ntheme = "{theme}"\n', encoding="utf-8")
        assert device.run("config", "check").returncode == 0


def test_an_action_that_does_not_exist_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A misspelt action under [screen.keys] is named, and the exit code is 2; without it, 0."""
    monkeypatch.setenv("FOLTR_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("FOLTR_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "config.toml").write_text('[screen.keys]\nopne = "x"\n')
    assert main(["config", "check"]) == 2
    assert "opne" in capfd.readouterr().err
    (tmp_path / "config.toml").write_text("")
    assert main(["config", "check"]) == 0
