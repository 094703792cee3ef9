"""The folders used when nothing else is set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
import pytest

from app.standard_folders import NAME, data_folder, standard_folder

if TYPE_CHECKING:
    from tests.app.conftest import Device


@pytest.mark.parametrize("value", [None, "", "  ", "/elsewhere", "/elsewhere/"])
def test_they_are_those_of_the_platform(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """As platformdirs finds them, whatever the XDG variables say."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
    wanted = platformdirs.user_config_path(NAME, appauthor=False), platformdirs.user_data_path(NAME, appauthor=False)
    assert tuple(Path(standard_folder(kind, os.environ)) for kind in ("config", "data")) == wanted


def test_without_a_home_none_is_made_in_the_present_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without HOME and name, as in a container, is told what to set; `~` is no folder's name."""
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(OSError, match="there is no home folder; set HOME, or XDG_DATA_HOME"):
        standard_folder("data", os.environ)
    assert standard_folder("data", {"XDG_DATA_HOME": "/data"}) == f"/data/{NAME}"


def test_the_data_folder_may_be_chosen() -> None:
    """FOLTR_DATA_DIR works with ~ and relative to the present folder."""
    assert data_folder({"FOLTR_DATA_DIR": "~/x"}) == os.path.expanduser("~/x")
    assert data_folder({"FOLTR_DATA_DIR": "x"}) == os.path.join(os.getcwd(), "x")
    assert data_folder({"FOLTR_DATA_DIR": ""}) == standard_folder("data", {})


def test_an_empty_home_is_none(device: Device) -> None:
    """HOME="" means the home that the system knows, as without HOME, never the root of the file system."""
    variables = device.environment(FOLTR_DATA_DIR="", FOLTR_CONFIG_DIR="", XDG_CONFIG_HOME="")
    del variables["HOME"]
    command = [sys.executable, "-m", "app", "config", "path"]
    places = [
        subprocess.run(command, env=env, capture_output=True, check=False).stdout
        for env in (variables, {**variables, "HOME": ""})
    ]
    assert places[0] == places[1] != b""


NAMELESS = """
import pwd, sys
pwd.getpwuid = {}.__getitem__
from app.__main__ import main
sys.exit(main())
"""
"""the program for a user that the system does not know"""


def test_without_a_home_the_folders_that_were_named_are_enough(device: Device) -> None:
    """As in a container without HOME: files are indexed, found, explained and forgotten."""
    chosen = {"FOLTR_DATA_DIR": str(device.data_dir), "FOLTR_CONFIG_DIR": str(device.home / "config")}
    variables = {name: value for name, value in device.environment(**chosen).items() if name != "HOME"}

    def said(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", NAMELESS, *words], env=variables, capture_output=True, text=True, check=False
        )
        assert "unexpected" not in done.stderr
        return done.stdout + done.stderr

    assert "6 new" in said("index", str(device.notes))
    assert "heron" in said("search", "heron")
    assert ": indexed" in said("why", str(device.notes / "birds" / "kingfisher.md"))
    assert "broken" not in said("doctor")
    assert "deleted" in said("purge", "--yes")
