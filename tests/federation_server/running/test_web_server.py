"""Every address over HTTP, and every refusal with its own code and counter."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import numpy as np
import pytest
import requests
from sqlalchemy import Connection, event, select

from federation_server import database
from federation_server.database import reading
from federation_server.group import enrolment
from federation_server.running.web_server import ADDRESSES
from federation_server.tables import updates
from foltr.federated.wire import Accepted, Announcement, Farewell, ModelRecord, Receipt, decode, encode
from tests.federation_server.client import (
    PATIENCE,
    Client,
    Running,
    document,
    invite,
    make_server,
    member,
    opened,
    reason,
    run,
    running,
    sealed,
    update_record,
)


def test_a_group_from_joining_to_being_forgotten(tmp_path: Path, database_url: str) -> None:
    """Two members join, fetch, report; the round closes to their mean; one leaves and is forgotten, with a receipt."""
    made = make_server(tmp_path / "server", quorum=2, database=database_url)
    with running(made):
        ada, bob = member(made), member(made)
        told = document(made, ada.send("GET", "/v1/round"), "announcement", Announcement)
        assert isinstance(told, Announcement)
        assert (told.lineage, told.round) == (1, 1)
        first = ada.theta()
        assert [decode(who.update(x).content, Accepted).received for who, x in ((ada, 0.2), (bob, 0.6))] == [1, 2]
        record = document(made, ada.send("GET", "/v1/models/newest"), "model", ModelRecord)
        assert isinstance(record, ModelRecord)
        assert record.round == 1
        np.testing.assert_allclose(ada.theta() - first, [0.4, *[0.0] * (len(first) - 1)], atol=1e-15)
        farewell = encode(Farewell(group_id=told.terms.group_id, forget=True))
        receipt = document(made, ada.send("POST", "/v1/farewell", farewell), "receipt", Receipt)
        assert isinstance(receipt, Receipt)
        assert receipt.erased == {"updates": 1, "members": 1}
        again = bob.send("GET", f"/v1/receipts/{receipt.request}", headers={})
        assert document(made, again, "receipt", Receipt) == receipt
        assert reason(ada.send("GET", "/v1/round")) == "unknown-device"
        assert bob.announcement().lineage == 2
        np.testing.assert_allclose(bob.theta() - first, [0.6, *[0.0] * (len(first) - 1)], atol=1e-15)


def test_a_stranger_makes_the_server_read_no_file(tmp_path: Path) -> None:
    """Who guesses the name of a receipt is refused by the database alone: the file of the forgotten is not opened."""
    made = make_server(tmp_path / "server")
    with running(made):
        made.forgetter.file.path.write_bytes(b"no line of that file\n")
        guess = requests.get(f"{made.public_address}/v1/log?after=0&receipt={'0' * 32}", timeout=PATIENCE)
        assert reason(guess) == "not-found"


def test_the_same_update_again_is_acknowledged_and_counted_once(live: Running, ada: Client) -> None:
    """The same sealed bytes under a new nonce, and the same update sealed anew, get the former answer."""
    told = ada.announcement()
    inner = update_record(told, ada.theta(), ada.device)
    body = encode(sealed(told, inner))
    answers = [ada.send("POST", "/v1/updates", one) for one in (body, body, encode(sealed(told, inner)))]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    with reading(live.made.engine) as connection:
        assert len(connection.execute(select(updates).where(updates.c.device == ada.device)).all()) == 1


def test_a_request_sent_again_changes_nothing(live: Running, ada: Client) -> None:
    """The very same request a second time gets the same answer, whether it reads or brings an update."""
    told = ada.announcement()
    update = encode(sealed(told, update_record(told, ada.theta(), ada.device)))
    for method, path, body in (("GET", "/v1/models/newest", b""), ("POST", "/v1/updates", update)):
        headers = ada.headers(method, path, body)
        first, second = (ada.send(method, path, body, headers) for _ in range(2))
        assert (first.status_code, second.status_code, second.content) == (200, 200, first.content)
    with reading(live.made.engine) as connection:
        assert len(connection.execute(select(updates).where(updates.c.device == ada.device)).all()) == 1


def test_a_poll_writes_nothing(live: Running, ada: Client) -> None:
    """Ten announcements and ten models leave the database as it was, to the byte of what it has written."""
    ada.announcement()
    database = live.made.folder / "group.sqlite"
    before = [path.read_bytes() for path in (database, database.with_name("group.sqlite-wal"))]
    for _ in range(10):
        ada.announcement()
        ada.theta()
    assert [path.read_bytes() for path in (database, database.with_name("group.sqlite-wal"))] == before


def test_nobody_is_forgotten_at_another_s_word(live: Running, ada: Client, tmp_path: Path) -> None:
    """Not when another member signs, when what the member signed is altered, old, repeated, or was said to another
    group: its update stays; and who asked is forgotten once."""
    bob = member(live.made)
    assert ada.update(0.1).ok
    told = ada.announcement()
    leave, forget = (encode(Farewell(group_id=told.terms.group_id, forget=forget)) for forget in (False, True))
    as_ada = bob.headers("POST", "/v1/farewell", forget) | {"Foltr-Device": ada.device}
    old = ada.headers("POST", "/v1/farewell", forget, at=int(time.time()) - 400)
    asked = ada.headers("GET", "/v1/round")
    for headers, refusal in (
        (as_ada, "bad-signature"),
        (ada.headers("POST", "/v1/farewell", leave), "bad-signature"),
        (old, "clock"),
        (old | {"Foltr-Time": str(int(time.time()))}, "bad-signature"),
        (asked, "bad-signature"),
    ):
        assert reason(bob.send("POST", "/v1/farewell", forget, headers)) == refusal
    wrong = encode(Farewell(group_id=told.terms.group_id, forget=True, roster_signature=bytes(64)))
    assert reason(bob.send("POST", "/v1/farewell", wrong)) == "bad-vouching"
    once = bob.headers("POST", "/v1/farewell", forget)
    with running(make_server(tmp_path / "other")) as other:
        elsewhere = Client(other.made.public_address)
        assert reason(elsewhere.send("POST", "/v1/farewell", forget, once)) == "unknown-device"
    assert bob.send("POST", "/v1/farewell", forget, once).ok
    assert reason(bob.send("POST", "/v1/farewell", forget, once)) == "unknown-device"
    assert ada.announcement().received
    assert reason(bob.send("GET", "/v1/round")) == "unknown-device"


def test_a_request_to_join_sent_again_makes_no_second_member(live: Running) -> None:
    """A proxy that sends everything twice and hands on the last answer keeps nobody out: it is that of the first. Who
    is no member any more does not come back by it."""
    newcomer = Client(live.made.public_address)
    first = newcomer.join(invite(live.made))
    again = newcomer.session.send(first.request)
    assert opened(again).body == opened(first).body
    assert run(live.made.folder, "members", "revoke", newcomer.device, "--yes") == 0
    assert reason(newcomer.session.send(first.request)) == "bad-invite"


def test_a_signature_is_for_one_request(ada: Client) -> None:
    """Another path, query, body, method or time than the signed one is refused, and so is another's key."""
    moment = int(time.time())
    nothing = ada.headers("GET", "/v1/round")
    for method, path, body, headers in (
        ("GET", "/v1/round", b"", ada.headers("GET", "/v1/models/newest")),
        ("GET", "/v1/round?x=1", b"", ada.headers("GET", "/v1/round")),
        ("POST", "/v1/updates", b"{}", ada.headers("POST", "/v1/updates", b"{ }")),
        ("GET", "/v1/round", b"", ada.headers("POST", "/v1/round")),
        ("GET", "/v1/round", b"", nothing | {"Foltr-Time": str(moment - 1)}),
        ("GET", "/v1/round", b"", Client(ada.address).headers("GET", "/v1/round") | {"Foltr-Device": ada.device}),
    ):
        assert reason(ada.send(method, path, body, headers)) == "bad-signature", (method, path)


