"""Low priority, and pauses on battery."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.following.battery import on_battery

ROOT = Path(__file__).resolve().parents[2]


def supply(folder: Path, name: str, **values: str) -> None:
    (folder / name).mkdir()
    for key, value in values.items():
        (folder / name / key).write_text(value + "\n")


@pytest.mark.parametrize(
    ("status", "online", "paused"),
    [("Discharging", "0", True), ("Charging", "1", False), ("Discharging", "1", False), ("Full", "1", False)],
)
def test_it_pauses_while_the_battery_is_emptied(tmp_path: Path, status: str, online: str, paused: bool) -> None:
    """On battery means that a battery is discharging and no mains supply is connected."""
    supply(tmp_path, "AC", type="Mains", online=online)
    supply(tmp_path, "BAT0", type="Battery", status=status)
    assert on_battery(tmp_path) == ("on battery" if paused else "")


def test_a_wireless_mouse_is_no_battery(tmp_path: Path) -> None:
    """The battery of a device, and a machine without any supply, never pause."""
    supply(tmp_path, "hidpp", type="Battery", status="Discharging", scope="Device")
    assert on_battery(tmp_path) == ""
    assert on_battery(tmp_path / "nothing") == ""


def test_giving_way_lowers_the_priority() -> None:
    """Niceness rises by ten, in a separate process because it cannot be lowered again."""
    code = (
        "import os; from indexer.confined.reading_process import give_way; before = os.nice(0); give_way();"
        " assert os.nice(0) == min(before + 10, 19)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
