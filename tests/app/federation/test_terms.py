"""What is seen on a real connection is what the wire records say, and nothing else."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from app.federation import membership, terms
from app.federation.failures import FederationError
from app.federation.terms import HEADERS
from federation_server.database import reading
from federation_server.rounds.rounds import present
from federation_server.settings import SHARED
from foltr.federated.envelope import unseal
from foltr.federated.registry import make_method
from foltr.federated.wire import Enrolment, Farewell, Record, Sealed, Update, decode
from tests.app.federation.groups import Group, Person

PLAIN_HEADERS = {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "Content-Type", "Content-Length"}
BODIES: dict[str, type[Record]] = {"/v1/members": Enrolment, "/v1/updates": Sealed, "/v1/farewell": Farewell}


@contextmanager
def listening_in(port: int) -> Iterator[tuple[int, list[bytearray]]]:
    """A relay before the server's port that keeps every byte a device sends."""
    door = socket.create_server(("127.0.0.1", 0))
    heard: list[bytearray] = []

    def pump(source: socket.socket, target: socket.socket, note: Callable[[bytes], None]) -> None:
        while True:
            try:
                data = source.recv(65536)
                note(data)
                target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
            except OSError:
                return
            if not data:
                return

    def relay() -> None:
        while True:
            try:
                device, _ = door.accept()
            except OSError:
                return
            server, said = socket.create_connection(("127.0.0.1", port)), bytearray()
            heard.append(said)
            for ends in ((device, server, said.extend), (server, device, len)):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=relay, daemon=True).start()
    try:
        yield door.getsockname()[1], heard
    finally:
        door.close()


def requests_in(said: bytearray) -> Iterator[tuple[str, str, dict[str, str], bytes]]:
    """(method, path, headers, body) of each request of one connection."""
    rest = bytes(said)
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("Content-Length", "0"))
        body, rest = rest[:length], rest[length:]
        method, path, _ = first.split(" ")
        yield method, path, headers, body


def test_a_real_exchange_holds_the_records_and_nothing_else(group: Group, person: Person) -> None:
    """From joining to being forgotten, every header and every JSON field a device sends is one that the page lists."""
    invite = group.invite()
    port = int(invite.address.rpartition(":")[2])
    with listening_in(port) as (relayed, heard):
        through = msgspec.structs.replace(invite, address=f"http://127.0.0.1:{relayed}")
        member = person.joining().join(through, agrees=lambda lines: True)
        person.sync()
        with reading(group.made.engine) as connection:
            here = present(connection)
        assert here is not None
        assert here.sealed_key is not None
        person.joining().leave(forget=True)
    requests = [request for said in heard for request in requests_in(said)]
    seen = set()
    for method, path, headers, body in requests:
        assert set(headers) <= PLAIN_HEADERS | set(HEADERS)
        assert set(HEADERS) <= set(headers)
        assert headers["Foltr-Device"] == member.device
        assert headers["User-Agent"] == "foltr-search"
        if method == "GET":
            assert body == b""
            assert path == "/v1/round" or path.startswith(("/v1/models/", "/v1/roster?after="))
            continue
        assert list(json.loads(body)) == list(BODIES[path].__struct_fields__)
        seen.add(path)
        if path == "/v1/updates":
            inner = unseal(group.made.vault.decrypt(here.sealed_key), decode(body, Sealed).box)
            assert list(json.loads(inner)) == list(Update.__struct_fields__)
            assert len(decode(inner, Update).payload) == 4 + 8 * len(SHARED)
    assert seen == set(BODIES)
    assert membership.load(person.store) is None


def test_a_sync_makes_the_groups_method_once(group: Group, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consent, ledger, replay and adoption ask for the method of one and the same terms."""
    made = []

    def counting(*arguments: Any) -> object:
        made.append(arguments)
        return make_method(*arguments)

    monkeypatch.setattr(terms, "make_method", counting)
    person.see_pages(10)
    person.join(group)
    assert person.sync().sent
    assert len(made) == 1


def test_terms_that_cannot_be_followed_are_refused(group: Group, person: Person) -> None:
    """Settings that the method does not have, and a method whose messages no group sends."""
    person.join(group)
    known = membership.load_standing(person.store).agreed_terms
    assert known is not None
    for changes, said in (
        ({"settings": {"eta": 1}}, "the group's terms cannot be followed"),
        ({"method": "dbgd", "settings": {}}, "the group learns by dbgd"),
    ):
        for _ in range(2):
            with pytest.raises(FederationError, match=said):
                terms.method_of(msgspec.structs.replace(known, **changes))
