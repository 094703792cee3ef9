"""Where cells run: in this process, in worker processes of this machine, or on a Ray cluster.

An engine turns cells into events as they happen. All engines call the same `work`, and a cell has its own random
streams, so the rows do not depend on the engine, on how many workers it has, or on the order in which cells end.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from console.command_line import heard_interrupts
from console.extras import how_to_add
from simulation import THREAD_VARIABLES
from simulation.cells.cell import Cell
from simulation.errors import SimulationError

if TYPE_CHECKING:
    from simulation.run_folder import Row


class Started(Struct, frozen=True):
    """A worker has taken the cell up."""

    cell: str


class Advanced(Struct, frozen=True):
    """The cell has come to the end of a round; a few of these come every second."""

    cell: str
    round: int


class Compiled(Struct, frozen=True):
    """Machine code was made for the cell, and kept for all later ones."""

    cell: str
    seconds: float
    """that this took since the cell last said so"""


class Reported(Struct, frozen=True):
    """The cell has a row of results."""

    cell: str
    row: Row


class Finished(Struct, frozen=True):
    """The cell's last row has been reported."""

    cell: str
    seconds: float = 0.0
    """since it was started"""


class CellFailed(Struct, frozen=True):
    """The cell stopped with an error; its rows so far stand."""

    cell: str
    message: str


Event = Started | Compiled | Advanced | Reported | Finished | CellFailed
Work = Callable[[Cell], Iterable[Event]]
"""All events of one cell, ending with Finished or Failed; can be pickled (a function of a module, or a partial)"""


class Engine(Protocol):
    """Runs cells; closing the iterator stops them."""

    def run(self, cells: Sequence[Cell], work: Work) -> Generator[Event, None, None]: ...


class InProcess(Struct, frozen=True):
    """One cell after another, here."""

    def run(self, cells: Sequence[Cell], work: Work) -> Generator[Event, None, None]:
        with heard_interrupts() as heard:
            for event in (event for cell in cells for event in work(cell)):
                if heard.is_set():
                    raise KeyboardInterrupt  # which the cell took for an error of its own
                yield event


class Processes(Struct, frozen=True):
    """Several worker processes; each has a pipe of its own, so that one that dies takes nothing with it."""

    jobs: int
    first_alone: bool = False
    """whether the others wait until the first cell has done a round: what it compiles, they read"""

    def run(self, cells: Sequence[Cell], work: Work) -> Generator[Event, None, None]:
        context = multiprocessing.get_context("spawn")
        waiting = deque(cells)
        idle = [_Worker(context, work) for _ in range(min(self.jobs, len(cells)))]
        busy: dict[Any, _Worker] = {}
        try:
            for _ in range(1 if self.first_alone and idle else len(idle)):
                _hand_out(waiting, busy, idle.pop())
            while busy:
                for pipe in wait(list(busy)):
                    worker = busy[pipe]
                    event = worker.receive()
                    yield event
                    while idle and _past_a_round(event):
                        _hand_out(waiting, busy, idle.pop())
                    if isinstance(event, Finished | CellFailed):
                        del busy[pipe]
                        died = waiting and not worker.process.is_alive()
                        _hand_out(waiting, busy, _Worker(context, work) if died else worker)
        finally:
            for worker in (*busy.values(), *idle):
                worker.process.terminate()


class _Worker:
    """A process that waits for cells at the other end of a pipe."""

    def __init__(self, context: SpawnContext, work: Work) -> None:
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.cell = ""
        with _deaf():
            self.process.start()
        theirs.close()

    def receive(self) -> Event:
        """The next event; a worker that ended without a word failed its cell."""
        try:
            event: Event = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return CellFailed(self.cell, f"its worker process died with exit code {self.process.exitcode}")
        return event


