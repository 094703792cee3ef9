"""Depots: what a member's computers leave for each other, reached by nobody without their key."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine, func, select, update

from federation_server import backup
from federation_server.database import connect, reading, upgrade, writing
from federation_server.group import depots, enrolment
from federation_server.refusals import Refused
from federation_server.running.retention import drop_old
from federation_server.settings import ForgettingSection, LimitsSection, RetentionSection
from federation_server.tables import depot_files, members
from federation_server.tables import depots as depots_table
from foltr.federated.envelope import Identity, pseudonym
from foltr.federated.wire import DepotChange, DepotFiles, DepotPage, DepotRequest, decode, encode
from tests.federation_server.client import Client, Running, reason
from tests.federation_server.groups import NOW, device, make_group

LIMITS = LimitsSection(depot_files=4, depot_bytes=6 * 4096)
FIRST, SECOND, THIRD = (Identity(bytes([n]) * 32) for n in (11, 12, 13))
A, B, C, D, E = (f"{n:032x}" for n in range(5))
FILE = b"\x01" * 4096


@pytest.fixture
def group(engine: Engine) -> Engine:
    """Two members, of whom the first has a depot."""
    make_group(engine, n_members=2)
    make(engine, FIRST)
    return engine


def make(engine: Engine, key: Identity, *, number: int = 0, replaces: bool = False) -> DepotPage:
    asked = DepotRequest(group_id="", depot_key=key.public, replaces=replaces)
    with writing(engine) as connection:
        return depots.make(connection, device(number), asked, LIMITS)


def change(engine: Engine, key: Identity, limits: LimitsSection = LIMITS, **what: object) -> dict[str, int]:
    """What the depot holds then."""
    with writing(engine) as connection:
        depot = depots.found(connection, pseudonym(key.public), now=NOW, lock=True)
        return depots.change(connection, depot, DepotChange(**what), limits).files  # type: ignore[arg-type]


def page(engine: Engine, key: Identity, *, now: int = NOW) -> DepotPage:
    with reading(engine) as connection:
        return depots.page(connection, depots.found(connection, pseudonym(key.public), now=now))


def read(engine: Engine, key: Identity, *names: str) -> dict[str, bytes]:
    with reading(engine) as connection:
        return depots.files(connection, depots.found(connection, pseudonym(key.public), now=NOW), names).files


def refused(call: Callable[[], object]) -> str:
    """The reason."""
    with pytest.raises(Refused) as found:
        call()
    return found.value.reason


def n_rows(engine: Engine) -> tuple[int, int]:
    """Keys and files."""
    with reading(engine) as connection:
        keys, files = (connection.execute(select(func.count()).select_from(t)) for t in (depots_table, depot_files))
        return keys.scalar_one(), files.scalar_one()


def test_what_is_written_is_there_until_it_is_removed(group: Engine) -> None:
    """Listed with its size and read; the same again, with whatever content, changes nothing."""
    assert change(group, FIRST, name=A, content=FILE) == {A: 4096}
    assert change(group, FIRST, name=A, content=FILE * 2) == {A: 4096}
    assert change(group, FIRST, name=B, content=FILE * 2) == {A: 4096, B: 8192}
    assert read(group, FIRST, B, A, C) == {A: FILE, B: FILE * 2}
    assert change(group, FIRST, removed=(A, C)) == {B: 8192}
    assert read(group, FIRST, A) == {}
    assert refused(lambda: change(group, FIRST, removed=(B,) * 10_001)) == "malformed"
    assert page(group, FIRST) == DepotPage(files={B: 8192}, is_former=False)


@pytest.mark.parametrize(
    "what",
    [
        {"name": "../key"}, {"name": A.upper() + "G"}, {"name": "\0"}, {"removed": ("\0",)}, {"content": b"x" * 4095},
        {"content": bytes(3 * 4096)},
    ],
)  # fmt: skip
def test_a_file_without_the_form_of_all_is_refused(group: Engine, what: dict[str, object]) -> None:
    """Its name is random, and its size tells as little as that of any other."""
    assert refused(lambda: change(group, FIRST, **{"name": A, "content": FILE} | what)) == "malformed"
    assert n_rows(group) == (1, 0)


def test_an_answer_holds_what_fits(group: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file whatever its size, then the next ones while there is room; and not more names than are allowed."""
    monkeypatch.setattr(depots, "LARGEST_ANSWER", 8192)
    for name, n in ((A, 4), (B, 1), (C, 1)):
        change(group, FIRST, LimitsSection(), name=name, content=FILE * n)
    assert set(read(group, FIRST, A, B)) == {A}
    assert set(read(group, FIRST, B, C, A)) == {B, C}
    assert refused(lambda: read(group, FIRST, *[A] * 101)) == refused(lambda: read(group, FIRST, "")) == "malformed"


