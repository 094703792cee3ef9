"""An update of an open group: opened, checked, kept, and read again when its round closes.

What is acknowledged is on disk; nothing is counted twice.

Opening and checking need no transaction and happen in the request's own thread; what the open round takes is read once
a round instead of once an update. One thread keeps them (`Writer`).

Neither a request that reads nor an update spends a nonce, so a poll writes nothing and an update one row. Sent again, a
read changes nothing and tells no more than the first answer, which anyone able to send it again has seen pass by; an
update is for one round, lineage and model, is kept once for each device by the table's primary key, and is answered as
before. In any case the time in the signature ends both after minutes.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import numpy as np
from msgspec import Struct, field
from sqlalchemy import Connection, Engine, insert, select, update

from federation_server.database import reading
from federation_server.group import group
from federation_server.group.enrolment import count_answers, members_of, still_active
from federation_server.group.signed_requests import Credentials
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.rounds.rounds import Round, of_round
from federation_server.tables import rounds as rounds_table
from federation_server.tables import updates
from federation_server.vault import Vault
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import RecordError, ShapeError, ValueRangeError
from foltr.federated.envelope import SignatureError, unseal
from foltr.federated.fpdgd import FPDGD, decode_message, largest_update
from foltr.federated.wire import Accepted, Sealed, Terms, Update, decode


class Expectation(Struct, frozen=True, eq=False):
    """What an update of the open round must look like."""

    open_round: Round
    private_key: bytes
    agreed: Terms
    method: FPDGD
    start: FloatVector
    """[n_sent] the shared weights of the model that devices begin from"""


class Offer(Struct, frozen=True, eq=False):
    """A checked update that waits for its transaction."""

    credentials: Credentials
    lineage: int
    round: int
    digest: str
    """of the opened update: the same update sealed twice has the same digest"""
    payload: bytes
    norm: float


def check(sealed: Sealed, credentials: Credentials, expected: Expectation) -> Offer:
    """Open and examine an update; Refused with the first thing that is wrong with it."""
    here = expected.open_round
    if expected.agreed.mode != "open":
        raise Refused("wrong-mode", "its updates are shared among its members")
    if sealed.lineage != here.lineage:
        raise Refused("wrong-lineage", f"the group is in lineage {here.lineage}, the update in {sealed.lineage}")
    if sealed.round != here.number:
        raise Refused("stale-round", f"round {here.number} is open, the update is for {sealed.round}")
    try:
        inner = unseal(expected.private_key, sealed.box)
        found = decode(inner, Update)
    except SignatureError as error:
        raise Refused("sealed-wrongly") from error
    except RecordError as error:
        raise Refused("malformed", "inside the seal") from error
    if found.device != credentials.device:
        raise Refused("wrong-device")
    _check_context(found, expected)
    return Offer(
        credentials=credentials,
        lineage=here.lineage,
        round=here.number,
        digest=hashlib.blake2b(inner, digest_size=32).hexdigest(),
        payload=found.payload,
        norm=_checked_norm(found.payload, expected),
    )


def _check_context(found: Update, expected: Expectation) -> None:
    """The sealed part must say the same as the outside, so that nobody can move it to another round."""
    here, agreed = expected.open_round, expected.agreed
    if (found.lineage, found.round) != (here.lineage, here.number):
        raise Refused("stale-round", "inside the seal")
    if found.group_id != agreed.group_id:
        raise Refused("wrong-group")
    if found.model_hash != here.model_hash:
        raise Refused("wrong-model")
    if found.manifest_hash != agreed.manifest_hash:
        raise Refused("wrong-manifest")


def _checked_norm(payload: bytes, expected: Expectation) -> float:
    """||theta - start||_2 of an update that could be an honest device's."""
    try:
        message = decode_message(expected.method, payload)
    except ShapeError as error:
        raise Refused("wrong-length", str(error)) from error
    except ValueRangeError as error:
        raise Refused("not-finite", str(error)) from error
    with np.errstate(over="ignore"):  # an infinite norm is over every bound
        norm = float(np.linalg.norm(message.theta - expected.start))
    if not norm <= largest_update(expected.method, expected.start):
        raise Refused("over-norm")
    return norm


def keep(connection: Connection, vault: Vault, offers: Sequence[Offer], *, now: int) -> list[Accepted | Refused]:
    """Store the offers in one transaction; one answer for each, in their order.

    The round is locked, so it cannot close between the check that it is open and the insert. An offer whose round
    closed in the meantime is refused; one that is already stored is acknowledged again.
    """
    batch = _Batch(connection, vault, rounds.present(connection, lock=True), now=now)
    batch.read({one.credentials.device for one in offers})
    answers = [batch.answer(one) for one in offers]
    batch.write()
    return answers