@contextmanager
def _deaf() -> Iterator[None]:
    """What begins here never gets Ctrl-C, which reaches the whole group: the parent decides, and gets it later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it lets interrupts through once it has begun
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _past_a_round(event: Event) -> bool:
    """Whether the event tells that its cell has compiled what it needs."""
    reported = isinstance(event, Reported) and event.row.round > 0
    return reported or isinstance(event, Advanced | Finished | CellFailed)


def _hand_out(waiting: deque[Cell], busy: dict[Any, _Worker], worker: _Worker) -> None:
    """Give a free worker the next cell, or send it home."""
    if not waiting:
        worker.pipe.close()
        return
    cell = waiting.popleft()
    worker.cell = cell.id
    worker.pipe.send(cell)
    busy[worker.pipe] = worker


def _serve(pipe: Connection, work: Work) -> None:
    """A worker's life: cells in, events out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where nothing could be made deaf
    try:
        while True:
            for event in work(pipe.recv()):
                pipe.send(event)
    except (EOFError, BrokenPipeError):
        return


PATIENCE = 10.0
"""seconds in which a cluster should take a connection"""


class RayCluster(Struct, frozen=True):
    """An existing Ray cluster: `address` as Ray understands it ("auto" finds the one that this machine belongs to).

    Every node needs foltr-search and the data in the same place.
    """

    address: str = "auto"

    def run(self, cells: Sequence[Cell], work: Work) -> Generator[Event, None, None]:
        ray = self.connected()
        one_thread = {"env_vars": dict.fromkeys(THREAD_VARIABLES, "1")}
        task = ray.remote(num_cpus=1, max_retries=0, runtime_env=one_thread)(_stream)
        running: dict[Any, str] = {task.options(num_returns="streaming").remote(work, cell): cell.id for cell in cells}
        try:
            while running:
                (stream,), _ = ray.wait(list(running), num_returns=1, fetch_local=False)
                event = _next_event(ray, stream, running[stream])
                yield event
                if isinstance(event, Finished | CellFailed):
                    del running[stream]
        finally:
            for stream in running:
                ray.cancel(stream, force=True)

    def connected(self) -> Any:
        """The module ray, connected; SimulationError when Ray or the cluster is not there."""
        try:
            import ray
        except ModuleNotFoundError as error:
            raise SimulationError(f"--engine ray needs Ray: {how_to_add('cluster')}") from error
        if not ray.is_initialized():
            place = self.address if self.address != "auto" else os.environ.get("RAY_ADDRESS") or self.address
            try:
                _knock(place)
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, ValueError) as error:
                raise SimulationError(
                    f"no Ray cluster at {place!r} that lets us in: `ray start --head` starts one, RAY_ADDRESS names it "
                    "as HOST:PORT, and with RAY_AUTH_MODE=token RAY_AUTH_TOKEN must be the cluster's"
                ) from error
            except RuntimeError as error:  # other versions of Ray or Python there
                raise SimulationError(f"the Ray cluster at {place!r} refuses us: {error}") from error
        return ray


def _knock(place: str) -> None:
    """OSError or ValueError where nobody listens at HOST:PORT, which Ray itself finds out after minutes."""
    if place in ("auto", "local") or "://" in place:
        return
    host, _, port = place.rpartition(":")
    socket.create_connection((host, int(port)), timeout=PATIENCE).close()


def _stream(work: Work, cell: Cell) -> Iterator[Event]:
    yield from work(cell)


def _next_event(ray: Any, stream: Any, cell: str) -> Event:
    """The next event of one cell; a task that Ray lost failed its cell."""
    try:
        event: Event = ray.get(next(stream))
    except StopIteration:
        return CellFailed(cell, "its task ended early")
    except ray.exceptions.RayError as error:
        return CellFailed(cell, f"Ray: {' '.join(str(error).split())}")
    return event


def make_engine(name: Literal["local", "ray"], jobs: int, *, first_alone: bool = False) -> Engine:
    """The engine of that name; one local job needs no worker process."""
    if name == "ray":
        return RayCluster()
    return Processes(jobs, first_alone) if jobs > 1 else InProcess()
