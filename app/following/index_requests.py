"""`foltr-search index`, done by the process that follows changes: its catalogue is open, and it reads files already.

It does what the command would do alone: remembers the folders that were named, looks at everything below all of them,
indexes what changed, says how far it is and what it did, in the same words. It scans, whatever its watches reported, so
that what they missed is found. With `--quiet` the command does not wait for reading for meaning, which goes on here. A
request that it cannot answer like that (other settings, another version) goes back at once.

Over the line: the question, an empty message to say that work begins, then messages of parts (app.resident.protocol)
until one holds the exit code. An empty message from the asking command stops the work.
"""

from __future__ import annotations

import io
import os
import select
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from app.commands.command import FAILED, INTERRUPTED, error_line
from app.following.progress_lines import ProgressWriter, summarise
from app.resident import protocol
from app.resident.command_runner import BadQuestion, Question
from app.resident.local_socket import MAX_QUESTION, LineError, LocalLine, LocalListener, index_socket_path
from app.resident.resident_client import QUIET, folders_to_index
from indexer.errors import IndexDamaged, IndexerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from indexer.progress import Progress
    from indexer.watch import Scan

QUESTION_SECONDS = 2.0
"""allowed for a whole question to arrive"""
TAKING_SECONDS = 10.0
"""allowed without the command taking a byte of what is sent; after that it counts as gone"""
MAX_REQUESTS = 8
"""at once; further ones work alone, and find the index locked"""
WORK = frozenset({"scanning", "indexing", "merging", "meaning"})
"""phases that a command shows"""


class IndexWork(Protocol):
    """What the follower of changes does for an asking command, besides the scan."""

    def is_theirs(self, variables: Mapping[str, str]) -> bool: ...
    def choose(self, folders: Sequence[str]) -> bool: ...
    def read_for_meaning(self, stop: threading.Event, *, is_waited_for: bool) -> str: ...


class _AskersScreen(io.TextIOBase):
    """The stderr of the asking command."""

    def __init__(self, request: IndexRequest) -> None:
        self._request = request

    def isatty(self) -> bool:
        return self._request.question.terminals[1]

    def write(self, text: str) -> int:
        self._request.send(
            protocol.ERR, text.encode(self._request.question.encodings[1].split()[0], "backslashreplace")
        )
        return len(text)


@dataclass(eq=False)
class IndexRequest:
    """One command that waits for its work to be done here."""

    question: Question
    line: LocalLine
    stop: threading.Event = field(default_factory=threading.Event)
    """set when the command asked to stop, or is gone"""
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.screen = _AskersScreen(self)
        self.progress = ProgressWriter(self.screen, quiet=self.is_quiet, columns=self.question.columns)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody would see that it waits: then it waits until words can be searched, not for meaning."""
        return not QUIET.isdisjoint(self.question.arguments)

    @property
    def folders(self) -> list[str]:
        """The folders that are to be followed from now on."""
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
        """Send the last part."""
        self.send(kind, content)
        self.over.set()


class IndexRequests:
    """Takes requests in threads of its own; the follower of changes answers them between two of its turns."""

    def __init__(self, data_dir: Path) -> None:
        self._path = Path(index_socket_path(str(data_dir)))
        self._guard = threading.Lock()
        self._waiting: list[IndexRequest] = []
        self._listener: LocalListener | None = None
        self.asked = threading.Event()
        """set while requests wait"""

    def __enter__(self) -> IndexRequests:
        """Listen, as the holder of the lock for following changes. Where listening fails, commands work alone."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._path.parent.chmod(0o700)
        with suppress(OSError, LineError):
            self._listener = LocalListener(str(self._path))
            threading.Thread(target=self._listen, args=(self._listener,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Send everybody away, to work alone."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        self.decline()

    def show(self, progress: Progress) -> None:
        """Show waiting commands what is done meanwhile, without notes about watching, which do not concern them."""
        if progress.phase in WORK:
            progress = msgspec.structs.replace(progress, note="")
            for request in list(self._waiting):
                request.progress.show(progress)

    def decline(self) -> None:
        """Send all waiting commands away, to work alone."""
        for request in self._taken():
            request.progress.__exit__()
            request.end(protocol.ALONE, b"")
            self._forget(request)

    def answer(self, work: IndexWork, scan: Scan) -> None:
        """Do what is asked, one request after another; on IndexDamaged, sends the waiting away and raises it."""
        for request in self._taken():
            try:
                if not request.stop.is_set():
                    self._do(request, work, scan)
            except IndexDamaged:
                self.decline()
                raise
            finally:
                request.over.set()
                self._forget(request)

    def _do(self, request: IndexRequest, work: IndexWork, scan: Scan) -> None:
        if not (work.is_theirs(request.question.variables) and work.choose(request.folders)):
            request.end(protocol.ALONE, b"")
            return
        try:
            with request.progress:
                summary = scan(request.stop)
            for said in summarise(summary):
                request.say(said)
            if not request.stop.is_set():
                with request.progress:
                    made = work.read_for_meaning(request.stop, is_waited_for=not request.is_quiet)
                if made:
                    request.say(made)
            request.end(protocol.CODE, b"%d" % (INTERRUPTED if request.stop.is_set() else 0))
        except IndexDamaged:
            raise
        except IndexerError as error:
            request.say(error_line(error))
            request.end(protocol.CODE, b"%d" % FAILED)

    def _taken(self) -> list[IndexRequest]:
        with self._guard:
            self.asked.clear()
            return list(self._waiting)

    def _forget(self, request: IndexRequest) -> None:
        with self._guard:
            self._waiting = [one for one in self._waiting if one is not request]

    def _listen(self, listener: LocalListener) -> None:
        while self._listener is listener:
            try:
                select.select([listener], [], [], 1.0)
                line = listener.accept()
            except (OSError, ValueError):
                return  # the listener was closed
            if line is not None:
                threading.Thread(target=self._hear, args=(line,), daemon=True).start()

    def _hear(self, line: LocalLine) -> None:
        """Take one question, then listen for the wish to stop until the request is over."""
        with closing(line), suppress(OSError, LineError, BadQuestion):
            line.connection.settimeout(QUESTION_SECONDS)
            question = Question.decode(line.receive(MAX_QUESTION))
            if question.version == protocol.identity() and folders_to_index(question.arguments) is not None:
                line.connection.settimeout(TAKING_SECONDS)
                self._stand(line, question)

    def _stand(self, line: LocalLine, question: Question) -> None:
        request = IndexRequest(question, line)
        with self._guard:
            if len(self._waiting) >= MAX_REQUESTS or self._listener is None:
                return
            line.send(b"")
            self._waiting.append(request)
            self.asked.set()
        while not request.over.is_set():
            try:
                line.receive(0)
                request.stop.set()
            except TimeoutError:
                continue
            except (OSError, LineError):  # the command is gone
                request.stop.set()
                request.over.wait()
