"""Connections that are opened and say nothing, or say it slowly: with a real server and real sockets."""

from __future__ import annotations

import contextlib
import http.client
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from federation_server.running import limits, web_server
from federation_server.running.limits import Crowd
from foltr.federated.wire import DepotChange, DepotRequest, encode
from tests.federation_server.client import PATIENCE, Client, Running, ServerProcess, make_server, running
from tests.federation_server.test_serve import with_settings
from tests.waiting import until

ONE, OTHER = "127.0.0.1", "127.0.0.2"
MANY = 1005


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Enough of them for both ends of a thousand connections in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def serve(folder: Path, *, per_address: int = 64, tls: str = "off") -> Iterator[Running]:
    made = make_server(folder / "server", tls=tls)
    with running(with_settings(made, "address_connections = 800", f"address_connections = {per_address}")) as live:
        yield live


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Running]:
    yield from serve(tmp_path)


def port(live: Running) -> int:
    return live.made.settings.server.port


def call(live: Running, source: str) -> int:
    """The status of a request from one address, 0 when it is hung up on."""
    connection = http.client.HTTPConnection(ONE, port(live), timeout=PATIENCE, source_address=(source, 0))
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def open_from(live: Running, source: str) -> socket.socket:
    return socket.create_connection((ONE, port(live)), timeout=PATIENCE, source_address=(source, 0))


def is_hung_up(connection: socket.socket) -> bool:
    """True as soon as the server has closed it; what it still said is passed over."""
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(65536):
            pass
    return True


def turned_away(live: Running) -> float:
    return live.server.counters.registry.get_sample_value("foltr_connections_refused_total") or 0.0


