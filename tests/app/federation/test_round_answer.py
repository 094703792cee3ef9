"""A device's answer: the same bytes from the same state, in every round, at a moment that tells nothing of pages."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from sqlalchemy import select, update

from app.federation import ledger, round_answer
from app.federation.failures import Distrusted, Unreachable
from app.federation.membership import Membership, load_standing, note_standing
from app.federation.round_answer import LONGEST_WALK, newest_pages
from app.federation.server import Answer, Correspondence
from app.federation.terms import method_of
from app.federation.transport import Transport
from app.learning.prior import theta_prior
from app.settings import FederationSettings
from app.store import Store
from federation_server.database import reading, writing
from federation_server.rounds.rounds import present
from federation_server.tables import members, updates
from foltr.federated.envelope import unseal
from foltr.federated.fpdgd import decode_message
from foltr.federated.method import Model
from foltr.federated.wire import ModelRecord, Sealed, Signed, Update, decode, digest, encode
from indexer.retrieval.features import MANIFEST_HASH
from tests.app.federation.groups import Group, Person, no_pause, told_to

Make = Callable[..., Person]


def opened(group: Group, body: bytes | None) -> bytes:
    """The inner bytes of an answer to the open round."""
    assert body is not None
    with reading(group.made.engine) as connection:
        here = present(connection)
    assert here is not None
    assert here.sealed_key is not None
    return unseal(group.made.vault.decrypt(here.sealed_key), decode(body, Sealed).box)


def prepare(person: Person) -> bytes | None:
    """The answer to the open round, on disk and not sent: the device stops while it waits for the moment to send."""
    with contextlib.suppress(KeyboardInterrupt):
        person.sync(sleep=_stop)
    return ledger.all_uploads(person.store)[-1].body


def _stop(seconds: float) -> None:
    raise KeyboardInterrupt


def clone(person: Person, make_person: Make) -> Person:
    """The same device from a copy of its state file."""
    person.store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    other = make_person()
    path = other.store.path
    other.store.close()
    for rest in ("-wal", "-shm"):
        Path(f"{path}{rest}").unlink(missing_ok=True)
    shutil.copy(person.store.path, path)
    other.store = Store(path)
    return other


def test_a_copied_state_folder_sends_the_same_inner_bytes(group: Group, person: Person, make_person: Make) -> None:
    """Two machines with one state release one and the same noised update, which the server takes as one."""
    person.join(group)
    other = clone(person, make_person)
    first, second = prepare(person), prepare(other)
    assert first != second  # the boxes are sealed each with a key of its own
    assert opened(group, first) == opened(group, second)
    assert person.sync().sent
    assert other.sync().sent
    with reading(group.made.engine) as connection:
        assert len(connection.execute(select(updates.c.digest)).all()) == 1


def test_an_earlier_state_hears_that_the_round_was_answered(group: Group, person: Person, make_person: Make) -> None:
    """A copy from before the answer is told why it sends nothing, and charges the answer to its ledger."""
    person.join(group)
    other = clone(person, make_person)
    assert person.sync().sent
    charged, why = other.sync().said[:2]
    assert charged == "counted as spent from now on: 1 round that the server has had from you"
    assert why == "round 1 was answered before: by the folder that this one is a copy of"
    assert len(ledger.entries(other.store)) == 1


def test_other_pages_get_other_noise(group: Group, person: Person) -> None:
    """Of two updates under one announcement the noises differ in every weight, so their difference hides as much."""
    member = person.join(group)
    told, theta = told_to(person), theta_prior()
    method = method_of(told.terms)
    some = [newest_pages(person.store, MANIFEST_HASH, n=n) for n in (5, 6)]
    noises = []
    for pages in some:
        inner = decode(opened(group, encode(round_answer.sealed_update(told, theta, pages, member))), Update)
        local = method.begin(Model(theta), np.random.default_rng(0))
        for page in pages.interactions:
            local = method.learn(local, page)
        noises.append(decode_message(method, inner.payload).theta - method.sent(theta) - method.hidden(local))
    assert (np.abs(noises[0] - noises[1]) > 1e-6).all()
    assert 1.0 < np.std(noises) < 4.0  # z = 4 times clip .5, minus little


def test_the_noise_depends_on_all_that_it_must(group: Group, person: Person) -> None:
    """Another round, lineage, model, group or clipped update is another stream of noise; another moment is not."""
    person.join(group)
    told, hidden = told_to(person), np.zeros(3)
    others = [
        msgspec.structs.replace(told, round=2),
        msgspec.structs.replace(told, lineage=2),
        msgspec.structs.replace(told, model_hash="f" * 64),
        msgspec.structs.replace(told, terms=msgspec.structs.replace(told.terms, group_id="other")),
    ]
    contexts = {round_answer.noise_context(one, hidden) for one in (told, *others)}
    contexts.add(round_answer.noise_context(told, np.array([0.0, 0.0, 1e-300])))
    assert len(contexts) == 6
    later = msgspec.structs.replace(told, server_time=told.server_time + 1, answered=5, deadline=told.deadline + 1)
    assert round_answer.noise_context(later, hidden) == round_answer.noise_context(told, hidden)


@dataclass(slots=True, eq=False)
class Watched(Transport):
    """A door that writes down what goes through it."""

    log: list[str] = field(default_factory=list)

    def _once(self, method: str, path: str, body: bytes, *, signed: bool) -> bytes:
        self.log.append(f"{method} {path.partition('/models/')[0]} {len(body)}")
        return Transport._once(self, method, path, body, signed=signed)


@dataclass(slots=True)
class Observer:
    """What a server sees of one device, connection by connection, and what lay on the device's disk meanwhile."""

    person: Person
    connections: list[list[str]] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """answers that lay ready when each connection was opened"""

    def connect(self, member: Membership, settings: FederationSettings) -> Transport:
        door = Watched(member, settings, sleep=no_pause)
        self.connections.append(door.log)
        self.waiting.append(sum(upload.body is not None for upload in ledger.all_uploads(self.person.store)))
        return door