class _Batch:
    """Answers many with a few statements: across a socket each one costs more than all the rest of an update."""

    def __init__(self, connection: Connection, vault: Vault, here: Round | None, *, now: int) -> None:
        self.connection, self.vault, self.here, self.now = connection, vault, here, now
        self.rows: list[dict[str, object]] = []
        self.received = here.n_updates if here else 0

    def read(self, devices: set[str]) -> None:
        self.known = members_of(self.connection, devices)
        self.stored = _digests(self.connection, self.here, devices) if self.here else {}

    def answer(self, offer: Offer) -> Accepted | Refused:
        """For the next of the batch, in the order in which they came."""
        try:
            still_active(self.known.get(offer.credentials.device), now=self.now)
            return self._keep(offer)
        except Refused as refused:
            return refused

    def write(self) -> None:
        """The new updates, and how many the round has now."""
        if self.here is not None and self.rows:
            self.connection.execute(insert(updates), self.rows)
            count_answers(self.connection, [str(row["device"]) for row in self.rows])
            here = update(rounds_table).where(of_round(rounds_table, self.here))
            self.connection.execute(here.values(n_updates=self.received))

    def _keep(self, offer: Offer) -> Accepted:
        here, device = self.here, offer.credentials.device
        if here is None or (here.lineage, here.number) != (offer.lineage, offer.round):
            raise Refused("stale-round", "it closed while the update was on its way")
        if self.stored.get(device, offer.digest) != offer.digest:
            raise Refused("already-reported")
        if device not in self.stored:
            self.stored[device] = offer.digest
            self.rows.append(self._row(offer))
            self.received += 1
        return Accepted(round=offer.round, received=self.received)

    def _row(self, offer: Offer) -> dict[str, object]:
        return {
            "lineage": offer.lineage,
            "round": offer.round,
            "device": offer.credentials.device,
            "digest": offer.digest,
            "received": self.now,
            "payload": self.vault.encrypt(offer.payload),
            "norm": offer.norm,
        }


def _digests(connection: Connection, here: Round, devices: set[str]) -> dict[str, str]:
    """Digest by device of what the open round has of them."""
    query = select(updates.c.device, updates.c.digest).where(of_round(updates, here), updates.c.device.in_(devices))
    return {row.device: row.digest for row in connection.execute(query)}


def has_update(connection: Connection, here: Round, device: str) -> bool:
    """Whether the open round has an update of this device."""
    return bool(_digests(connection, here, {device}))


class Expectations(Struct, eq=False):
    """What one process expects; another may close the round, which the writer's transaction finds out."""

    engine: Engine
    vault: Vault
    _known: Expectation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, sealed: Sealed) -> Expectation:
        """What the open round expects, read again when the update names another round than was read last."""
        with self._lock:
            here = self._known.open_round if self._known else None
            if self._known is None or here is None or (here.lineage, here.number) != (sealed.lineage, sealed.round):
                with reading(self.engine) as connection:
                    self._known = _read(connection, self.vault)
            return self._known

    def keep_only(self, here: Round) -> None:
        """Forget the key of any other round than the open one: another process may have closed it."""
        with self._lock:
            known = self._known.open_round if self._known else None
            if known is not None and (known.lineage, known.number) != (here.lineage, here.number):
                self._known = None

    def forget(self) -> None:
        """Another round is open; with the lock, so that nobody puts the former one's key back into memory."""
        with self._lock:
            self._known = None


def _read(connection: Connection, vault: Vault) -> Expectation:
    here, agreed = rounds.present(connection), group.terms(connection)
    if here is None or here.sealed_key is None:
        raise Refused("stale-round", "no round is open")
    start = group.by_hash(connection, here.model_hash)
    if start is None:
        raise Refused("unavailable", "the round's model is missing")
    method = group.method_of(agreed)
    return Expectation(here, vault.decrypt(here.sealed_key), agreed, method, method.sent(start.model.theta))


LARGEST_BATCH = 256
Keep = Callable[[Sequence[Offer]], Sequence[Accepted | Refused]]
"""stores them durably in one transaction and answers each"""


class _Waiting(Struct):
    offer: Offer
    answer: Future[Accepted]


