"""The one door to the network: what is tried again, what is refused, and whom it never asks."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from app.federation import membership
from app.federation.failures import Distrusted, FederationError, Unreachable
from app.federation.membership import Membership
from app.federation.transport import LARGEST_ANSWER, Transport
from app.settings import FederationSettings
from federation_server import tls
from federation_server.tls import key_fingerprint, make_self_signed
from foltr.federated.envelope import Identity
from tests.app.federation.groups import Group, Person, no_pause, serving
from tests.ports import free_port

PATIENT = FederationSettings(timeout_seconds=120.0, retries=0)


def test_a_wrong_certificate(tmp_path: Path, person: Person) -> None:
    """A server that shows another certificate than the invite's gets no request at all; the right one is let in."""
    with serving(tmp_path / "tls", tls="self-signed") as group:
        invite = group.invite()
        other = msgspec.structs.replace(invite, certificate="0" * 64)
        with pytest.raises(Distrusted, match="another certificate"):
            person.joining().join(other, agrees=lambda lines: True)
        unpinned = msgspec.structs.replace(invite, certificate="")
        with pytest.raises(Distrusted, match="another certificate"):
            person.joining().join(unpinned, agrees=lambda lines: True)
        assert person.joining().join(invite, agrees=lambda lines: True).group == "herons"


def test_an_address_without_encryption(group: Group, person: Person) -> None:
    """http:// is for this machine alone; so is any other scheme."""
    for address in ("http://192.0.2.1:8421", "ftp://127.0.0.1", "https://", "//x"):
        with pytest.raises(FederationError, match="must begin with https://"):
            person.joining().join(msgspec.structs.replace(group.invite(), address=address), agrees=lambda lines: True)
        membership.erase(person.store)


