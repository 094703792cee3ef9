"""`purge` as a user runs it: it lists, asks, and deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_it_asks_and_deletes(device: Device) -> None:
    """Each thing with its size; "n" keeps all, "y" and --yes delete; then everything can start anew."""
    device.index()
    kept = device.run("purge", typed="n\n")
    assert kept.returncode == 130
    assert len([line for line in kept.stdout.splitlines() if "(the index, " in line]) == 1
    assert str(device.data_dir / "state.sqlite") in kept.stdout or str(device.data_dir / "roots.json") in kept.stdout
    assert kept.stdout.endswith("  in all\n")
    assert device.data_dir.is_dir()
    done = device.run("purge", typed="y\n")
    assert done.returncode == 0, done.stderr
    assert not device.data_dir.exists()
    assert "foltr-search has no files here" in device.run("purge").stderr
    device.index()
    assert device.run("search", "heron").returncode == 0
    assert device.run("purge", "--yes").returncode == 0
    assert not device.data_dir.exists()
