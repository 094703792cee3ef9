"""Group commit: every request gets its own answer, and only after its transaction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from federation_server.authentication import Credentials
from federation_server.intake import Offer
from federation_server.refusals import Refused
from federation_server.writer import LARGEST_BATCH, Writer
from foltr.federated.wire import Accepted


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