ODD = (
    r"http://{evil}\@127.0.0.1", r"http://{evil}\127.0.0.1", "http://{evil}@127.0.0.1", "http://127.0.0.1@{evil}",
    "http://127.0.0.1;@{evil}", "http://127.0.0.1%40@{evil}", "http://{evil}#@127.0.0.1", "http://{evil}?@127.0.0.1",
    "http://127.0.0.1#@{evil}", "http://127.0.0.1?@{evil}", "http://127.0.0.1\t@{evil}", "http://{evil}\n@127.0.0.1",
    " http://{evil}", "http:/{evil}", "http:{evil}", "http:///{evil}", "//{evil}", "{evil}", "HTTP:\\\\{evil}",
    "http://{evil}%2f@127.0.0.1", "http://{evil}:80@127.0.0.1", "http://localhost@{evil}", "http://[::1]@{evil}",
    "http://2130706434", "http://0x7f000002", "http://127.0.0.1.example", "http://localhost.example", "http://127.1",
    "http://localhost%00.example", "https://user:word@{evil}", r"https://{evil}\@127.0.0.1", "https://{evil}/a b",
    "https://{evil}/?a=b", "https://", "http://", "", "file:///etc/passwd", "unix://127.0.0.1", "http://１２７.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_odd_addresses_are_refused_before_anything_is_sent(odd: str) -> None:
    """Whatever two programs could read in two ways is no address: a listener that passes for loopback hears nothing."""
    with raw_server(says(HEAD + b"Content-Length: 2\r\n\r\n{}"), host="127.0.0.2") as (address, asked):
        with pytest.raises(FederationError, match="must begin with https://"):
            door(odd.format(evil=address.removeprefix("http://"))).get("/v1/round")
        assert asked == []


@pytest.mark.parametrize(
    "plain",
    [
        "https://example.org", "https://a-b.example.org:8421", "https://example.org/group/x", "http://127.0.0.1:1",
        "http://localhost", "http://[::1]:8421", "http://127.8.9.10", "HTTPS://EXAMPLE.ORG", "https://[2001:db8::1]:1",
    ],
)  # fmt: skip
def test_plain_addresses_are_taken(plain: str) -> None:
    """Names, addresses, ports and paths in plain letters, encrypted or on this machine."""
    door(plain).close()


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """A server of the certificate in this folder, which answers {} to one request a connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")

    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with raw_server(answer, tls=context) as (address, asked):
        yield address.replace("http://", "https://"), asked


def test_a_renewed_certificate_strands_nobody(tmp_path: Path) -> None:
    """A device that pinned the key goes on when the certificate is new, and sends nothing where the key is another."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make_self_signed(certificate, key, names=("localhost",))
    first, pinned = certificate.read_bytes(), key_fingerprint(certificate)
    with tls_server(tmp_path) as (address, asked):
        assert pinned_door(address, pinned).get("/v1/round") == b"{}"
    make_self_signed(certificate, key, names=("other.example",))
    assert certificate.read_bytes() != first
    with tls_server(tmp_path) as (address, asked):
        assert pinned_door(address, pinned.upper()).get("/v1/round") == b"{}"
    key.unlink()
    make_self_signed(certificate, key, names=("localhost",))
    with tls_server(tmp_path) as (address, asked):
        with pytest.raises(Distrusted, match="another certificate"):
            pinned_door(address, pinned).get("/v1/round")
        assert asked == []


def pinned_door(address: str, pinned: str) -> Transport:
    member = Membership(address=address, fingerprint="", certificate=pinned, seed=Identity.generate().seed)
    return Transport(member, PATIENT, sleep=no_pause)


def test_a_private_authority_vouches_where_the_setting_names_it(tmp_path: Path) -> None:
    """With federation.ca its certificates are believed; without, and with the file of another, nothing is sent."""
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        make_self_signed(tmp_path / name / "certificate.pem", tmp_path / name / "key.pem", names=("127.0.0.1",))
    with tls_server(tmp_path / "mine") as (address, asked):
        member = Membership(address=address, fingerprint="", certificate="", seed=Identity.generate().seed)
        for ca in ("", str(tmp_path / "other" / "certificate.pem")):
            with pytest.raises(Distrusted, match="another certificate"):
                Transport(member, structs.replace(PATIENT, ca=ca), sleep=no_pause).get("/v1/round")
        assert asked == []
        believing = structs.replace(PATIENT, ca=str(tmp_path / "mine" / "certificate.pem"))
        assert Transport(member, believing, sleep=no_pause).get("/v1/round") == b"{}"


def test_a_certificate_that_has_ended_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not another server's: nothing is sent, and whoever reads it knows that it is to be renewed."""
    monkeypatch.setattr(tls, "YEARS", 0)
    make_self_signed(tmp_path / "certificate.pem", tmp_path / "key.pem", names=("127.0.0.1",))
    with tls_server(tmp_path) as (address, asked):
        member = Membership(address=address, fingerprint="", certificate="", seed=Identity.generate().seed)
        believing = structs.replace(PATIENT, ca=str(tmp_path / "certificate.pem"))
        with pytest.raises(Distrusted, match="a certificate that is not valid today: its operator renews it"):
            Transport(member, believing, sleep=no_pause).get("/v1/round")
        assert asked == []


@pytest.mark.parametrize("content", [None, b"", b"no certificate\n"])
def test_a_file_without_authorities_is_one_line(tmp_path: Path, content: bytes | None) -> None:
    """A missing, empty or senseless federation.ca names the setting and the file."""
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    member = Membership(address="https://127.0.0.1:1", fingerprint="", certificate="", seed=Identity.generate().seed)
    with pytest.raises(FederationError, match=r"federation\.ca: wanted a PEM file"):
        Transport(member, FederationSettings(ca=str(file)))


REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"


def drip(connection: socket.socket) -> None:
    """A body that never ends, a byte at a time."""
    connection.sendall(HEAD + b"\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.02)


def flood(connection: socket.socket) -> None:
    """A body that never ends, as fast as it is taken."""
    connection.sendall(HEAD + b"\r\n")
    while True:
        connection.sendall(b" " * 65536)


def says(answer: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(answer)


@contextmanager
def raw_server(
    answer: Callable[[socket.socket], None], *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """A server of sockets that takes one request a connection; its address, and what it was asked."""
    listening = socket.create_server((host, 0))
    asked: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    speaking = tls.wrap_socket(connection, server_side=True) if tls else connection
                    said = speaking.recv(65536)
                    if said or tls is None:
                        asked.append(said)
                    answer(speaking)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{listening.getsockname()[1]}", asked
    finally:
        listening.close()


def door(address: str, *, retries: int = 0, seconds: float = 120.0) -> Transport:
    member = Membership(address=address, fingerprint="", certificate="", seed=Identity.generate().seed)
    return Transport(member, FederationSettings(timeout_seconds=seconds, retries=retries), sleep=no_pause)


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (says(REDIRECT), Distrusted, "redirects"),
        (flood, Distrusted, f"longer than {LARGEST_ANSWER:,}"),
        (says(HEAD + b"Content-Length: 99999999999\r\n\r\n" + b" " * (LARGEST_ANSWER + 1)), Distrusted, "longer than"),
        (drip, Unreachable, "no answer within 0.5 seconds"),
        (says(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx"), Distrusted, "compressed"),
        (says(HEAD + b"Content-Length: 20\r\n\r\nshort"), Unreachable, "127.0.0.1"),
        (says(b"nonsense\r\n\r\n"), Unreachable, "127.0.0.1"),
        (says(b""), Unreachable, "127.0.0.1"),
        (says(b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), Unreachable, "status 503"),
        (says(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\n\x1b[2J"), Unreachable, "status 500"),
    ],
)  # fmt: skip
def test_answers_that_no_honest_server_gives(
    answer: Callable[[socket.socket], None], kind: type[FederationError], said: str
) -> None:
    """Redirects, floods, drips, packed, broken and senseless answers end in one clear sentence, within their time."""
    with raw_server(answer) as (address, _), pytest.raises(kind, match=said) as raised:
        door(address, seconds=0.5 if answer is drip else 120.0).get("/v1/round")
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_an_answer_that_is_cut_anywhere_is_asked_for_again() -> None:
    """After each of its bytes, those of its headers too, where no length was declared yet."""
    whole = HEAD + b"Content-Length: 12\r\n\r\n" + b"twelve bytes"

    def answer(connection: socket.socket) -> None:
        is_cut = len(asked) % 2
        connection.sendall(whole[: len(asked) // 2] if is_cut else whole)

    with raw_server(answer) as (address, asked):
        for _ in whole:
            assert door(address, retries=1).get("/v1/round") == b"twelve bytes"
    assert len(asked) == 2 * len(whole)


def test_what_fails_is_tried_again_with_a_fresh_nonce() -> None:
    """Three retries are four requests, each with a nonce of its own."""
    with raw_server(says(b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")) as (address, asked):
        with pytest.raises(Unreachable):
            door(address, retries=3).get("/v1/round")
        nonces = {line for request in asked for line in request.splitlines() if line.startswith(b"Foltr-Nonce")}
    assert len(asked) == len(nonces) == 4


def test_pauses_double_and_heed_the_server() -> None:
    """Without jitter the pauses are 1, 2 and 4 seconds; Retry-After makes one longer, up to half a minute."""
    paused: list[float] = []
    answers = [b"", b"Retry-After: 7\r\n", b"Retry-After: 9999\r\n", b""]

    def answer(connection: socket.socket) -> None:
        head = b"HTTP/1.1 429 Slow\r\nConnection: close\r\n" + answers[len(asked) - 1]
        connection.sendall(head + b"Content-Length: 0\r\n\r\n")

    with raw_server(answer) as (address, asked):
        transport = door(address, retries=3)
        transport.sleep, transport.chance = paused.append, lambda: 1.0
        with pytest.raises(Unreachable):
            transport.get("/v1/round")
    assert paused == [1.0, 7.0, 30.0]


def test_nobody_there() -> None:
    """A port where nobody listens is one sentence that names it."""
    port = free_port()
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port}: nobody answers there"):
        door(f"http://127.0.0.1:{port}").get("/v1/round")


def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """HTTP_PROXY and .netrc have no say unless federation.proxy asks for the environment."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with raw_server(says(HEAD + b"Set-Cookie: a=b\r\nContent-Length: 2\r\n\r\n{}")) as (address, asked):
        transport = door(address)
        assert transport.get("/v1/round") == b"{}"
        assert transport.get("/v1/round") == b"{}"
        asking = Transport(transport.membership, structs.replace(PATIENT, proxy="environment"), sleep=no_pause)
        with pytest.raises(Unreachable):
            asking.get("/v1/round")
    assert len(asked) == 2
    assert b"Authorization" not in asked[0]
    assert b"Cookie" not in asked[1]
