"""The server's unit: its settings start, and systemd finds it closed."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contrib.program import program
from tests.federation_server.client import Client, opened

UNIT = Path(__file__).resolve().parents[2] / "contrib" / "systemd" / "foltr-server.service"


def assignments(name: str) -> list[str]:
    """All values of a key of [Service]: systemd allows a key more than once."""
    lines = UNIT.read_text().partition("[Service]")[2].partition("\n[")[0].splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]


def test_the_unit_starts_with_its_own_settings(tmp_path: Path) -> None:
    """Under the unit's environment its command makes a group in the state directory, and a device joins."""
    environment = dict(pair.split("=", 1) for pair in assignments("Environment"))
    assert environment["FOLTR_SERVER_FOLDER"] == f"/var/lib/{assignments('StateDirectory')[0]}"
    (command,) = assignments("ExecStart")
    made = program(tmp_path / "state", environment)
    with made.serving(command.split(), ["foltr-server", "health"]):
        invite = made.first_invite()
        assert opened(Client(invite.address).join(invite)).kind == "enrolled"


def test_the_unit_is_hardened() -> None:
    """systemd's own judgement of it is "OK", at most 2 of 10."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    asked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(UNIT)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert asked.returncode == 0, asked.stdout[-400:] + asked.stderr


def test_every_key_is_written_once_or_is_a_list() -> None:
    """A hardening line that stands twice would hide which one holds."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read(UNIT)
    lists = {"environment", "systemcallfilter"}
    for name in parser["Service"]:
        if name not in lists:
            found = [line for line in UNIT.read_text().splitlines() if line.lower().startswith(f"{name}=")]
            assert len(found) == 1, name