def test_a_member_has_so_many_files_and_bytes(group: Engine) -> None:
    """What is replaced in the same step makes room; a full depot takes and loses nothing; others have theirs."""
    change(group, FIRST, name=A, content=FILE * 4)
    assert refused(lambda: change(group, FIRST, name=B, content=FILE * 4)) == "depot-full"
    assert refused(lambda: change(group, FIRST, name=B, content=FILE * 4, removed=(C,))) == "depot-full"
    assert page(group, FIRST).files == {A: 4 * 4096}
    assert change(group, FIRST, name=B, content=FILE, removed=(A,)) == {B: 4096}
    for name in (A, C, D):
        change(group, FIRST, name=name, content=FILE)
    assert refused(lambda: change(group, FIRST, name=E, content=FILE)) == "depot-full"
    make(group, SECOND, number=1)
    assert change(group, SECOND, name=A, content=FILE) == {A: 4096}
    with reading(group) as connection:
        assert depots.used(connection) == {device(0): (4, 4 * 4096), device(1): (1, 4096)}


def test_a_server_may_keep_none(group: Engine) -> None:
    """With limits.depot_files = 0."""
    asked = DepotRequest(group_id="", depot_key=SECOND.public)
    with writing(group) as connection:
        assert refused(lambda: depots.make(connection, device(1), asked, LimitsSection(depot_files=0))) == "depot-full"


def test_a_new_key_takes_the_place_of_the_former_one(group: Engine) -> None:
    """Who has the former key alone sees what hands the new one on, and changes nothing any more."""
    change(group, FIRST, name=A, content=FILE)
    assert change(group, FIRST, name=B, content=FILE, handed_on=True, successor=SECOND.public) == {B: 4096}
    change(group, SECOND, name=C, content=FILE)
    change(group, SECOND, name=D, content=FILE, handed_on=True)
    assert page(group, FIRST) == DepotPage(files={B: 4096, D: 4096}, is_former=True)
    assert page(group, SECOND) == DepotPage(files={B: 4096, C: 4096, D: 4096}, is_former=False)
    assert read(group, FIRST, A, B, C, D) == {B: FILE, D: FILE}
    for what in ({"name": E, "content": FILE}, {"removed": (C,)}, {"successor": THIRD.public}, {}):
        assert refused(lambda what=what: change(group, FIRST, **what)) == "former-key"  # type: ignore[misc]
    assert set(page(group, SECOND).files) == {B, C, D}
    change(group, SECOND, name=E, content=FILE, handed_on=True, successor=THIRD.public)
    for key in (FIRST, SECOND):
        assert page(group, key) == DepotPage(files={E: 4096}, is_former=True)


def test_of_two_new_keys_at_once_one_is_taken(group: Engine) -> None:
    """By a connection each: the other one is told, and nothing of it is kept."""

    def succeed(number: int) -> str:
        try:
            change(group, FIRST, name=f"{number:032x}", content=FILE, successor=Identity(bytes([number]) * 32).public)
        except Refused as found:
            return found.reason
        return "taken"

    with ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(succeed, range(20, 24)))
    assert said == ["former-key"] * 3 + ["taken"]
    assert n_rows(group) == (2, 1)


