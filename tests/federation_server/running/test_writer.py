"""Group commit: every request gets its own answer, and only after its transaction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from federation_server.group.signed_requests import Credentials
from federation_server.refusals import Refused
from federation_server.rounds.intake import LARGEST_BATCH, Offer, Writer
from foltr.federated.wire import Accepted
from tests.waiting import until


def offer(number: int) -> Offer:
    return Offer(Credentials(str(number), 0, "n" * 16, b""), 1, number, "d", b"", 0.0)


def test_everyone_gets_their_own_answer() -> None:
    """A thousand requests of sixteen threads are answered each for its own offer, in fewer batches."""
    batches: list[int] = []

    def keep(offers: Sequence[Offer]) -> list[Accepted | Refused]:
        batches.append(len(offers))
        return [Refused("stale-round") if o.round % 3 == 0 else Accepted(round=o.round, received=1) for o in offers]

    writer = Writer(keep)
    writer.start()

    def ask(number: int) -> int | str:
        try:
            return writer.submit(offer(number)).result(timeout=120).round
        except Refused as refused:
            return refused.reason

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(1000)))
    writer.stop()
    assert answers == ["stale-round" if n % 3 == 0 else n for n in range(1000)]
    assert sum(batches) == 1000
    assert max(batches) <= LARGEST_BATCH


def test_what_gathers_meanwhile_is_one_batch() -> None:
    """While one transaction waits for the disk, the next five requests become one."""
    first, go_on, batches = threading.Event(), threading.Event(), []

    def keep(offers: Sequence[Offer]) -> list[Accepted | Refused]:
        batches.append(len(offers))
        first.set()
        assert go_on.wait(120)
        return [Accepted(round=o.round, received=1) for o in offers]

    writer = Writer(keep)
    writer.start()
    answers = [writer.submit(offer(0))]
    assert first.wait(120)
    answers += [writer.submit(offer(number)) for number in range(5)]
    assert not answers[0].done()
    go_on.set()
    assert [answer.result(timeout=120).round for answer in answers] == [0, 0, 1, 2, 3, 4]
    writer.stop()
    assert batches == [1, 5]


def test_a_failing_database_fails_the_requests_and_not_the_thread() -> None:
    """The error reaches those who wait; the next request is served."""
    failures = [OSError("disk full")]

    def keep(offers: Sequence[Offer]) -> list[Accepted | Refused]:
        if failures:
            raise failures.pop()
        return [Accepted(round=o.round, received=1) for o in offers]

    writer = Writer(keep)
    writer.start()
    with pytest.raises(OSError, match="disk full"):
        writer.submit(offer(1)).result(timeout=120)
    assert writer.submit(offer(2)).result(timeout=120).round == 2
    writer.stop()
    with pytest.raises(Refused):
        writer.submit(offer(3)).result(timeout=120)


@dataclass(eq=False)
class Disk:
    """A disk that can be held up: each transaction waits until it may go on, and is noted."""

    batches: list[list[Offer]] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def keep(self, asked: Sequence[Offer]) -> list[Accepted | Refused]:
        self.batches.append(list(asked))
        self.begun.set()
        assert self.go_on.wait(120)
        return [Accepted(round=o.round, received=1) for o in asked]


def test_a_batch_has_at_most_so_many() -> None:
    """What gathered beyond 256 waits for the next transaction, in the order in which it came."""
    disk = Disk()
    writer = Writer(disk.keep)
    writer.start()
    writer.submit(offer(0))
    assert disk.begun.wait(120)
    answers = [writer.submit(offer(n)) for n in range(257)]
    disk.go_on.set()
    assert [answer.result(timeout=120).round for answer in answers] == list(range(257))
    writer.stop()
    assert [len(batch) for batch in disk.batches] == [1, 256, 1]


def test_who_gave_up_is_not_written() -> None:
    """A request that was cancelled while it waited is left out; one whose transaction has begun cannot be."""
    disk = Disk()
    writer = Writer(disk.keep)
    writer.start()
    first = writer.submit(offer(0))
    assert disk.begun.wait(120)
    given_up, waits = writer.submit(offer(1)), writer.submit(offer(2))
    assert given_up.cancel()
    assert not first.cancel()
    disk.go_on.set()
    assert waits.result(timeout=120).round == 2
    writer.stop()
    assert [[one.round for one in batch] for batch in disk.batches] == [[0], [2]]
    assert given_up.cancelled()


def test_a_reader_waits_for_what_an_answer_made_due() -> None:
    """Between the last answer and the end of what follows it `settled` is not set; before and after it is."""
    closing, go_on = threading.Event(), threading.Event()

    def close(_: Sequence[Accepted | Refused]) -> None:
        closing.set()
        assert go_on.wait(120)

    writer = Writer(lambda offers: [Accepted(round=o.round, received=1) for o in offers], close)
    assert writer.settled.is_set()
    writer.start()
    assert writer.submit(offer(1)).result(timeout=120).round == 1
    assert closing.wait(120)
    reader = threading.Thread(target=writer.settled.wait)
    reader.start()
    reader.join(0.2)
    assert reader.is_alive()
    go_on.set()
    reader.join(120)
    assert not reader.is_alive()
    writer.stop()


def test_stopping_writes_what_waits_and_refuses_what_comes_later() -> None:
    """What was handed over before the end is written, what came after it is refused; a stopped writer can start."""
    disk = Disk()
    writer = Writer(disk.keep)
    writer.start()
    answers: list[Future[Accepted]] = [writer.submit(offer(0))]
    assert disk.begun.wait(120)
    answers.append(writer.submit(offer(1)))
    stopping = threading.Thread(target=writer.stop)
    stopping.start()
    until(lambda: writer._queue.qsize() == 2)
    late = [writer.submit(offer(2)), writer.submit(offer(3))]
    disk.go_on.set()
    stopping.join(120)
    assert not stopping.is_alive()
    assert [answer.result(timeout=120).round for answer in answers] == [0, 1]
    for answer in (*late, writer.submit(offer(4))):
        with pytest.raises(Refused) as refused:
            answer.result(timeout=120)
        assert refused.value.reason == "unavailable"
    assert sum(len(batch) for batch in disk.batches) == 2
    writer.start()
    assert writer.submit(offer(5)).result(timeout=120).round == 5
    writer.stop()


def test_a_writer_that_was_never_started_takes_nothing() -> None:
    """Before the start requests are refused at once, and stopping does nothing."""
    writer = Writer(Disk().keep)
    writer.stop()
    with pytest.raises(Refused) as refused:
        writer.submit(offer(1)).result(timeout=120)
    assert refused.value.reason == "unavailable"


def test_what_follows_a_transaction_comes_after_its_answers_and_before_the_next() -> None:
    """`afterwards` gets the answers of each transaction that succeeded, when all who asked have theirs."""
    notes: list[object] = []
    asked: list[Future[Accepted]] = []
    handed_over, failures = threading.Semaphore(0), [OSError("disk full")]

    def keep(offers: Sequence[Offer]) -> list[Accepted | Refused]:
        assert handed_over.acquire(timeout=120)
        notes.append("keep")
        if len(asked) == 2:
            raise failures.pop()
        return [Accepted(round=one.round, received=1) for one in offers]

    def afterwards(answers: Sequence[Accepted | Refused]) -> None:
        notes.append(([answer.round for answer in answers if isinstance(answer, Accepted)], asked[-1].done()))

    def ask(number: int) -> Future[Accepted]:
        asked.append(writer.submit(offer(number)))
        handed_over.release()
        return asked[-1]

    writer = Writer(keep, afterwards)
    writer.start()
    assert ask(1).result(timeout=120).round == 1
    until(lambda: len(notes) == 2)
    with pytest.raises(OSError, match="disk full"):
        ask(2).result(timeout=120)
    assert ask(3).result(timeout=120).round == 3
    writer.stop()
    assert notes == ["keep", ([1], True), "keep", "keep", ([3], True)]
