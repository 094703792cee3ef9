"""Computers of one person that exchange at their group's server: what it sees, what it can do, and work without it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import delete, insert, select

from app.devices import exchange, server_depot
from app.devices.device_keys import read_keys, to_code
from app.devices.own_devices import meet_quietly
from app.devices.sealing import LEAST_SIZE, DevicesError, key_of
from app.devices.server_depot import address_of, depot_seed
from app.federation import membership
from app.federation.failures import Distrusted, FederationError
from app.federation.join_and_leave import Admission
from app.federation.transport import Transport
from app.search.saved import SavedSearches
from app.settings import FederationSettings
from app.store import Store
from federation_server.database import reading, writing
from federation_server.group import enrolment
from federation_server.tables import depot_files
from federation_server.tables import depots as depots_table
from foltr.federated.envelope import Identity
from foltr.federated.wire import DepotChange, DepotFiles, DepotPage, encode
from tests.app.devices.computers import SETTINGS, Computer
from tests.federation_server.client import Client, Running, ServerProcess, make_server, reason, running

ONCE = msgspec.structs.replace(SETTINGS, federation=FederationSettings(retries=0))


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Running]:
    with running(make_server(tmp_path / "server", quorum=1000)) as made:
        yield made


def two(tmp_path: Path, group: Running) -> tuple[Computer, Computer]:
    """That have met, each with the same files in another home."""
    laptop, desk = (Computer(tmp_path / name, group, settings=ONCE) for name in ("laptop", "desk"))
    desk.join(laptop.begin())
    laptop.meet()
    return laptop, desk


def said(computer: Computer) -> str:
    """What an exchange says that went wrong; one line."""
    found = meet_quietly(computer.paths, computer.settings)
    assert "\n" not in found
    return found


def place_of(computer: Computer) -> str:
    keys = read_keys(computer.paths)
    return keys.folder if keys else ""


def limited(group: Running, **changes: int) -> None:
    settings = group.service.settings
    limits = msgspec.structs.replace(settings.limits, **changes)
    group.service.settings = msgspec.structs.replace(settings, limits=limits)


def rows(group: Running) -> dict[str, bytes]:
    with reading(group.made.engine) as connection:
        return {row.name: bytes(row.content) for row in connection.execute(select(depot_files))}


def alike(*computers: Computer) -> None:
    """Exchange until all know all, and be the same bit by bit."""
    for computer in (*computers, *computers):
        computer.meet()
    assert len({computer.weights() for computer in computers}) == 1
    assert all(computer.picks() == computers[0].picks() for computer in computers)


def test_the_server_learns_names_sizes_and_times_alone(
    group: Running, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No word, name, key or code is in its database or its log; names are random, sizes few; nobody else is named."""
    caplog.set_level(logging.DEBUG)
    laptop, desk = two(tmp_path, group)
    laptop.open("fish meadow", "stork.txt")
    SavedSearches(laptop.paths.saved).save("tax", "type:pdf meadow")
    laptop.meet()
    desk.meet()
    keys = laptop.keys
    group.stop()
    held = b"".join(path.read_bytes() for path in group.made.folder.iterdir() if path.is_file())
    logged = "\n".join(record.getMessage() for record in caplog.records if "foltr-server" in record.name)
    secrets = [
        keys.newest.secret,
        keys.newest.key,
        depot_seed(keys.newest.secret),
        keys.names,
        keys.private,
        keys.device,
    ]
    for known in (b"stork", b"meadow", b"laptop", b"desk", b"type:pdf", *secrets):
        assert known not in held
        assert known not in logged.encode()
    assert rows(group)
    for name, content in rows(group).items():
        assert len(name) == 32
        assert len(content) % LEAST_SIZE == 0
        assert (len(content) // LEAST_SIZE).bit_count() == 1
        assert len(set(content)) > 250  # as random bytes have it
        assert name not in logged


def test_one_pick_or_ten_are_a_file_of_the_same_size(group: Running, tmp_path: Path) -> None:
    """And an exchange without news is one request."""
    laptop, _ = two(tmp_path, group)
    sizes = []
    for n in (1, 10):
        for _ in range(n):
            laptop.open("fish", "crane.txt")
        before = rows(group)
        laptop.meet()
        sizes += [len(content) for name, content in rows(group).items() if name not in before]
    assert sizes == [4096, 4096]


def test_a_sync_costs_what_docs_devices_says(group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list; where something happened one change; where something came one question for all of it.

    43 bytes a file in the list; 5.7 KB for what is written, 5.6 for what is read.
    """
    laptop, desk = two(tmp_path, group)
    desk.meet()
    asked: list[tuple[str, int]] = []
    once = Transport._once

    def counted(self: Transport, method: str, path: str, body: bytes, *, signed: bool) -> bytes:
        answer = once(self, method, path, body, signed=signed)
        asked.append((f"{method} {path.partition('?')[0]}", len(path) + len(body) + len(answer)))
        return answer

    monkeypatch.setattr(Transport, "_once", counted)
    laptop.meet()
    ((first, n_bytes),) = asked
    assert first == "GET /v1/depot"
    assert n_bytes <= 50 + 43 * len(rows(group))
    laptop.open("fish", "crane.txt")
    asked.clear()
    laptop.meet()
    assert [what for what, _ in asked] == ["GET /v1/depot", "POST /v1/depot"]
    assert asked[1][1] < 5_700 + 43 * len(rows(group))
    asked.clear()
    desk.meet()
    assert [what for what, _ in asked] == ["GET /v1/depot", "GET /v1/depot/files"]
    assert asked[1][1] < 5_600


def test_a_computer_that_was_removed_gets_nothing(group: Running, tmp_path: Path) -> None:
    """Its key lists what hands on keys to others, and nothing that was written since; it writes and removes nothing."""
    laptop, desk = two(tmp_path, group)
    lost = Computer(tmp_path / "lost", group, settings=ONCE)
    lost.join(laptop.devices().code)
    laptop.meet()
    desk.meet()
    laptop.devices().remove("lost")
    for computer in (desk, laptop, desk):
        computer.open("fish", "stork.txt")
        computer.meet()
    keys = lost.keys
    thief = Client(group.made.public_address, Identity(depot_seed(keys.newest.secret)))
    seen = msgspec.json.decode(thief.send("GET", "/v1/depot").content, type=DepotPage)
    with reading(group.made.engine) as connection:
        kept = connection.execute(select(depot_files.c.name).where(depot_files.c.handed_on == 0)).scalars().all()
    assert seen.is_former
    assert kept
    assert not set(kept) & seen.files.keys()
    asked = thief.send("GET", f"/v1/depot/files?names={','.join(kept)}").content
    assert msgspec.json.decode(asked, type=DepotFiles).files == {}
    for change in (DepotChange(removed=tuple(kept)), DepotChange(name="0" * 32, content=bytes(LEAST_SIZE))):
        assert reason(thief.send("POST", "/v1/depot", encode(change))) == "former-key"
    assert set(kept) <= rows(group).keys()
    lost.open("fish", "crane.txt")
    for _ in range(2):
        assert "nothing of the others can be read" in said(lost)
    with pytest.raises(DevicesError, match="opens with this code"):
        Computer(tmp_path / "fourth", group, settings=ONCE).join(to_code(keys.newest.secret))
    alike(laptop, desk)
    assert [one.called for one in desk.devices().known()] == ["desk", "laptop"]
    with writing(group.made.engine) as connection:
        connection.execute(delete(depot_files))  # as a restored server has none
    assert "nothing of the others can be read" in said(lost)


def test_the_key_of_the_depot_is_one_of_its_own() -> None:
    """It opens nothing that is sealed, and is the same in each version of the program."""
    secret = bytes(range(16))
    assert depot_seed(secret) != key_of(secret)
    assert depot_seed(secret).hex() == "98711be2e0d6f7fd1cb2840bf98cf1222027fdc85d3258cbeeea6b2a9560a86c"


def test_two_that_remove_at_the_same_moment_end_with_one_key(
    group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes one new key; the other computer is told, goes on with that one, and both removed are gone."""
    laptop, desk = two(tmp_path, group)
    code = laptop.devices().code
    for name in ("first", "second"):
        Computer(tmp_path / name, group, settings=ONCE).join(code)
    for computer in (laptop, desk):
        computer.meet()
    succeed = server_depot.ServerDepot.succeed

    def both(depot: server_depot.ServerDepot, *what: object) -> None:
        monkeypatch.setattr(server_depot.ServerDepot, "succeed", succeed)
        desk.devices().remove("second")
        succeed(depot, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(server_depot.ServerDepot, "succeed", both)
    with pytest.raises(DevicesError, match="have just taken a new key; exchange again"):
        laptop.devices().remove("first")
    alike(laptop, desk)
    assert laptop.devices().code == desk.devices().code != code
    for computer in (laptop, desk):
        assert [one.called for one in computer.devices().known()] == ["desk", "laptop"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_the_key_is_renewed_locks_nobody_out(
    group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Before the server has the new key, or after it has and before this computer kept it."""
    laptop, desk = two(tmp_path, group)
    code = laptop.devices().code
    lost = Computer(tmp_path / "lost", group, settings=ONCE)
    lost.join(laptop.devices().code)
    laptop.meet()
    desk.meet()
    target = (server_depot.ServerDepot, "succeed") if when == "before" else (exchange, "write_keys")
    with monkeypatch.context() as killed:
        killed.setattr(*target, lambda *what: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            laptop.devices().remove("lost")
    laptop.open("fish", "crane.txt")
    alike(laptop, desk)
    assert desk.picks()[b"picks"] != []
    assert laptop.devices().code == desk.devices().code != code
    assert "nothing of the others can be read" in said(lost)


def test_a_full_depot_is_made_room_in_or_said(group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer's many files become few; if that is not enough, one line says so, and all is sent later."""
    monkeypatch.setattr(exchange, "SLICE", 10)
    laptop, desk = two(tmp_path, group)
    limited(group, depot_files=6)
    for _ in range(12):
        laptop.open("fish", "crane.txt")
        assert said(laptop) == ""
    assert len(rows(group)) <= 6
    alike(laptop, desk)
    limited(group, depot_files=len(rows(group)), depot_bytes=1)
    desk.open("fish", "heron.txt")
    line = said(desk)
    assert "the server stores no more files for this member" in line
    assert "devices sync --folder" in line
    laptop.open("fish", "stork.txt")
    limited(group, depot_files=500, depot_bytes=1 << 25)
    for computer in (laptop, desk):
        assert said(computer) == ""
    alike(laptop, desk)


@pytest.mark.parametrize("how", ["leave", "forget-me", "revoke", "forget"])
def test_with_the_member_the_depot_goes(group: Running, tmp_path: Path, how: str) -> None:
    """Every computer says so in a line, keeps what it knows, goes on learning, and exchanges in a folder."""
    laptop, desk = two(tmp_path, group)
    laptop.open("fish", "crane.txt")
    alike(laptop, desk)
    with Store(laptop.paths.state) as store:
        member = membership.member(store).device
    if how in ("leave", "forget-me"):
        with Store(laptop.paths.state) as store:
            Admission(store, laptop.settings).leave(forget=how == "forget-me")
    else:
        with writing(group.made.engine) as connection:
            if how == "revoke":
                enrolment.end_membership(connection, member, now=int(time.time()))
            else:
                enrolment.erase(connection, member)
    assert rows(group) == {}
    before = desk.picks()
    for computer in (laptop, desk):
        assert "the group's server keeps nothing for these computers" in said(computer)
    assert desk.picks() == before
    desk.open("fish", "heron.txt")
    for computer in (laptop, desk):
        (tmp_path / "cloud").mkdir(exist_ok=True)
        computer.devices().meet_in(str(tmp_path / "cloud"))
    alike(laptop, desk)


def test_from_a_folder_to_the_server_and_back(group: Running, tmp_path: Path) -> None:
    """By one command on each computer; the second one needs no address, for it is the member, too."""
    shared = tmp_path / "cloud"
    laptop, desk = (Computer(tmp_path / name, shared, settings=ONCE) for name in ("laptop", "desk"))
    laptop.enrol(group)
    desk.join(laptop.begin())
    laptop.meet()
    for where in ("", str(shared), ""):
        for computer in (laptop, desk):
            devices = computer.devices()
            devices.meet_in(where or devices.at_server(""))
        laptop.open("fish", "crane.txt")
        alike(laptop, desk)
        assert place_of(desk).startswith(where or group.made.public_address)


def test_a_computer_that_lacks_the_present_key_takes_the_place_of_nobody(group: Running, tmp_path: Path) -> None:
    """It comes to the server with an older code than the others: it is told to join again, and theirs stays."""
    shared = tmp_path / "cloud"
    laptop, desk, lost = (Computer(tmp_path / name, shared, settings=ONCE) for name in ("laptop", "desk", "lost"))
    laptop.enrol(group)
    code = laptop.begin()
    for computer in (desk, lost):
        computer.join(code)
        laptop.meet()
    laptop.devices().remove("lost")
    laptop.devices().meet_in(laptop.devices().at_server(""))
    kept = rows(group)
    with pytest.raises(DevicesError, match="under another code"):
        desk.devices().meet_in(desk.devices().at_server(""))
    assert rows(group) == kept
    desk.devices().meet()  # still in the folder, where the new key waits
    desk.devices().meet_in(desk.devices().at_server(""))
    alike(laptop, desk)


def test_lost_files_are_written_again(group: Running, tmp_path: Path) -> None:
    """Even all of them, as after the server was restored from its backup."""
    laptop, desk = two(tmp_path, group)
    laptop.open("fish", "crane.txt")
    laptop.meet()
    with writing(group.made.engine) as connection:
        connection.execute(delete(depot_files))
    for computer in (desk, laptop):
        assert said(computer) == ""
    alike(laptop, desk)


def test_a_depot_that_a_restored_server_does_not_know_is_made_anew(group: Running, tmp_path: Path) -> None:
    """By one command on one computer."""
    laptop, desk = two(tmp_path, group)
    with writing(group.made.engine) as connection:
        for table in (depot_files, depots_table):
            connection.execute(delete(table))
    assert "keeps nothing for these computers" in said(desk)
    desk.devices().meet_in(desk.devices().at_server(""))
    assert said(laptop) == ""
    laptop.open("fish", "crane.txt")
    alike(laptop, desk)


def test_a_server_that_was_restored_from_before_the_key_was_renewed_gets_it_again(
    group: Running, tmp_path: Path
) -> None:
    """By one command on a computer that has it: the former key gives way once more, and who was removed stays so."""
    laptop, desk = two(tmp_path, group)
    lost = Computer(tmp_path / "lost", group, settings=ONCE)
    lost.join(laptop.devices().code)
    laptop.meet()
    desk.meet()
    with reading(group.made.engine) as connection:
        before = [dict(row._mapping) for row in connection.execute(select(depots_table))]
    laptop.devices().remove("lost")
    desk.meet()
    with writing(group.made.engine) as connection:
        for table in (depot_files, depots_table):
            connection.execute(delete(table))
        connection.execute(insert(depots_table), before)
    assert "keeps nothing for these computers" in said(desk)
    desk.devices().meet_in(desk.devices().at_server(""))
    laptop.open("fish", "crane.txt")
    alike(laptop, desk)
    assert "nothing of the others can be read" in said(lost)


MANY = b",".join(b'"%032x":4096' % n for n in range(10_001))


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (b'{"files":{"x":1},"is_former":false}', ""),
        (b'{"files":{"%s":5},"is_former":false}' % (b"0" * 32), ""),
        (b'{"files":{"%s":4096},"is_former":false}' % (b"0" * 32), "nothing of the others can be read"),
        (b"garbage", "the server's answer makes no sense"),
        (b'{"files":{%s},"is_former":false}' % MANY, "more than 10,000"),
    ],
)
def test_nothing_that_the_server_says_is_believed(
    group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, line: str
) -> None:
    """Names and sizes that no computer writes and missing files are skipped; the rest is reported."""
    laptop, _ = two(tmp_path, group)
    get = Transport.get
    with monkeypatch.context() as lying:
        lying.setattr(Transport, "get", lambda *what, **more: answer if what[1] == "/v1/depot" else get(*what, **more))
        for _ in range(2):
            assert bool(line) == bool(found := said(laptop))
            assert line in found
    assert said(laptop) == ""


def test_without_the_server_each_works_on(tmp_path: Path) -> None:
    """If it is down, or this computer's clock is wrong, one line says so, and all is exchanged later."""
    made = make_server(tmp_path / "server", quorum=1000)
    with running(made) as group:
        laptop, desk = two(tmp_path, group)
        laptop.open("fish", "crane.txt")
    assert "nobody answers there" in said(laptop)
    desk.open("fish", "heron.txt")
    with running(made) as group:
        group.service.clock = lambda: int(time.time()) + 1000
        assert "the device's is 16 minutes behind" in said(desk)
        group.service.clock = lambda: int(time.time())
        alike(laptop, desk)


def test_an_older_server_is_said(group: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it has no such address, one line says what to do, and nothing has begun."""
    laptop = Computer(tmp_path / "laptop", group, settings=ONCE)
    laptop.enrol(group)
    monkeypatch.setattr(
        server_depot.Transport, "post", lambda self, path, body: Transport.get(self, "/v1/elsewhere", signed=False)
    )
    with pytest.raises(DevicesError, match=r"is of a version that stores nothing .*\(--folder\)"):
        laptop.begin()
    assert read_keys(laptop.paths) is None


def test_who_is_no_member_begins_nowhere(group: Running, tmp_path: Path) -> None:
    """It is told what to do, as is one that joins without an address or with an invalid one."""
    laptop = Computer(tmp_path / "laptop", group, settings=ONCE)
    with pytest.raises(DevicesError, match="`foltr-search join LINK` first"):
        laptop.devices().at_server("")
    with pytest.raises(DevicesError, match="only a member"):
        laptop.devices().begin("laptop", laptop.where)
    with pytest.raises(DevicesError, match=r"https://\.\.\.#\.\.\., got none$"):  # a code in its place is not shown
        laptop.devices().at_server(to_code(bytes(16)))
    for part in (f"https://example.org#{'0' * 31}", "https://example.org"):
        with pytest.raises(DevicesError, match="the whole address"):
            laptop.devices().at_server(part)
    with pytest.raises(FederationError, match="must begin with https"):
        laptop.devices().join(to_code(bytes(16)), "laptop", "http://example.org#x")


def test_a_server_that_signs_its_own_certificate_is_known_by_the_address(tmp_path: Path) -> None:
    """Who is no member checks the certificate by what `devices new` shows: another one is not talked to."""
    with running(make_server(tmp_path / "server", quorum=1000, tls="self-signed")) as group:
        laptop, desk = (Computer(tmp_path / name, group, settings=ONCE) for name in ("laptop", "desk"))
        laptop.enrol(group)
        devices = laptop.devices()
        place = devices.at_server("")
        devices.begin("laptop", place)
        with pytest.raises(Distrusted, match="another certificate"):
            desk.devices().join(devices.code, "desk", place[:-4] + "0000")
        desk.devices().join(devices.code, "desk", place)
        laptop.open("fish", "crane.txt")
        alike(laptop, desk)


def test_computers_follow_their_server_to_another_address(group: Running, tmp_path: Path) -> None:
    """As the membership does: the one that holds the pen first, the others by what it writes at the old address."""
    laptop, desk = two(tmp_path, group)
    old = group.made.public_address
    with Store(laptop.paths.state) as store:
        moved = msgspec.structs.replace(membership.member(store), address=old.replace("127.0.0.1", "localhost"))
        membership.save(store, moved)
    laptop.open("fish", "crane.txt")
    alike(laptop, desk)
    for computer in (laptop, desk):
        assert place_of(computer) == address_of(moved)


def test_the_last_one_that_leaves_leaves_nothing(group: Running, tmp_path: Path) -> None:
    """The depot is emptied; the one before it takes away nothing that the others still have to read."""
    laptop, desk = two(tmp_path, group)
    assert desk.devices().leave() == ""
    assert rows(group) != {}
    assert laptop.devices().leave() == ""
    assert rows(group) == {}
    desk.join(laptop.begin(replaces=True))


def test_a_server_that_dies_in_the_middle_keeps_all_or_nothing(tmp_path: Path) -> None:
    """Killed within a change, or between commit and answer: both computers have everything afterwards."""
    made = make_server(tmp_path / "server", quorum=1000)
    with running(made) as group:
        laptop, desk = two(tmp_path, group)
    for point in (INSIDE, AFTERWARDS):
        process = ServerProcess(made, point).start().wait_until_ready()
        laptop.open("fish", "crane.txt")
        assert said(laptop) != ""
        process.ended()
        process = ServerProcess(made).start().wait_until_ready()
        try:
            assert said(laptop) == ""
            alike(laptop, desk)
        finally:
            process.stop()
    assert len(laptop.picks()[b"picked_documents"]) == 1


DIE = "os.kill(os.getpid(), signal.SIGKILL)"
INSIDE = f"""
from federation_server.group import depots
def die(*arguments):
    {DIE}
depots.page = die
"""
AFTERWARDS = f"""
from federation_server.running import service
change = service.Service.change_depot
def die(self, request):
    change(self, request)
    {DIE}
service.Service.change_depot = die
"""