def test_of_two_that_begin_at_once_one_does(group: Engine) -> None:
    """The other one waits for the first, and is told that there is a depot by now."""
    asked = DepotRequest(group_id="", depot_key=SECOND.public)
    with ThreadPoolExecutor(1) as pool:
        with writing(group) as connection:
            depots.make(connection, device(1), asked, LIMITS)
            other = pool.submit(refused, lambda: make(group, THIRD, number=1))
            assert not wait([other], timeout=0.3).done
        assert other.result() == "other-depot"
    assert n_rows(group) == (2, 0)


def test_former_keys_end(group: Engine) -> None:
    """The depot remembers so many of them."""
    keys = [FIRST, *(Identity(bytes([n]) * 32) for n in range(30, 50))]
    for former, new in pairwise(keys):
        change(group, former, successor=new.public)
    assert n_rows(group) == (1 + depots.MOST_FORMER, 0)
    assert refused(lambda: page(group, FIRST)) == "no-depot"
    assert page(group, keys[-2]).is_former


def test_a_member_has_one_depot(group: Engine) -> None:
    """Asking again changes nothing, by a former key or as another member, too; another key comes only in its place."""
    change(group, FIRST, name=A, content=FILE)
    make(group, FIRST)
    make(group, FIRST, number=1)
    assert refused(lambda: make(group, SECOND)) == "other-depot"
    assert set(page(group, FIRST).files) == {A}
    change(group, FIRST, name=B, content=FILE, successor=SECOND.public)
    make(group, FIRST, replaces=True)
    assert set(page(group, SECOND).files) == {B}
    make(group, THIRD, replaces=True)
    assert n_rows(group) == (1, 0)
    assert refused(lambda: page(group, SECOND)) == "no-depot"
    short = DepotRequest(group_id="", depot_key=b"short")
    with writing(group) as connection:
        assert refused(lambda: depots.make(connection, device(1), short, LIMITS)) == "malformed"


def test_a_key_that_opens_another_depot_takes_no_place(group: Engine) -> None:
    """Neither that of another member's, nor one that the same computers had before."""
    make(group, SECOND, number=1)
    change(group, FIRST, name=A, content=FILE, successor=THIRD.public)
    for key in (FIRST, SECOND):
        assert refused(lambda key=key: change(group, THIRD, successor=key.public)) == "other-depot"  # type: ignore[misc]
    assert page(group, THIRD).files == {A: 4096}
    assert page(group, SECOND) == DepotPage(files={}, is_former=False)


@pytest.mark.parametrize("how", ["leaves", "forgotten", "expired"])
def test_it_goes_with_the_member(group: Engine, how: str) -> None:
    """Whose membership ends, who is erased, and who expires: nothing is reached, no row is left, and another member of
    the same person makes it anew."""
    change(group, FIRST, name=A, content=FILE)
    with writing(group) as connection:
        if how == "leaves":
            enrolment.end_membership(connection, device(0), now=NOW)
        elif how == "forgotten":
            assert enrolment.erase(connection, device(0))["depot files"] == 1
        else:
            connection.execute(update(members).where(members.c.device == device(0)).values(expires=NOW))
    assert refused(lambda: page(group, FIRST)) == refused(lambda: change(group, FIRST, removed=(A,))) == "no-depot"
    assert n_rows(group) == ((1, 1) if how == "expired" else (0, 0))
    with writing(group) as connection:
        drop_old(connection, RetentionSection(), ForgettingSection(), now=NOW)
    assert n_rows(group) == (0, 0)
    make(group, FIRST, number=1)
    assert page(group, FIRST).files == {}


def test_a_backup_holds_the_key_and_no_file(group: Engine, tmp_path: Path) -> None:
    """After a restore the computers write again what they have."""
    change(group, FIRST, name=A, content=FILE)
    backup.write(group, tmp_path / "kept", now=NOW)
    restored = connect(f"sqlite:///{tmp_path}/restored.sqlite")
    upgrade(restored)
    backup.fill(restored, tmp_path / "kept")
    assert page(restored, FIRST) == DepotPage(files={}, is_former=False)
    assert change(restored, FIRST, name=A, content=FILE) == {A: 4096}


