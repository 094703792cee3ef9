"""`saved` as a user runs it, and @name in any query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.app.commands.test_completion import completions

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_a_search_is_saved_used_and_removed(device: Device) -> None:
    """It works with more words after it, equals its text except for positions, and is completed after @."""
    device.index()
    empty = device.run("saved")
    assert (empty.returncode, "add one with foltr-search saved add" in empty.stderr) == (1, True)
    assert device.run("saved", "add", "diving", "fish", "-stork", "dives").returncode == 0
    assert device.run("saved").stdout == "@diving\tfish -stork dives\n"
    assert device.run("saved", "add", "heron", "x").stderr == "foltr-search: saved as @heron\n"
    assert device.run("saved", "add", "@heron", "y").stderr == "foltr-search: saved as @heron, in place of: x\n"
    assert device.run("saved", "remove", "heron").returncode == 0
    for more in ("", " river"):
        short, long = device.run("search", "@diving" + more), device.run("search", "fish -stork dives" + more)
        assert short.stdout == long.stdout != ""
        said = short.stderr.splitlines()[0].replace("in the saved text at '-': ", "")
        assert said == long.stderr.splitlines()[0] != short.stderr.splitlines()[0]
    assert completions(device, "search", "@d") == ["@diving"]
    assert completions(device, "saved", "remove", "d") == ["diving"]
    unknown = device.run("search", "@divign", "heron")
    assert "no search is saved as @divign; did you mean @diving?" in unknown.stderr
    assert unknown.returncode == 0
    assert device.run("saved", "remove", "@diving").returncode == 0
    assert device.run("saved", "remove", "diving").stderr == "foltr-search: no search is saved as @diving; none is\n"
    refused = device.run("saved", "add", "loop", "@loop")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