def test_the_server_sees_the_same_whatever_was_opened(group: Group, make_person: Make) -> None:
    """Two connections with the same requests of the same sizes; the answer is on disk before the second is opened."""
    seen = []
    for n_pages in (0, 1, 30):
        person = make_person()
        person.see_pages(n_pages)
        person.join(group)
        watching = Observer(person)
        person.by = watching.connect
        assert person.sync().sent
        assert watching.waiting == [0, 1]
        assert [upload.n_interactions for upload in ledger.all_uploads(person.store)] == [n_pages]
        seen.append(watching.connections)
    assert seen[0] == seen[1] == seen[2]
    first, second = seen[0]
    assert first == ["GET /v1/round 0", "GET /v1 0", "GET /v1 0"]
    assert [line.rpartition(" ")[0] for line in second] == ["POST /v1/updates", "GET /v1"]


def test_when_the_answer_leaves_does_not_depend_on_the_pages(
    group: Group, person: Person, make_person: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two devices with one key, 30 pages and none, wait until the same moment; another key waits until another."""
    person.join(group)
    other, third = clone(person, make_person), make_person()
    other.store.clear_interactions()
    third.join(group)
    now = time.time()
    moments: list[float] = []

    def lose(self: Correspondence, body: bytes, kind: type[Answer]) -> object:
        raise Unreachable("nobody there")

    monkeypatch.setattr(Correspondence, "send", lose)
    for one in (person, other, third):
        one.clock = lambda: now
        with contextlib.suppress(Unreachable):
            one.sync(sleep=moments.append)
    assert moments[0] == moments[1] != moments[2]
    assert all(round_answer.SHORTEST_PAUSE <= moment < round_answer.LONGEST_PAUSE for moment in moments)


def test_the_pause_makes_up_for_what_preparing_took() -> None:
    """A quarter of the way is 1.75 seconds after the announcement; whoever needs 1.8 or 6 leaves 4 or 8 later."""
    assert round_answer.pause(0.25, 0.0) == 1.75
    assert round_answer.pause(0.25, 0.5) == 1.25
    assert round_answer.pause(0.25, 1.8) == pytest.approx(3.95)
    assert round_answer.pause(0.25, 6.0) == pytest.approx(3.75)
    assert round_answer.pause(0.25, -86_400.0) == 1.75  # the clock was set back meanwhile


def test_a_device_answers_in_the_later_part_of_a_round(group: Group, person: Person) -> None:
    """Of 100,000 seconds after the first 50,000, at a chance of .5 after 67,500, and before the last 15,000."""
    person.join(group)
    told = msgspec.structs.replace(told_to(person), opened=1_000, deadline=101_000)
    assert round_answer.moment(told, 0.0) == 51_000
    assert round_answer.moment(told, 0.5) == 68_500
    assert round_answer.moment(told, 1.0) == 86_000


def test_before_its_moment_a_device_prepares_nothing_unless_asked_to(group: Group, person: Person) -> None:
    """In a round of a week that just opened a sync spends nothing and says when; at once it answers."""
    person.join(group)
    assert "answers round 1 after" in person.sync(at_once=False).said[0]
    assert ledger.entries(person.store) == ()
    assert person.sync().sent


def test_a_restored_state_is_charged_what_the_server_had(group: Group, person: Person, make_person: Make) -> None:
    """A state folder from before two answers learns of them from the announcement; its ledger never has fewer."""
    person.join(group)
    before, helper = clone(person, make_person), make_person()
    helper.join(group)
    for _ in range(2):
        person.sync()
        helper.sync()
    assert told_to(before).answered == 2
    before.sync()
    assert [(e.lineage, e.round) for e in ledger.entries(before.store)] == [(0, 1), (0, 2), (1, 3)]
    before.sync()
    assert len(ledger.entries(before.store)) == 3


def test_a_lying_count_uses_up_the_budget_and_no_more(group: Group, person: Person) -> None:
    """A server that claims a million rounds gets nothing sent; the ledger holds what the budget takes, and one."""
    person.join(group)
    with writing(group.made.engine) as connection:
        connection.execute(update(members).values(answered=1_000_000))
    report = person.sync()
    assert not report.sent
    assert "past its budget" in report.refused
    n_entries = len(ledger.entries(person.store))
    assert n_entries == 65  # sixty-four rounds of z = 4 are epsilon 9.997
    person.sync()
    assert len(ledger.entries(person.store)) == n_entries


def rankers(lineage: int, *changes: dict[str, object]) -> list[ModelRecord]:
    """A lineage, each ranker made from the one before."""
    chain: list[ModelRecord] = []
    for round, change in enumerate(changes):
        first = ModelRecord("group", lineage, round, "fpdgd", "linear", "", bytes([round]) * 8)
        chain.append(msgspec.structs.replace(first, previous=digest(chain[-1]) if chain else "", **change))
    return chain


SEEN = rankers(1, {}, {}, {}, {})
OTHER = rankers(1, {"noise": 9.0}, {}, {}, {})
SKIPPING = [*SEEN[:2], msgspec.structs.replace(SEEN[3], previous=digest(SEEN[1]))]
MOVED = rankers(2, {}, {"lost": "silent"}, {}, {})


@pytest.mark.parametrize(
    ("chain", "round", "why"),
    [
        (SEEN, 4, ""),
        (OTHER, 4, "round 4 does not go on from the ranker that this device saw before"),
        (SKIPPING, 4, "the server's ranker of round 2 is that of another round"),
        (SEEN, LONGEST_WALK + 3, "the server's round went from 2 to 1003 since this device saw one"),
        (rankers(2, {}, {}, {}, {}), 4, ""),
        (MOVED, 4, "calls round 1 lost, and moved its ranker by it"),
    ],
)
def test_the_chain_of_rankers_is_followed(tmp_path: Path, chain: list[ModelRecord], round: int, why: str) -> None:
    """Back to the one that this device has seen, round 1 of lineage 1, or to the first of a new lineage."""
    by_hash = {digest(ranker): (Signed("model", b"", b""), ranker) for ranker in chain}
    newest = chain[-1]
    announced = SimpleNamespace(lineage=newest.lineage, round=round, model_hash=digest(newest))
    seen = (1, 1, digest(SEEN[1]))
    with Store(tmp_path / "state.sqlite") as store:
        note_standing(store, followed=seen)
        with pytest.raises(Distrusted, match=why) if why else contextlib.nullcontext():
            server = SimpleNamespace(past_model=by_hash.__getitem__, member=None)  # who answered none of these rounds
            round_answer.follow_rankers(store, server, announced)
        assert load_standing(store).followed == (seen if why else (newest.lineage, 3, digest(newest)))
