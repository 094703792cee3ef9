"""The resident process: it takes calls one after another, answers them, and ends when asked to or idle.

One thread and no child process per question: an open search answers sooner than a fork could, and what is global to
the process (variables, folder, streams) is swapped around each question. No caller can hold it up: questions must come,
and answers must be taken, within seconds, and neither may be large.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Event

from msgspec import Struct, field

import app
from app.resident import command_runner, protocol
from app.resident.local_socket import MAX_QUESTION, LocalLine, LocalListener, socket_path
from app.resident.on_behalf import keep_searches
from app.resident.resident_client import is_brief
from foltr.errors import FoltrError
from indexer.storage.file_lock import FileLock

QUESTION_SECONDS = 2.0
"""allowed for a whole question to arrive"""
TAKING_SECONDS = 10.0
"""allowed without the caller taking a byte of its answer"""
MAX_CALLERS = 32
"""at once; further ones are sent away, and work alone"""
LOOK_SECONDS = 30.0
"""between two looks at whether the socket still stands"""
PROGRAM = ("app", "console", "foltr", "indexer")
PROGRAM_SECONDS = 1.0
"""between two looks at the program's files"""
LOCK_FILE = "lock"
BEGINS = (0).to_bytes(4, "big")
"""the empty message"""


def take_place(data_dir: Path) -> FileLock:
    """The lock of the one resident process of a data folder; it goes with the process, however that ends.

    Raises FoltrError when another process holds it.
    """
    folder = Path(socket_path(str(data_dir))).parent
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    lock = FileLock(folder / LOCK_FILE)
    if not lock.take():
        who = lock.read() or "it has just started"
        lock.close()
        raise FoltrError(f"a resident process answers already ({who})")
    lock.write(f"process {os.getpid()}")
    return lock


def is_replaced(since: float) -> bool:
    """Whether a file that was loaded was put in its place after `since` (seconds since 1970), as by an update."""
    loaded = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] in PROGRAM]
    try:
        return any(os.stat(module.__file__).st_ctime > since for module in loaded if module.__file__)
    except OSError:
        return True


class _Caller(Struct):
    """One connection: the part of its question that has come, and the part of its answer still to send."""

    line: LocalLine
    deadline: float
    came: bytearray = field(default_factory=bytearray)
    to_send: memoryview | None = None


