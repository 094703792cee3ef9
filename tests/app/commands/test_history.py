"""`history` as a user runs it: queries are kept only if it is switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_history_is_kept_only_when_it_is_switched_on(device: Device) -> None:
    """Off by default, with nothing listed; on: newest first; clear deletes all."""
    device.index()
    device.run("search", "heron")
    assert device.run("history").returncode == 1
    on = {"FOLTR_HISTORY__ENABLED": "true"}
    device.run("search", "boat", "rental", env=on)
    device.run("search", "fish", env=on)
    for limit, expected in ((), ["fish", "boat rental"]), (("--limit", "1"), ["fish"]):
        listed = device.run("history", *limit, env=on).stdout.splitlines()
        assert [line.partition("\t")[2] for line in listed] == expected
    assert device.run("history", "clear").returncode == 0
    assert device.run("history", env=on).stdout == ""


def test_no_query_is_kept_in_clear(device: Device) -> None:
    """After searching and opening, no file of the data folder contains the query's words, which no document has."""
    device.index()
    device.run("search", "kingfisher", "zeppelinfahrt")
    device.run("open", "1", "--print")
    device.run("search", "heron")
    holding = [path.name for path in device.data_dir.rglob("*") if path.is_file() and b"zeppelin" in path.read_bytes()]
    assert holding == []