def test_no_address_answers_another_key(ada: Client) -> None:
    """What a stranger signed in a member's name is refused, but where a body or a depot brings its own key."""
    answers = {}
    for address, method, *_, is_signed in ADDRESSES:
        path = address.replace("{hash}", "newest")
        claimed = Client(ada.address).headers(method.upper(), path) | {"Foltr-Device": ada.device}
        if is_signed:
            answers[method, path] = reason(ada.send(method.upper(), path, b"", claimed))
    assert {asked: answer for asked, answer in answers.items() if answer != "bad-signature"} == {
        ("post", "/v1/members"): "malformed",
        ("post", "/v1/roster"): "malformed",
        ("get", "/v1/depot"): "no-depot",
        ("get", "/v1/depot/files"): "no-depot",
        ("post", "/v1/depot"): "malformed",
    }


def test_the_host_header_does_not_move_a_signature(ada: Client) -> None:
    """A request for one address with a Host that contains another is judged by the address it is for."""
    headers = ada.headers("GET", "/v1/models/newest") | {"Host": "x/v1/models/newest?"}
    assert reason(ada.send("GET", "/v1/round", headers=headers)) == "bad-signature"
    broken = ada.headers("GET", "/v1/round") | {"Host": "[::1"}
    assert ada.send("GET", "/v1/round", headers=broken).status_code == 200