def test_a_thousand_half_open_connections_lock_nobody_else_out(
    live: Running, descriptors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,005 half requests from one address: 64 of them are kept, others are served, and then the address is, too."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 3.0)
    with ExitStack() as stack:
        begun = time.monotonic()
        for _ in range(MANY):
            half = stack.enter_context(open_from(live, ONE))
            with contextlib.suppress(OSError):  # it is closed already
                half.sendall(b"GET /v1/round HTTP/1.1\r\nX-Half: ")
        n_kept = 64 * (1 + int((time.monotonic() - begun) / 3.0))  # each for three seconds at least
        assert call(live, OTHER) == 200
        end = time.monotonic() + PATIENCE
        while call(live, ONE) != 200:
            assert time.monotonic() < end
        assert turned_away(live) >= MANY - n_kept


def test_headers_that_trickle_in_are_hung_up_on(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then does not prolong the time for a head, on a fresh connection or after a first request."""
    served = open_from(live, ONE)
    served.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert served.recv(65536).startswith(b"HTTP/1.1 200")
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.4)
    for begun in (lambda: served, lambda: open_from(live, ONE)):
        with begun() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")
            with trickling(connection):
                assert is_hung_up(connection)


@contextlib.contextmanager
def trickling(connection: socket.socket) -> Iterator[None]:
    """A byte goes out now and then meanwhile."""
    ended = threading.Event()

    def send() -> None:
        with contextlib.suppress(OSError):
            while not ended.wait(0.05):
                connection.sendall(b"x")

    thread = threading.Thread(target=send)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_a_body_has_more_time_than_its_head(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the headers are there, their time no longer runs."""
    monkeypatch.setattr(limits, "HEAD_SECONDS", 2.0)
    signed = "\r\n".join(f"Foltr-{name}: 1" for name in ("Device", "Time", "Nonce", "Signature"))
    with open_from(live, ONE) as connection:
        connection.sendall(f"POST /v1/updates HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n{signed}\r\n\r\n".encode())
        time.sleep(2.5)
        connection.sendall(b"{}")
        assert connection.recv(65536).startswith(b"HTTP/1.1 4")


def test_half_sent_bodies_of_one_address_are_bounded(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger may send files before anybody knows its key: of two half sent ones the second is refused as soon as
    both are too many bytes; another address has its own, and who gives up makes room."""
    monkeypatch.setattr(web_server, "MOST_ARRIVING", 100_000)
    with ExitStack() as stack:
        first = stack.enter_context(half_sent(live, ONE))
        until(lambda: live.server.arriving.total() > 50_000)  # else it may be the second to arrive
        second, other = (stack.enter_context(half_sent(live, source)) for source in (ONE, OTHER))
        assert second.recv(65536).startswith(b"HTTP/1.1 429")
        other.sendall(b"}")
        assert other.recv(65536).startswith(b"HTTP/1.1 404")  # no files are kept under such a key
        first.close()
        until(lambda: not live.server.arriving)
        again = stack.enter_context(half_sent(live, ONE))
        again.sendall(b"}")
        assert again.recv(65536).startswith(b"HTTP/1.1 404")


def half_sent(live: Running, source: str) -> socket.socket:
    """A change of a depot in the name of nobody, but for its last byte."""
    headers = Client(live.made.public_address).headers("POST", "/v1/depot") | {"Content-Length": "60000"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = open_from(live, source)
    connection.sendall(f"POST /v1/depot HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
    connection.sendall(b'{"name":"'.ljust(59_998, b"x") + b'"')
    return connection


def test_a_body_that_nobody_reads_is_not_waited_for(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is answered before its body; a client that sends that slowly is hung up on."""
    monkeypatch.setattr(limits, "LINGER_SECONDS", 0.3)
    with open_from(live, ONE) as connection:
        connection.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx")
        assert connection.recv(65536).startswith(b"HTTP/1.1 405")
        with trickling(connection):
            assert is_hung_up(connection)


def test_handshakes_that_never_come_count_as_well(tmp_path: Path) -> None:
    """Three silent connections are all that an address may have open, encrypted or not; another is served."""
    for live in serve(tmp_path, per_address=3, tls="self-signed"):
        with ExitStack() as stack:
            silent = [stack.enter_context(open_from(live, ONE)) for _ in range(4)]
            assert is_hung_up(silent[3])
            context = ssl.create_default_context(cafile=str(live.made.certificate))
            secure = stack.enter_context(context.wrap_socket(open_from(live, OTHER), server_hostname=ONE))
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert secure.recv(65536).startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_takes_is_hung_up_on(live: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four megabytes that a member asked for and does not read are not kept in memory for it."""
    monkeypatch.setattr(limits, "READ_SECONDS", 1.0)
    invited, owner, computer = live.invite(), Client(live.made.public_address), Client(live.made.public_address)
    assert owner.join(invited).ok
    asked = DepotRequest(group_id=invited.group_id, depot_key=computer.identity.public)
    assert owner.send("POST", "/v1/depots", encode(asked)).ok
    assert computer.send("POST", "/v1/depot", encode(DepotChange(name="a" * 32, content=bytes(4 << 20)))).ok
    for client in (owner, computer):
        client.session.close()
    path = f"/v1/depot/files?names={'a' * 32}"
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: x",
        *(f"{name}: {text}" for name, text in computer.headers("GET", path).items()),
    ]
    with open_from(live, ONE) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(1) == b"H"
        until(lambda: not live.uvicorn.server_state.connections)


FEW_DESCRIPTORS = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))"


def test_a_process_with_few_descriptors_takes_fewer_connections(tmp_path: Path) -> None:
    """Of two hundred and fifty it takes what fits, turns the others away, and answers when they are gone; no descriptor
    is missed, so that the log stays empty."""
    server = ServerProcess(make_server(tmp_path / "server"), FEW_DESCRIPTORS).start().wait_until_ready()
    at = (ONE, server.made.settings.server.port)
    try:
        with ExitStack() as stack:
            for number in range(250):
                source = (f"127.0.1.{number + 1}", 0)
                last = stack.enter_context(socket.create_connection(at, timeout=60, source_address=source))
            assert is_hung_up(last)
        server.wait_until_ready()
        assert "out of system resource" not in server.log()
    finally:
        server.stop()


def test_who_leaves_makes_room() -> None:
    """The networks of an address share one number; nothing is kept of who is gone."""
    refused: list[int] = []
    crowd = Crowd(2, on_refused=lambda: refused.append(1))
    assert [crowd.enter(address) for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3")] == [True, True, False]
    crowd.leave("2001:db8::1")
    assert crowd.enter("2001:db8::3")
    crowd.leave("2001:db8::2")
    crowd.leave("2001:db8::3")
    assert (len(refused), crowd._open) == (1, {})


def test_a_trusted_proxy_speaks_for_many_and_all_together_are_bounded() -> None:
    """The proxy's own address has no bound but that of all connections."""
    crowd = Crowd(1, frozenset({"10.0.0.1"}), largest=4)
    assert [crowd.enter(address) for address in ("10.0.0.2", *["10.0.0.1"] * 4)] == [True] * 4 + [False]


def test_strangers_from_everywhere_leave_room_for_members(live: Running) -> None:
    """Connections from more addresses than there is room for: a new one is turned away, one that a member asked from
    before is served as long as they last; a request that is signed by nobody's key, and refused, is no member's."""
    somebody, stranger = Client(live.made.public_address), Client(live.made.public_address)
    assert somebody.join(live.invite()).ok
    somebody.session.close()
    with open_from(live, OTHER) as falsely:
        head = "".join(f"{name}: {text}\r\n" for name, text in stranger.headers("GET", "/v1/round").items())
        falsely.sendall(f"GET /v1/round HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        assert falsely.recv(65536).startswith(b"HTTP/1.1 401")
    live.server.crowd.largest = 90
    with ExitStack() as stack:
        for number in range(100):
            stack.enter_context(open_from(live, f"127.0.1.{number + 1}"))
        assert (call(live, OTHER), call(live, ONE)) == (0, 200)
