"""`foltr-search index`, asked of the process that follows changes: its catalogue is open and its reader at work.

It does what the command would do alone: remembers the folders that were named, looks at everything below all of them,
indexes what changed, says how far it is and what it did, in the same words. It looks itself, whatever its watches told,
so what they missed is not missed. A call that it cannot answer so (other settings, another version) goes back at once.

Over the line: the question, an empty message that it begins, then messages of parts (app.resident.protocol) until one
holds the exit code. An empty message from the caller asks it to stop.
"""

from __future__ import annotations

import io
import os
import select
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.cli import describe
from app.commands.command import FAILED, INTERRUPTED
from app.following.progress_lines import ProgressWriter, summarise
from app.resident import protocol
from app.resident.answering import BadQuestion, Question
from app.resident.asking import QUIET, folders_to_index
from app.resident.local_socket import MAX_QUESTION, LineError, LocalLine, LocalListener, index_socket_path
from indexer.errors import IndexDamaged, IndexerError

if TYPE_CHECKING:
    from app.following.indexing import FollowersWork
    from indexer.progress import Progress


QUESTION_SECONDS = 2.0
"""for a whole question to come"""
TAKING_SECONDS = 10.0
"""without a byte taken of what is said; who takes nothing is gone"""
MAX_CALLS = 8
"""at once; those beyond it work alone, and find the index locked"""
WORK = frozenset({"scanning", "indexing", "merging", "meaning"})
"""phases that a command shows"""


class _CallersScreen(io.TextIOBase):
    """The caller's stderr."""

    def __init__(self, call: IndexCall) -> None:
        self._call = call

    def isatty(self) -> bool:
        return self._call.question.terminals[1]

    def write(self, text: str) -> int:
        self._call.send(protocol.ERR, text.encode(self._call.question.encodings[1].split()[0], "backslashreplace"))
        return len(text)


@dataclass(eq=False)
class IndexCall:
    """One command that waits for its work to be done here."""

    question: Question
    line: LocalLine
    stop: threading.Event = field(default_factory=threading.Event)
    """it was asked to stop, or is gone"""
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.screen = _CallersScreen(self)
        self.progress = ProgressWriter(
            self.screen, quiet=not QUIET.isdisjoint(self.question.arguments), columns=self.question.columns
        )  # fmt: skip

    @property
    def folders(self) -> list[str]:
        """Those that are to be followed from now on."""
        named = folders_to_index(self.question.arguments) or []
        return [os.path.join(os.fsdecode(self.question.folder), one) for one in named]

    def send(self, kind: bytes, content: bytes) -> None:
        try:
            self.line.send(protocol.part(kind, content))
        except (OSError, LineError):
            self.stop.set()

    def say(self, line: str) -> None:
        """As app.commands.command.say."""
        self.screen.write(f"foltr-search: {line}\n")

    def end(self, kind: bytes, content: bytes) -> None:
        """The last that is said."""
        self.send(kind, content)
        self.over.set()


class IndexDesk:
    """Takes calls in threads of its own; they are answered by whoever follows changes, between two of its turns."""

    def __init__(self, data_dir: Path) -> None:
        self._path = Path(index_socket_path(str(data_dir)))
        self._guard = threading.Lock()
        self._calls: list[IndexCall] = []
        self._listener: LocalListener | None = None
        self.asked = threading.Event()
        """set while calls wait"""

    def open(self) -> None:
        """Listen; whoever does holds the lock of those that follow changes. Without it commands work alone."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._path.parent.chmod(0o700)
        with suppress(OSError, LineError):
            self._listener = LocalListener(str(self._path))
            threading.Thread(target=self._listen, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Send everybody away, to work alone."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        self.decline()

    def relay(self, progress: Progress) -> None:
        """Show those that wait what is done meanwhile; what is noted of the watching is not their matter."""
        if progress.phase in WORK:
            progress = msgspec.structs.replace(progress, note="")
            for call in list(self._calls):
                call.progress.show(progress)

    def decline(self) -> None:
        """Have all that wait work alone."""
        for call in self._taken():
            call.progress.__exit__()
            call.end(protocol.ALONE, b"")
            self._forget(call)

    def answer(self, work: FollowersWork) -> None:
        """Do what is asked, one call after another; raises IndexDamaged, with the callers sent away."""
        for call in self._taken():
            try:
                if not call.stop.is_set():
                    self._do(call, work)
            except IndexDamaged:
                self.decline()
                raise
            finally:
                call.over.set()
                self._forget(call)

    def _do(self, call: IndexCall, work: FollowersWork) -> None:
        if not (work.would_do(call.question.variables) and work.choose(call.folders)):
            call.end(protocol.ALONE, b"")
            return
        try:
            with call.progress:
                summary = work.update(call.stop)
            for said in summarise(summary):
                call.say(said)
            if not call.stop.is_set():
                with call.progress:
                    made = work.read_for_meaning(call.stop)
                if made:
                    call.say(made)
            call.end(protocol.CODE, b"%d" % (INTERRUPTED if call.stop.is_set() else 0))
        except IndexDamaged:
            raise
        except IndexerError as error:
            call.say(describe(error))
            call.end(protocol.CODE, b"%d" % FAILED)

    def _taken(self) -> list[IndexCall]:
        with self._guard:
            self.asked.clear()
            return list(self._calls)

    def _forget(self, call: IndexCall) -> None:
        with self._guard:
            self._calls = [one for one in self._calls if one is not call]

    def _listen(self, listener: LocalListener) -> None:
        while self._listener is listener:
            try:
                select.select([listener], [], [], 1.0)
                line = listener.accept()
            except (OSError, ValueError):
                return  # it was closed
            if line is not None:
                threading.Thread(target=self._hear, args=(line,), daemon=True).start()

    def _hear(self, line: LocalLine) -> None:
        """Take one question, then listen for the wish to stop until the call is over."""
        try:
            line.connection.settimeout(QUESTION_SECONDS)
            question = Question.decode(line.receive(MAX_QUESTION))
            if question.version == protocol.identity() and folders_to_index(question.arguments) is not None:
                line.connection.settimeout(TAKING_SECONDS)
                self._stand(line, question)
        except (OSError, LineError, BadQuestion):
            pass
        finally:
            line.close()

    def _stand(self, line: LocalLine, question: Question) -> None:
        call = IndexCall(question, line)
        with self._guard:
            if len(self._calls) >= MAX_CALLS or self._listener is None:
                return
            line.send(b"")
            self._calls.append(call)
            self.asked.set()
        while not call.over.is_set():
            try:
                line.receive(0)
                call.stop.set()
            except TimeoutError:
                continue
            except (OSError, LineError):  # it is gone
                call.stop.set()
                call.over.wait()