class ResidentServer(Struct):
    """Answers calls until `stop` is set, or nobody has called for `idle_seconds` (0: for ever)."""

    data_dir: Path
    stop: Event
    idle_seconds: float = 0.0
    inherited: int = -1
    """a listening socket that systemd opened"""
    prepare: Callable[[], None] = lambda: None
    """called once before the first call is taken, to load what nobody should have to wait for later"""
    ready: Callable[[], None] = lambda: None
    """called once when calls are taken"""
    look: Callable[[], None] = lambda: None
    """called from time to time"""
    n_answered: int = 0
    started: float = field(default_factory=time.time)
    superseded: bool = False
    """whether another version of the program works here"""
    _callers: dict[int, _Caller] = field(default_factory=dict)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _last: float = field(default_factory=time.monotonic)
    _compared: float = 0.0
    """when the program's files were last looked at"""

    def run(self) -> None:
        """Listen and answer; raises FoltrError when another process does, OSError when it cannot listen."""
        with closing(take_place(self.data_dir)), keep_searches():
            try:
                self.prepare()
                with closing(LocalListener(socket_path(str(self.data_dir)), inherited=self.inherited)) as listener:
                    self._selector.register(listener, selectors.EVENT_READ)
                    self.ready()
                    with _woken_by_signals(self._selector):
                        self._loop(listener)
            finally:
                for caller in list(self._callers.values()):
                    self._hang_up(caller)
                self._selector.close()

    def _loop(self, listener: LocalListener) -> None:
        looked = self._last = time.monotonic()
        while not self.stop.is_set() and not self._may_leave():
            began = time.monotonic()  # so questions that came during an answer are not taken as too late
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is listener:
                    self._take(listener)
                elif key.fd in self._callers:
                    self._turn(self._callers[key.fd])
            for caller in [one for one in self._callers.values() if began > one.deadline]:
                self._hang_up(caller)
            if began - looked > LOOK_SECONDS:
                looked = began
                self.look()
                if not listener.stands:
                    return

    def _patience(self) -> float:
        """How long to wait for the next event."""
        until = [LOOK_SECONDS, *(caller.deadline - time.monotonic() for caller in self._callers.values())]
        if self.idle_seconds:
            until.append(self._last + self.idle_seconds - time.monotonic())
        return max(min(until), 0.0) + 0.01

    def _may_leave(self) -> bool:
        idle = self.idle_seconds and time.monotonic() - self._last >= self.idle_seconds
        return not self._callers and bool(idle or self.superseded)

    def _take(self, listener: LocalListener) -> None:
        while (line := listener.accept()) is not None:
            if len(self._callers) >= MAX_CALLERS:
                line.close()
                continue
            self._callers[line.fileno()] = _Caller(line, time.monotonic() + QUESTION_SECONDS)
            self._selector.register(line, selectors.EVENT_READ)

    def _turn(self, caller: _Caller) -> None:
        try:
            if caller.to_send is None:
                self._hear(caller)
            if caller.to_send is not None:
                self._tell(caller)
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, command_runner.BadQuestion):
            self._hang_up(caller)

    def _hear(self, caller: _Caller) -> None:
        content = caller.line.connection.recv(1 << 16)
        if not content:
            raise command_runner.BadQuestion("it ended early")
        caller.came += content
        length = int.from_bytes(caller.came[:4], "big")
        if len(caller.came) < 4:
            return
        if length > MAX_QUESTION or len(caller.came) > length + 4:
            raise command_runner.BadQuestion(f"wanted at most {MAX_QUESTION} bytes, got {length}")
        if len(caller.came) == length + 4:
            message = bytes(caller.came[4:])
            self.superseded |= protocol.is_of_another_version(message)
            question = command_runner.Question.decode(message)
            caller.line.connection.send(BEGINS)  # OSError where the caller has gone to work alone
            answer = self._answer(question)
            caller.to_send = memoryview(len(answer).to_bytes(4, "big") + answer)
            caller.deadline = time.monotonic() + TAKING_SECONDS
            self._selector.modify(caller.line, selectors.EVENT_WRITE)

    def _tell(self, caller: _Caller) -> None:
        assert caller.to_send is not None
        n_sent = caller.line.connection.send(caller.to_send)
        caller.to_send = caller.to_send[n_sent:]
        caller.deadline = time.monotonic() + TAKING_SECONDS
        if not caller.to_send:
            self._hang_up(caller)

    def _hang_up(self, caller: _Caller) -> None:
        with suppress(KeyError):
            self._selector.unregister(caller.line)
        self._callers.pop(caller.line.fileno(), None)
        caller.line.close()

    def _answer(self, question: command_runner.Question) -> bytes:
        if question.wanted == protocol.STOP:
            self.stop.set()
            return command_runner.text(f"process {os.getpid()}\n")
        if question.wanted == protocol.STATUS:
            return command_runner.text(self._status())
        if time.monotonic() - self._compared > PROGRAM_SECONDS:
            self._compared = time.monotonic()
            self.superseded |= is_replaced(self.started)
        if self.superseded or question.version != protocol.identity():
            self.superseded |= question.version.count(b" ") > 2  # the form in which each version names itself
            return command_runner.alone("another version of the program")
        if not is_brief(question.arguments, question.variables):
            return command_runner.alone("not a command that ends by itself")
        self._last = time.monotonic()
        self.n_answered += 1
        return command_runner.answer(question)

    def _status(self) -> str:
        since = datetime.fromtimestamp(self.started).strftime("%Y-%m-%d %H:%M")
        leaves = f", leaves after {self.idle_seconds / 60:g} idle minutes" if self.idle_seconds else ""
        return f"process {os.getpid()} since {since}, version {app.VERSION}, {self.n_answered:,} answered{leaves}"


@contextmanager
def _woken_by_signals(selector: selectors.BaseSelector) -> Iterator[None]:
    """Within the block a signal ends the wait for events, so that what its handler asked for is seen at once."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    selector.register(heard, selectors.EVENT_READ)
    before = signal.set_wakeup_fd(told)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        selector.unregister(heard)
        os.close(heard)
        os.close(told)
