"""`config check` looks at the key bindings of the screen too."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import main


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
