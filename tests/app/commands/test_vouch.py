"""`invite` and `vouch` as a user types them, in a group with operator's and members' invites whose server moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foltr.federated.links import from_link
from tests.app.conftest import Device, make_device
from tests.app.federation.groups import Group, serving_sealed
from tests.app.federation.test_server_move import announce, elsewhere
from tests.federation_server.client import running


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with serving_sealed(tmp_path / "server") as made:
        yield made


@pytest.fixture
def ada(tmp_path: Path, group: Group) -> Device:
    """The first member, whom nobody else can vouch for."""
    return joined(tmp_path / "ada", group.link())


def joined(home: Path, link: str) -> Device:
    home.mkdir()
    device = make_device(home)
    assert device.run("join", link, "--yes").returncode == 0
    return device


def pseudonym(device: Device) -> str:
    return device.run("federation").stdout.partition("member:")[2].split(",")[0].strip()


def fingerprint(device: Device) -> str:
    return device.run("federation").stdout.partition("fingerprint:")[2].splitlines()[0].strip()


def test_members_hear_who_waits(tmp_path: Path, group: Group, ada: Device) -> None:
    """`sync`, `federation` and `doctor` say what to type for one that waits, and for two; `vouch` shows the fingerprint
    that the other one sees, and does nothing unanswered; once both are vouched for nobody hears of it."""
    waiting = [joined(tmp_path / name, group.link()) for name in ("bob", "eve")]
    names = [pseudonym(one) for one in waiting]
    assert "2 members wait to be vouched for: `foltr-search vouch` lists them" in ada.run("sync").stderr
    assert "2 members wait" in ada.run("federation").stdout
    for option, question in (("--", "Does that person see the same fingerprint?"), ("--gone", "gone for good?")):
        asked = ada.run("vouch", option, names[0])
        assert fingerprint(waiting[0]) in asked.stderr
        assert (question in asked.stderr, asked.returncode) == (True, 130)
    assert "2 members wait" in ada.run("federation").stdout
    assert ada.run("vouch", names[0], "--yes").returncode == 0
    said = f"1 member waits to be vouched for: if you know who it is, `foltr-search vouch {names[1][:8]}`"
    assert said in ada.run("sync").stderr
    assert said in ada.run("federation").stdout
    assert said in ada.run("doctor").stdout
    assert "members wait" not in waiting[1].run("sync").stderr + waiting[1].run("federation").stdout
    assert ada.run("vouch", names[1], "--yes").returncode == 0
    assert "wait" not in ada.run("sync").stderr + ada.run("federation").stdout


def test_invites_and_vouchers_follow_a_move(tmp_path: Path, group: Group, ada: Device) -> None:
    """While the new address does not answer both go to the old one, and say so; then an invite names the new one, a
    voucher reaches it, and where neither answers both are told."""
    newcomer = pseudonym(joined(tmp_path / "bob", group.link()))
    there = elsewhere(group.made)
    announce(group.made, there)
    assert ada.run("sync").returncode == 0
    tried = f"moves to {there.public_address}, which was tried: "
    before = ada.run("invite")
    assert tried in before.stderr
    assert from_link(before.stdout.strip()).address == group.made.public_address
    group.stop()
    for command in (("invite",), ("vouch",)):
        away = ada.run(*command, env={"FOLTR_FEDERATION__RETRIES": "0"})
        assert away.returncode == 3
        assert tried in away.stderr
    with running(there):
        assert newcomer in ada.run("vouch").stdout
        assert ada.run("vouch", newcomer[:8], "--yes").returncode == 0
        assert from_link(ada.run("invite").stdout.strip()).address == there.public_address