class Writer(Struct, eq=False):
    """One thread that writes updates down; start it before use, stop it after the last request.

    A request hands over a checked offer and waits for its answer, which comes only after the transaction is on disk;
    the thread takes whatever has gathered meanwhile into the next transaction. Several server processes on one
    PostgreSQL each have their own thread; the database orders them.
    """

    keep: Keep
    afterwards: Callable[[Sequence[Accepted | Refused]], None] = lambda answers: None
    """what the answers of a transaction make due, once they are given and before the next one; raises nothing"""
    _queue: queue.SimpleQueue[_Waiting | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None
    settled: threading.Event = field(default_factory=threading.Event)
    """not set while a round is closed after its last answer: waiting for it shows the next round"""

    def __post_init__(self) -> None:
        self.settled.set()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="update writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, then end; what comes later is refused."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with contextlib.suppress(queue.Empty):
            while True:
                late = self._queue.get_nowait()
                if late is not None:
                    late.answer.set_exception(Refused("unavailable"))

    def submit(self, offer: Offer) -> Future[Accepted]:
        """A future of the answer; Refused, or whatever keeping raised, is its exception."""
        waiting = _Waiting(offer, Future())
        if self._thread is None:
            waiting.answer.set_exception(Refused("unavailable"))
        else:
            self._queue.put(waiting)
        return waiting.answer

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            if batch:
                self._write(batch)

    def _next_batch(self) -> tuple[list[_Waiting], bool]:
        """What has gathered, at least one; and whether to go on afterwards."""
        batch: list[_Waiting] = []
        waiting = self._queue.get()
        while waiting is not None:
            batch.append(waiting)
            if len(batch) == LARGEST_BATCH or self._queue.empty():
                return batch, True
            waiting = self._queue.get()
        return batch, False

    def _write(self, gathered: list[_Waiting]) -> None:
        # Requests that gave up meanwhile are left out; those in the batch cannot give up any more.
        batch = [waiting for waiting in gathered if waiting.answer.set_running_or_notify_cancel()]
        try:
            answers = self.keep([waiting.offer for waiting in batch])
        except Exception as error:  # each request tells it; the thread serves the next ones
            for waiting in batch:
                waiting.answer.set_exception(error)
            return
        self.settled.clear()
        for waiting, answer in zip(batch, answers, strict=True):
            if isinstance(answer, Refused):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
        try:
            self.afterwards(answers)
        finally:
            self.settled.set()


class Received(Struct, frozen=True, eq=False):
    """What arrived, in the order of the pseudonyms, so that every server adds up alike."""

    devices: tuple[str, ...]
    thetas: FloatMatrix
    """[n_clients, n_sent]"""
    n_interactions: FloatVector
    """[n_clients] as the devices said; 0 for an update that the guard left out"""

    def only(self, devices: set[str]) -> Received:
        """The part that came from these devices."""
        rows = [row for row, device in enumerate(self.devices) if device in devices]
        return Received(tuple(self.devices[row] for row in rows), self.thetas[rows], self.n_interactions[rows])


def read_received(connection: Connection, vault: Vault, method: FPDGD, lineage: int, number: int) -> Received:
    """What devices sent in round `number` of a lineage."""
    query = select(updates.c.device, updates.c.payload, updates.c.left_out)
    query = query.where(updates.c.lineage == lineage, updates.c.round == number)
    rows = connection.execute(query.order_by(updates.c.device)).all()
    messages = [decode_message(method, vault.decrypt(bytes(row.payload))) for row in rows]
    return Received(
        tuple(row.device for row in rows),
        np.array([message.theta for message in messages]).reshape(len(rows), method.n_sent),
        np.array(
            [0 if row.left_out else message.n_interactions for row, message in zip(rows, messages, strict=True)],
            dtype=np.float64,
        ),
    )


def norms(connection: Connection, lineage: int, number: int) -> dict[str, float]:
    """||theta_c - theta_t|| of each device in a round whose updates are still kept."""
    query = select(updates.c.device, updates.c.norm).where(updates.c.lineage == lineage, updates.c.round == number)
    return {row.device: row.norm for row in connection.execute(query)}


def agreement(deltas: FloatMatrix) -> float:
    """||mean of the unit vectors||: 1 when all updates point the same way, about 1/sqrt(n) when they do by chance.

    0 where there are none.
    """
    if not len(deltas):
        return 0.0
    norms = np.linalg.norm(deltas, axis=1, keepdims=True)
    return float(np.linalg.norm((deltas / np.where(norms > 0, norms, 1.0)).mean(axis=0)))