def test_health_readiness_and_description_need_no_signature(live: Running) -> None:
    """They answer to anyone, and the description says of every address whether it does."""
    address = live.made.public_address
    assert requests.get(f"{address}/healthz", timeout=PATIENCE).text == "ok\n"
    assert requests.get(f"{address}/readyz", timeout=PATIENCE).text == "ready\n"
    paths = json.loads(requests.get(f"{address}/openapi.json", timeout=PATIENCE).content)["paths"]
    assert {"/v1/members", "/v1/round", "/v1/models/{hash}", "/v1/updates", "/v1/farewell"} < set(paths)
    for path, verbs in paths.items():
        for verb, about in verbs.items():
            is_refused = requests.request(verb, f"{address}{path}", timeout=PATIENCE).status_code == 401
            assert is_refused == any(one["in"] == "header" for one in about["parameters"]), (verb, path)


def test_without_its_database_the_server_is_not_ready(tmp_path: Path) -> None:
    """/readyz says 503 and so does every signed request, with a time to try again; /healthz goes on answering."""
    made = make_server(tmp_path, database=f"sqlite:///{tmp_path}/group.sqlite")
    with running(made) as live:
        ada = member(made)
        live.server.service.engine.dispose()
        for path in tmp_path.glob("group.sqlite*"):
            path.unlink()
        (tmp_path / "group.sqlite").mkdir()
        assert requests.get(f"{made.public_address}/readyz", timeout=PATIENCE).status_code == 503
        assert requests.get(f"{made.public_address}/healthz", timeout=PATIENCE).status_code == 200
        answer = ada.send("GET", "/v1/round")
        assert (reason(answer), answer.headers["Retry-After"]) == ("unavailable", "5")


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is refused as that, and nothing of it is kept; with too little room left /readyz says 503."""
    made = make_server(tmp_path, database=f"sqlite:///{tmp_path}/group.sqlite")
    with running(made) as live:
        engine = live.server.service.engine
        links = [invite(made) for _ in range(40)]

        def keep_its_size(connection: Connection) -> None:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")

        event.listen(engine, "begin", keep_its_size)
        answers = [Client(made.public_address).join(link) for link in links]
        event.remove(engine, "begin", keep_its_size)
        refused = next(answer for answer in answers if not answer.ok)
        assert (reason(refused), refused.status_code) == ("disk-full", 503)
        with reading(engine) as connection:
            assert enrolment.count_active(connection, now=int(time.time())) == sum(answer.ok for answer in answers)
        monkeypatch.setattr(database, "LEAST_ROOM", 10**18)
        ready = requests.get(f"{made.public_address}/readyz", timeout=PATIENCE)
        assert (ready.status_code, ready.text) == (503, "the disk is full\n")


def test_no_packet_of_an_answer_waits_for_the_one_before(live: Running, ada: Client) -> None:
    """Head and body are sent apart; without this each request of a kept connection took 40 ms more."""
    ada.announcement()
    served = [one.transport.get_extra_info("socket") for one in live.uvicorn.server_state.connections]
    assert served
    assert all(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in served if one.fileno() != -1)


def raw(live: Running, head: bytes, body: bytes = b"") -> bytes:
    """What the server answers to these very bytes, while the connection stays open."""
    port = live.made.settings.server.port
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        try:
            for start in range(0, len(body), 8192):
                connection.sendall(body[start : start + 8192])
        except OSError:
            pass  # the server has closed its side; its answer may still be read
        return connection.recv(65536)


def head(ada: Client, line: str) -> bytes:
    """The beginning of a signed request to send an update, with this header."""
    signed = [f"{name}: {value}" for name, value in ada.headers("POST", "/v1/updates").items()]
    return "\r\n".join(["POST /v1/updates HTTP/1.1", "Host: x", line, *signed, "", ""]).encode()


def test_a_large_body_is_refused_before_it_is_there(live: Running, ada: Client) -> None:
    """A request that only announces ten gigabytes has its refusal at once, without sending a byte of them."""
    assert raw(live, head(ada, "Content-Length: 10000000000")).startswith(b"HTTP/1.1 413")


def test_a_large_body_in_pieces_is_refused_where_it_exceeds(live: Running, ada: Client) -> None:
    """Chunked transfer announces no length: reading stops at the limit."""
    chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
    assert raw(live, head(ada, "Transfer-Encoding: chunked"), chunk * 64).startswith(b"HTTP/1.1 413")


def test_a_body_shorter_than_announced_harms_nobody(live: Running, ada: Client) -> None:
    """A device that goes away in the middle of its body is no error, and the server answers the next one."""
    with socket.create_connection(("127.0.0.1", live.made.settings.server.port), timeout=PATIENCE) as connection:
        connection.sendall(head(ada, "Content-Length: 900") + b"abc")
    assert ada.send("GET", "/v1/round").status_code == 200


def test_a_slow_body_is_given_up(live: Running, ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not arrive in time is refused."""
    monkeypatch.setattr("federation_server.running.web_server.BODY_SECONDS", 0.1)
    answer = raw(live, head(ada, "Content-Length: 900"), b"abc")
    assert answer.startswith(b"HTTP/1.1 408")
    assert live.refused("too-slow") == 1
