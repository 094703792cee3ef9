"""A lane runs jobs in order and forgets what was overtaken."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from app.tui.session import Lane


def _lane(errors: list[tuple[str, Exception]] | None = None) -> Lane:
    kept = errors if errors is not None else []
    return Lane("test", failed=lambda name, error: kept.append((name, error)))


def test_jobs_that_were_put_run_in_order() -> None:
    """Every job that is put runs, one after another."""
    done: list[int] = []
    lane = _lane()
    for number in range(20):
        lane.put(lambda number=number: done.append(number))
    lane.close(finish=True, seconds=120)
    assert done == list(range(20))


def test_replacing_drops_the_one_that_waits() -> None:
    """While one job runs, only the newest of those that replace each other is kept."""
    done: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        started.set()
        go_on.wait(120)
        done.append("slow")

    lane = _lane()
    lane.put(slow)
    started.wait(120)
    for name in ("a", "b", "c"):
        lane.replace(lambda name=name: done.append(name))
    go_on.set()
    lane.close(finish=True, seconds=120)
    assert done == ["slow", "c"]


def test_replacing_keeps_what_was_put() -> None:
    """Opening the index is put before the first question, and no question may drop it."""
    done: list[str] = []
    started, go_on = threading.Event(), threading.Event()
    lane = _lane()
    lane.put(lambda: (started.set(), go_on.wait(120)))
    started.wait(120)
    lane.put(lambda: done.append("open"))
    lane.replace(lambda: done.append("ask"))
    go_on.set()
    lane.close(finish=True, seconds=120)
    assert done == ["open", "ask"]


def test_a_failing_job_is_reported_and_the_lane_goes_on() -> None:
    """An error reaches the screen, and the next job still runs."""
    errors: list[tuple[str, Exception]] = []
    done: list[str] = []
    lane = _lane(errors)
    lane.put(lambda: [][0])
    lane.put(lambda: done.append("next"))
    lane.close(finish=True, seconds=120)
    assert done == ["next"]
    assert [(name, type(error)) for name, error in errors] == [("test", IndexError)]


def test_a_closed_lane_takes_no_jobs() -> None:
    """After closing nothing runs any more."""
    done: list[str] = []
    lane = _lane()
    lane.close(finish=True, seconds=120)
    lane.put(lambda: done.append("late"))
    lane.replace(lambda: done.append("later"))
    assert done == []


async def test_leaving_gives_up_what_is_drawn(stage: Any) -> None:
    """Nobody waits for the picture of a page that no one will see."""
    one, drawing, given_up = stage(), threading.Event(), []

    def draw() -> None:
        overtaken = session._overtaken
        drawing.set()
        given_up.append(overtaken.wait(120))

    async with one.searched("wind"):
        session = one.app.search_screen.session
        session._lanes["preview"].put(draw)
        await asyncio.to_thread(drawing.wait, 120)  # what only waits for its turn is not begun
        session.close()
        await asyncio.to_thread(session._lanes["preview"]._thread.join, 120)
    assert given_up == [True]
