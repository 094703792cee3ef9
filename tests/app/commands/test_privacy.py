"""`privacy` as a user runs it, with and without a group."""

from __future__ import annotations

import json
from pathlib import Path

from app.federation.terms import HEADERS, records
from tests.app.conftest import Device
from tests.app.federation.groups import OPEN, see_pages, serving


def test_what_left_without_noise_is_not_called_protected(device: Device, tmp_path: Path) -> None:
    """join says what the server can work out, and afterwards privacy claims no guarantee."""
    see_pages(device, 30)
    with serving(tmp_path / "open", privacy=OPEN) as bare:
        joined = device.run("join", bare.link(), "--yes")
        assert "can work out from an update which results you opened" in joined.stderr
        assert "10 numbers without any noise" in joined.stderr
        assert "AUC" not in joined.stderr
        device.run("sync", "--now", "--set", "federation.allow_unprotected=true")
    shown = device.run("privacy").stdout
    assert "epsilon is infinite after 1 round" in shown
    assert "Nothing is guaranteed" in shown
    assert "This holds" not in shown


def test_privacy_without_a_group(device: Device) -> None:
    """Three lines say that nothing is sent to a group, and how to see what would be."""
    assert device.run("privacy").stdout == (
        "This device belongs to no group, so it sends nothing to one.\n"
        "Privacy ledger: nothing was ever sent.\n"
        "What a group's server would get, field by field: `foltr-search privacy --records`\n"
    )
    listed = device.run("privacy", "--records").stdout
    assert listed.startswith("This device belongs to no group, so it sends nothing to one.\n")
    assert all(f"\n{sent.name}: " in listed for sent in records())
    assert all(name in listed for name in HEADERS)


def test_in_a_group_privacy_says_what_the_notes_can_tell(device: Device, tmp_path: Path) -> None:
    """The agreed sentences come before the list of records, in words and in JSON."""
    with serving(tmp_path / "quiet") as group:
        joined = device.run("join", group.link(), "--yes")
    shown = device.run("privacy").stdout
    lines = shown.partition("Privacy ledger:")[0].strip().splitlines()
    assert lines[0].startswith("What follows is true whoever runs the server")
    assert any(line.startswith("Your device sends a note every round") for line in lines)
    assert all(line in joined.stderr.splitlines() for line in lines)
    assert json.loads(device.run("privacy", "--json").stdout)["claims"] == lines
