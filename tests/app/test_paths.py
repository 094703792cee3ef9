"""Where the program's folders are."""

from __future__ import annotations

from pathlib import Path

from app.paths import Paths


def test_variables_move_both_folders(tmp_path: Path) -> None:
    """FOLTR_CONFIG_DIR and FOLTR_DATA_DIR move everything; without them the platform's folders are used."""
    moved = Paths.from_environment({"FOLTR_CONFIG_DIR": str(tmp_path / "c"), "FOLTR_DATA_DIR": str(tmp_path / "d")})
    assert moved == Paths(tmp_path / "c", tmp_path / "d")
    usual = Paths.from_environment({})
    assert usual.config_dir.name == usual.data_dir.name == "foltr-search"
