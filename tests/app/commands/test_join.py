"""`join` from the outside: whoever says no, and links that are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.conftest import Device
from tests.app.federation.groups import Group, serving


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with serving(tmp_path / "server") as made:
        yield made


def test_whoever_says_no_has_not_joined(device: Device, group: Group) -> None:
    """Without an answer on stdin joining is broken off, and the device belongs to no group that it agreed to."""
    done = device.run("join", group.link())
    assert done.returncode == 130
    assert "Do you agree?" in done.stderr
    assert device.run("sync").returncode == 130


def test_a_joining_that_was_broken_off_is_taken_up_again(device: Device, group: Group) -> None:
    """The used link asks again as long as nobody has agreed; afterwards the device belongs to the group."""
    link = group.link()
    broken = device.run("join", link)
    assert broken.stderr.splitlines()[-1].endswith("the same command asks again, `foltr-search leave` ends it")
    done = device.run("join", link, "--yes")
    assert done.returncode == 0
    assert "joined the group" in done.stderr
    assert "belongs to the group" in device.run("join", link, "--yes").stderr


@pytest.mark.parametrize("link", ["https://example.org", "foltr://join/!!!", "foltr://join/e30"])
def test_a_link_that_is_none(device: Device, link: str) -> None:
    """A damaged link is one line and exit code 2."""
    done = device.run("join", link)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
