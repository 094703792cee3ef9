"""`join` as a user runs it: refusals, and links that are not valid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.conftest import Device
from tests.app.federation.groups import Group, serving, serving_sealed
from tests.federation_server.sealed_members import members


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with serving(tmp_path / "server") as made:
        yield made


def test_whoever_says_no_has_not_joined(device: Device, group: Group) -> None:
    """Without an answer on stdin joining stops, and the device belongs to no group."""
    done = device.run("join", group.link())
    assert done.returncode == 130
    assert "Do you agree?" in done.stderr
    assert device.run("sync").returncode == 2


def test_a_joining_that_was_broken_off_is_taken_up_again(device: Device, group: Group) -> None:
    """The used link asks again as long as nobody has agreed; afterwards the device belongs to the group."""
    link = group.link()
    broken = device.run("join", link)
    asks_again = "run the command again to agree, or `foltr-search leave`"
    assert broken.stderr.splitlines()[-1].endswith(f"nothing of yours was sent; {asks_again}")
    done = device.run("join", link, "--yes")
    assert done.returncode == 0
    assert "joined the group" in done.stderr
    assert "belongs to the group" in device.run("join", link, "--yes").stderr


def test_whom_the_operator_invited_is_told_what_a_member_types(device: Device, tmp_path: Path) -> None:
    """The command to vouch, with the beginning of the pseudonym."""
    with serving_sealed(tmp_path / "sealed") as group:
        members(group.made, 1)
        said = device.run("join", group.link(), "--yes").stderr
        shown = device.run("federation").stdout
    pseudonym = shown.partition("member:")[2].split(",")[0].strip()
    assert f"a member must run `foltr-search vouch {pseudonym[:8]}`; compare" in said


@pytest.mark.parametrize("link", ["https://example.org", "foltr://join/!!!", "foltr://join/e30"])
def test_a_link_that_is_none(device: Device, link: str) -> None:
    """A damaged link gives one line and exit code 2."""
    done = device.run("join", link)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
