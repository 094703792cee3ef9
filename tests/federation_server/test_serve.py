"""The server as a process: metrics, TLS, its log, and how it stops."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from federation_server import setup
from federation_server.cli import main
from federation_server.database import reading
from federation_server.group import group
from federation_server.serve import SERVED_AT, Installation, open_installation
from federation_server.settings import ServerSettingsError
from federation_server.setup import shipped_start
from federation_server.tls import key_fingerprint
from federation_server.vault import Vault
from foltr.federated.links import from_link
from foltr.federated.wire import Accepted, decode, encode
from tests.federation_server.client import (
    PATIENCE,
    Client,
    ServerProcess,
    make_server,
    member,
    opened,
    running,
    sealed,
    update_record,
)
from tests.ports import free_port


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ServerProcess]:
    """A running server that shows metrics on a port of its own."""
    made = with_settings(make_server(tmp_path / "server"), "metrics_port = 0", f"metrics_port = {free_port()}")
    found = ServerProcess(made).start().wait_until_ready()
    yield found
    found.stop()
    made.engine.dispose()


def with_settings(made: Installation, old: str, new: str) -> Installation:
    file = made.folder / "server.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    made.engine.dispose()
    return open_installation(file)


def test_a_whole_round_leaves_numbers_and_no_names(process: ServerProcess) -> None:
    """Metrics count what happened without a label of a member; the log holds no pseudonym, key, vector or address."""
    made = process.made
    members = [member(made) for _ in range(3)]
    assert all(client.update(0.5).ok for client in members)
    stranger = Client(made.public_address)
    stranger.send("GET", "/v1/round")
    assert members[0].announcement().round == 2
    metrics = requests.get(f"http://127.0.0.1:{made.settings.operations.metrics_port}/metrics", timeout=PATIENCE).text
    assert "foltr_updates_accepted_total 3.0" in metrics
    assert "foltr_rounds_closed_total 1.0" in metrics
    assert 'foltr_refused_total{reason="unknown-device"} 1.0' in metrics
    assert 'foltr_request_seconds_count{address="/v1/updates"} 3.0' in metrics
    assert requests.get(f"{made.public_address}/metrics", timeout=PATIENCE).status_code == 404
    process.stop()
    log = process.log()
    closed = [json.loads(line) for line in log.splitlines() if "closed with" in line]
    assert [(line["round"], line["updates"]) for line in closed] == [(1, 3)]
    for client in (*members, stranger):
        for secret in (client.device, client.identity.public.hex()):
            assert secret not in log
            assert secret not in metrics
    assert "theta" not in log
    weights = {str(value) for value in shipped_start().theta if value not in (0.0, 1.0)}
    assert len(weights) > 10
    for line in log.splitlines():  # a short number may stand in a time; a vector would show them all
        assert sum(weight in line for weight in weights) < len(weights) / 2


def test_a_request_that_runs_is_finished_when_the_server_stops(process: ServerProcess) -> None:
    """SIGTERM while a body is on its way: the update is taken and acknowledged, then the process ends."""
    ada = member(process.made)
    told, body = ada.announcement(), update_body(ada)
    headers = ada.headers("POST", "/v1/updates", body)
    lines = ["POST /v1/updates HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", "Expect: 100-continue"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()
    with socket.create_connection(("127.0.0.1", process.made.settings.server.port), timeout=PATIENCE) as connection:
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")  # it has read the head and waits for the body
        connection.sendall(body[:100])
        assert process.process is not None
        process.process.terminate()
        time.sleep(0.3)
        connection.sendall(body[100:])
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert decode(answer.split(b"\r\n\r\n", 1)[1], Accepted) == Accepted(round=told.round, received=1)
    assert process.ended() == -signal.SIGTERM


def update_body(client: Client) -> bytes:
    told = client.announcement()
    return encode(sealed(told, update_record(told, client.theta(), client.device)))


def test_a_self_signed_server_is_known_by_its_fingerprint(tmp_path: Path) -> None:
    """The invite carries the SHA-256 of the key in the certificate that the server shows; devices find it by https."""
    made = make_server(tmp_path / "server", tls="self-signed")
    invite = from_link(setup.invitation(made, note="", seconds=60, now=int(time.time())))
    assert invite.address == f"https://127.0.0.1:{made.settings.server.port}"
    assert invite.certificate == key_fingerprint(made.certificate)
    assert made.private_key.stat().st_mode & 0o077 == 0
    with running(made):
        client = Client(invite.address)
        client.session.trust_env, client.session.verify = False, str(made.certificate)
        assert opened(client.join(invite)).kind == "enrolled"
        shown = shown_key(made.settings.server.port)
    assert shown == invite.certificate


def shown_key(port: int) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    with plain, context.wrap_socket(plain) as connection:
        shown = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True) or b"")
    key = shown.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(key).hexdigest()


def test_a_missing_private_key_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the file, and the exit code is 2."""
    made = make_server(tmp_path / "server", tls="self-signed")
    made.engine.dispose()
    made.private_key.unlink()
    assert main(["--folder", str(made.folder), "serve"]) == 2
    assert "certificate-key.pem" in capsys.readouterr().err.splitlines()[-1]


def test_a_port_that_is_taken_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error alone, with address and port; nothing says that the group is served there, now or to invites."""
    made = make_server(tmp_path / "server")
    made.engine.dispose()
    port = made.settings.server.port
    with socket.create_server(("127.0.0.1", port)):
        assert main(["--folder", str(made.folder), "serve"]) == 2
    error = f"foltr-server: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
    assert capsys.readouterr().err == error
    with reading(open_installation(made.folder / "server.toml").engine) as connection:
        assert group.fact(connection, SERVED_AT) is None


def test_a_taken_port_of_the_metrics_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two servers on one machine need two: the error tells which port, and by which setting it is chosen."""
    made = make_server(tmp_path / "server")
    made.engine.dispose()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = made.folder / "server.toml"
        file.write_text(file.read_text().replace("metrics_port = 0", f"metrics_port = {port}"))
        assert main(["--folder", str(made.folder), "serve"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"operations.metrics_port: cannot listen on 127.0.0.1 port {port}: Address already in use" in said


def test_without_encryption_the_server_stays_on_loopback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another address wants TLS or a proxy that encrypts."""
    made = with_settings(make_server(tmp_path / "server"), "[server]", '[server]\naddress = "0.0.0.0"')
    made.engine.dispose()
    assert main(["--folder", str(made.folder), "serve"]) == 2
    assert "is not loopback" in capsys.readouterr().err


def test_another_key_file_is_refused(tmp_path: Path) -> None:
    """A database whose identity is not the key file's is not served: its updates could not be opened."""
    made = make_server(tmp_path / "server")
    made.engine.dispose()
    Vault.generate().write(made.folder / "keys.json")
    with pytest.raises(ServerSettingsError, match="another key file"):
        open_installation(made.folder / "server.toml")


def test_a_round_closes_at_its_deadline_without_a_request(tmp_path: Path) -> None:
    """The periodic work closes what nobody asks about."""
    made = with_settings(make_server(tmp_path / "server"), "floor = 1", "floor = 1\nhours = 0.0003")
    with running(made) as live:
        ada, seen = member(made), threading.Event()
        live.server.service.on_closed = lambda closed: seen.set()
        assert ada.update(0.5).ok
        assert seen.wait(PATIENCE)