# over HTTP


def opened_by_key(live: Running, ada: Client) -> Client:
    """Who has the key of the depot that this member makes."""
    key = Client(ada.address, Identity(os.urandom(32)))
    asked = DepotRequest(group_id=live.invite().group_id, depot_key=key.identity.public)
    assert ada.send("POST", "/v1/depots", encode(asked)).status_code == 200
    return key


def put(key: Client, name: str) -> bytes:
    return encode(DepotChange(name=name, content=FILE))


def test_without_the_key_nothing_is_reached(live: Running, ada: Client) -> None:
    """By a member, a stranger, a signature of another key, or none: no list, file, change or depot."""
    key = opened_by_key(live, ada)
    assert key.send("POST", "/v1/depot", put(key, A)).status_code == 200
    stranger, forged = Client(ada.address), Client(ada.address)
    asked = encode(DepotRequest(group_id=live.invite().group_id, depot_key=stranger.identity.public))
    requests = (
        ("GET", "/v1/depot", b""), ("GET", f"/v1/depot/files?names={A}", b""),
        ("POST", "/v1/depot", put(key, B)), ("POST", "/v1/depot", encode(DepotChange(removed=(A,)))),
        ("POST", "/v1/depot", encode(DepotChange(successor=stranger.identity.public))),
    )  # fmt: skip
    for method, path, body in requests:
        claimed = forged.headers(method, path, body) | {"Foltr-Device": key.device}
        assert reason(key.send(method, path, body, claimed)) == "bad-signature"
        assert reason(key.send(method, path, body, {})) == "unsigned"
        for other in (ada, stranger):
            assert reason(other.send(method, path, body)) == "no-depot"
    assert reason(stranger.send("POST", "/v1/depots", asked)) == "unknown-device"
    assert reason(key.send("POST", "/v1/depots", asked)) == "unknown-device"
    other_group = msgspec.structs.replace(decode(asked, DepotRequest), group_id="other")
    assert reason(ada.send("POST", "/v1/depots", encode(other_group))) == "wrong-group"
    assert decode(key.send("GET", "/v1/depot").content, DepotPage).files == {A: 4096}
    found = decode(key.send("GET", f"/v1/depot/files?names={A}").content, DepotFiles)
    assert found.files == {A: FILE}


def test_a_request_sent_again_does_nothing(live: Running, ada: Client) -> None:
    """What was written and then removed stays removed; a depot that was replaced is not put back."""
    key = opened_by_key(live, ada)
    written = key.send("POST", "/v1/depot", put(key, A))
    removed = key.send("POST", "/v1/depot", encode(DepotChange(removed=(A,))))
    assert reason(key.session.send(written.request)) == "replayed"
    key.send("POST", "/v1/depot", put(key, B))
    assert reason(key.session.send(removed.request)) == "replayed"
    assert decode(key.send("GET", "/v1/depot").content, DepotPage).files == {B: 4096}
    again = ada.send(
        "POST", "/v1/depots", encode(DepotRequest(group_id=live.invite().group_id, depot_key=FILE[:32], replaces=True))
    )
    assert reason(ada.session.send(again.request)) == "replayed"


def test_a_body_has_a_largest_size_here_too(live: Running, ada: Client) -> None:
    """That of the largest file, and no more."""
    key = opened_by_key(live, ada)
    whole = encode(DepotChange(name=A, content=bytes(4 << 20)))
    assert key.send("POST", "/v1/depot", whole).status_code == 200
    assert reason(key.send("POST", "/v1/depot", encode(DepotChange(name=B, content=bytes(5 << 20))))) == "too-large"
    answer = key.send("GET", f"/v1/depot/files?names={A}")
    assert len(answer.content) < 1 << 23  # what a device reads at most
    assert reason(key.send("GET", "/v1/depot/files")) == "malformed"
