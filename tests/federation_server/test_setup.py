"""A group is made from its settings, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server import group, serve
from federation_server.cli import main
from federation_server.database import reading
from federation_server.serve import Installation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group that was made by `foltr-server init`."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    return tmp_path / "server"


def run(folder: Path, *arguments: str) -> int:
    return main(["--folder", str(folder), *arguments])


def test_serving_makes_a_group_from_settings_written_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` alone is enough when server.toml was written first, and the second start takes the same group."""
    (tmp_path / "server.toml").write_text("[rounds]\nfloor = 2\nquorum = 2\n")
    served: list[Installation] = []
    monkeypatch.setattr(serve, "serve", served.append)
    assert run(tmp_path, "serve") == run(tmp_path, "serve") == 0
    ids = []
    for one in served:
        with reading(one.engine) as connection:
            ids.append(group.terms(connection).group_id)
            assert group.terms(connection).floor == 2
    assert ids[0] == ids[1]


def test_a_group_that_could_not_be_made_leaves_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the reason is mended, the same command works."""
    settings = tmp_path / "server.toml"
    settings.write_text('[server]\ndatabase = "sqlite:///missing/server.sqlite"\n')
    assert run(tmp_path, "init") == 2
    assert not (tmp_path / "keys.json").exists()
    assert run(tmp_path, "rounds") == 2
    assert "there is no group in" in capsys.readouterr().err
    settings.write_text("")
    assert run(tmp_path, "init") == 0
