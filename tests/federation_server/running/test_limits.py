"""Token buckets, who shares one, and whose word about an address counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from federation_server.refusals import Refused
from federation_server.running import limits
from federation_server.running.limits import Buckets, address_group, client_address
from federation_server.serve import open_installation
from tests.federation_server.client import Client, Running, guessed, make_server, member, reason, running

PROXY = frozenset({"127.0.0.1"})


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills_again() -> None:
    """Six a minute: six at once, the seventh waits ten seconds, and is told so."""
    clock = Clock()
    buckets = Buckets(6, 60.0, clock)
    for _ in range(6):
        buckets.spend("a")
    with pytest.raises(Refused) as refused:
        buckets.spend("a")
    assert (refused.value.reason, refused.value.wait) == ("too-many", 10)
    buckets.spend("b")
    clock.now += 9.9
    with pytest.raises(Refused):
        buckets.spend("a")
    clock.now += 0.1
    buckets.spend("a")


def test_the_table_of_buckets_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of names pushes out the idle ones, and not the one that is out of requests."""
    monkeypatch.setattr(limits, "LARGEST_TABLE", 10)
    buckets = Buckets(2, 60.0, Clock())
    buckets.spend("busy")
    buckets.spend("busy")
    for number in range(100):
        buckets.spend(str(number))
    assert len(buckets._levels) <= 10
    with pytest.raises(Refused):
        buckets.spend("busy")


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("unix", "unix"),
    ],
)
def test_who_shares_a_bucket(address: str, group: str) -> None:
    """An IPv4 address in either form, the /64 of an IPv6 one."""
    assert address_group(address) == group


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", "198.51.100.1", "192.0.2.1"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, 127.0.0.1", "198.51.100.1"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
    ],
)
def test_only_a_listed_proxy_is_believed(peer: str, forwarded: str | None, found: str) -> None:
    """The last entry that no trusted proxy wrote about itself; a stranger's header is ignored."""
    assert client_address(peer, forwarded, PROXY) == found


LIMITS = "[limits]\ndevice_per_minute = 4\naddress_per_minute = 12\njoins_per_hour = 3\n"


def serve(folder: Path, server_keys: str = "") -> Iterator[Running]:
    made = make_server(folder)
    made.engine.dispose()
    file = folder / "server.toml"
    text = file.read_text().replace("shutdown_seconds", f"{server_keys}\nshutdown_seconds").split("[limits]")[0]
    file.write_text(text + LIMITS + "[operations]\nmetrics_port = 0\ndashboard = false\n")
    with running(open_installation(file)) as server:
        yield server


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Running]:
    yield from serve(tmp_path / "server")


@pytest.fixture
def behind_a_proxy(tmp_path: Path) -> Iterator[Running]:
    """The tests' own address is a trusted proxy."""
    yield from serve(tmp_path / "server", 'trusted_proxies = ["127.0.0.1"]')


def test_a_device_has_its_own_limit(limited: Running) -> None:
    """The join and three requests pass, the next is refused with the seconds to wait; another device goes on."""
    ada, bob = member(limited.made), member(limited.made)
    assert [ada.send("GET", "/v1/round").status_code for _ in range(3)] == [200] * 3
    answer = ada.send("GET", "/v1/round")
    assert (reason(answer), int(answer.headers["Retry-After"])) == ("too-many", 15)
    assert bob.send("GET", "/v1/round").ok
    assert limited.refused("too-many") == 1


def test_an_address_has_a_limit_for_all_its_devices(limited: Running) -> None:
    """Twelve requests pass, whoever signs them; unsigned ones count too."""
    client = Client(limited.made.public_address)
    found = [reason(client.send("GET", "/v1/round", headers={})) for _ in range(13)]
    assert found == ["unsigned"] * 12 + ["too-many"]
    assert limited.refused("too-many") == 1


def test_joining_has_a_limit_of_its_own(limited: Running) -> None:
    """Three attempts an hour from one address: invites are not guessed."""
    found = [reason(Client(limited.made.public_address).join(guessed("guess"))) for _ in range(4)]
    assert found == ["bad-invite"] * 3 + ["too-many"]


def test_a_proxy_tells_the_addresses_apart(behind_a_proxy: Running) -> None:
    """Through a trusted proxy each client address has its own limit; an entry made up before the proxy's is no help."""
    client = Client(behind_a_proxy.made.public_address)
    for last in ("198.51.100.1", "198.51.100.2"):
        found = [
            reason(client.send("GET", "/v1/round", headers={"X-Forwarded-For": f"203.0.113.{n}, {last}"}))
            for n in range(13)
        ]
        assert found == ["unsigned"] * 12 + ["too-many"]


def test_without_a_listed_proxy_the_header_is_no_way_out(limited: Running) -> None:
    """Made-up addresses share the limit of the real one."""
    client = Client(limited.made.public_address)
    found = [reason(client.send("GET", "/v1/round", headers={"X-Forwarded-For": f"203.0.113.{n}"})) for n in range(13)]
    assert found[-1] == "too-many"


def test_a_proxy_that_adds_a_line_of_its_own_is_read_last(behind_a_proxy: Running) -> None:
    """Two X-Forwarded-For lines are one list: the last entry is the proxy's, the first may be made up."""
    lines = [(b"x-forwarded-for", b"203.0.113.1"), (b"x-forwarded-for", b"198.51.100.1")]
    http = Request({"type": "http", "headers": lines, "client": ("127.0.0.1", 1)})
    assert behind_a_proxy.server.address(http) == "198.51.100.1"
