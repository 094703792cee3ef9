"""A device follows its group's server to another address, by the server's own word, or by a link."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.federation import membership, server_move
from app.federation.failures import Declined, Distrusted, FederationError, Unreachable
from app.federation.server import Reach
from federation_server import setup
from federation_server.database import reading, writing
from federation_server.group.enrolment import end_membership
from federation_server.group.group import move, move_of
from federation_server.serve import Installation, open_installation
from foltr.federated.envelope import Identity, sign_document
from foltr.federated.links import from_link
from foltr.federated.wire import ServerMove, Signed, decode
from tests.app.federation.groups import Person
from tests.federation_server.client import make_server, running
from tests.ports import free_port

Make = Callable[..., Person]


@pytest.fixture
def made(tmp_path: Path) -> Installation:
    """A server that is not served yet."""
    return make_server(tmp_path / "server", quorum=100)


@pytest.fixture
def person(make_person: Make) -> Person:
    found = make_person(allow_unprotected=True, retries=0)
    found.see_pages(12)
    return found


def join(made: Installation, person: Person) -> None:
    invite = from_link(setup.invitation(made, note="", seconds=3600, now=int(time.time())))
    person.joining().join(invite, agrees=lambda lines: True)


def elsewhere(made: Installation, *, tls: str = "off") -> Installation:
    """The same server with another port in its settings."""
    settings = made.folder / "server.toml"
    text = re.sub(r"(?m)^port = \d+$", f"port = {free_port()}", settings.read_text(), count=1)
    settings.write_text(text.replace('mode = "off"', f'mode = "{tls}"'))
    again = open_installation(settings)
    setup.make_certificate(again.folder, again.settings)
    return again


def announce(made: Installation, there: Installation) -> Signed:
    """What `foltr-server move` does, before the server has gone there."""
    pinned = setup.pinned_at(there, there.public_address)
    with writing(made.engine) as connection:
        return move(
            connection, made.vault.identity, address=there.public_address, certificate=pinned, now=int(time.time())
        )


def address(person: Person) -> str:
    return membership.member(person.store).address


@pytest.mark.parametrize("tls", ["off", "self-signed"])
def test_a_device_that_synced_before_follows_by_itself(made: Installation, person: Person, tls: str) -> None:
    """Told at port A; while only A answers it stays there; once the server is at port B, its sync goes there."""
    with running(made):
        join(made, person)
        there = elsewhere(made, tls=tls)
        announce(made, there)
        assert person.sync().sent
        person.sync()
        assert address(person) == made.public_address
    with running(there):
        assert "answered before" in person.sync().said[0]
        assert address(person) == there.public_address
        assert there.public_address.startswith("https" if tls == "self-signed" else "http:")
        assert membership.load_standing(person.store).error == ""


def test_a_device_that_comes_too_late_follows_a_link(made: Installation, person: Person) -> None:
    """Nobody answers at the old address; the link of the move brings it to the new one, receipt and all."""
    with running(made):
        join(made, person)
        person.sync()
        kept = person.joining().leave(forget=True)
        join(made, person)
    there = elsewhere(made, tls="self-signed")
    signed = announce(made, there)
    with running(there):
        with pytest.raises(Unreachable):
            person.sync()
        said = server_move.by_link(person.store, signed, person.reach)
        assert [there.public_address in sentence for sentence in said] == [True, True]
        person.sync()
        assert kept is not None
        (finding,) = person.joining().findings()
        assert finding.holds
        assert finding.request == kept.receipt.request
    assert address(person) == there.public_address


def test_who_is_a_member_no_more_leaves_where_the_server_is_now(made: Installation, person: Person) -> None:
    """Its membership was ended before it heard of the move: the new address says so, and its leaving goes there."""
    with running(made):
        join(made, person)
        person.sync()
    there = elsewhere(made, tls="self-signed")
    signed = announce(made, there)
    with writing(there.engine) as connection:
        end_membership(connection, membership.member(person.store).device, now=int(time.time()))
    with running(there):
        assert server_move.by_link(person.store, signed, person.reach)[0].endswith(" from now on")
        with pytest.raises(Declined, match="revoked"):
            person.sync()
        assert person.joining().leave(forget=False) is None
        assert membership.load(person.store) is None


def test_another_key_at_the_old_address_is_told_of_the_link(made: Installation, person: Person) -> None:
    """The server has a certificate of another key, and nobody told this device: it stays away, and says who can."""
    encrypted = elsewhere(made, tls="self-signed")
    with running(encrypted):
        join(encrypted, person)
    for path in (encrypted.certificate, encrypted.private_key):
        path.unlink()
    again = open_installation(made.folder / "server.toml")
    setup.make_certificate(again.folder, again.settings)
    with running(again), pytest.raises(Distrusted, match="its operator has a link for `foltr-search federation move`"):
        person.sync()


def test_what_failed_at_the_new_address_is_said(made: Installation, person: Person) -> None:
    """Beside the answer of the old server while it is there, and in the error once neither answers."""
    with running(made):
        join(made, person)
        there = elsewhere(made)
        announce(made, there)
        person.sync()
        said = person.sync().said[0]
    tried = f"moves to {there.public_address}, which was tried: "
    assert tried in said
    with pytest.raises(Unreachable, match=re.escape(tried)):
        person.sync()
    assert tried in membership.load_standing(person.store).error
    for forget in (False, True):
        with pytest.raises(Unreachable, match=re.escape(tried)):
            person.joining().leave(forget=forget)


def test_a_receipt_follows_by_itself(made: Installation, person: Person) -> None:
    """Whoever left asks at the old address once more, hears of the new one, and asks there when the old one is gone."""
    there = None
    with running(made):
        join(made, person)
        person.sync()
        person.joining().leave(forget=True)
        there = elsewhere(made)
        announce(made, there)
        with running(there):
            assert [finding.holds for finding in person.joining().findings()] == [True]
        there = open_installation(made.folder / "server.toml")
    with running(there):
        assert [finding.holds for finding in person.joining().findings()] == [True]
    (kept,) = membership.all_receipts(person.store)
    assert kept.address == there.public_address


def test_only_the_groups_own_server_moves_a_device(made: Installation, person: Person) -> None:
    """Another key's signature, another group, and a record that is older than the last are refused."""
    with running(made):
        join(made, person)
    member, settings = membership.member(person.store), person.settings.federation
    record = ServerMove(group_id=member.group_id, address="https://evil.example", certificate="", serial=9_000_000_000)
    forged = sign_document(Identity.generate(), "moved", record)
    with pytest.raises(FederationError, match="not signed by the group's server"):
        server_move.by_link(person.store, forged, Reach(settings, person.by))
    other = ServerMove(group_id="other", address="https://evil.example", certificate="", serial=1)
    with pytest.raises(Distrusted, match="another group"):
        server_move.note(person.store, sign_document(made.vault.identity, "moved", other))
    first = announce(made, made)
    second = announce(made, elsewhere(made))
    server_move.note(person.store, second)
    server_move.note(person.store, first)
    waiting = decode(decode(membership.member(person.store).moved, Signed).body, ServerMove)
    assert waiting == decode(second.body, ServerMove)
    with reading(made.engine) as connection:
        assert move_of(connection) == second
    assert waiting.serial > decode(first.body, ServerMove).serial
