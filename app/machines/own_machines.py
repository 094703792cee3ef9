"""This person's other machines, asked side by side while the own page is made.

Each tells first how many documents hold the words, and how long they are; with the sums of the others, each gives its
candidates the features that one index of all would give them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from app.document_to_open import copied_from
from app.external_programs import How, MachineError, is_plain
from app.machines import remote_messages as far
from app.machines.ssh_line import NothingThere, SshLine
from app.search.open_commit import Reading
from app.search.page import Found
from app.search.results import Hit, ResultPage, SearchRequest, Snippet
from app.search.shown_page import ShownPage
from app.settings import DevicesSettings
from console.printable import display_path
from indexer.query.nodes import Query
from indexer.retrieval.collection_statistics import CollectionStatistics, sum_of_statistics
from indexer.storage.catalogue import DocumentRow

A = TypeVar("A", bound=far.Message)
N_QUOTED = 10
"""results whose lines are asked for at once"""
AWAY_SECONDS = 60.0
"""without another try, after a machine gave no answer"""
FETCH_SECONDS = 60.0
"""for a file to come"""
NO_LINES = Snippet("", (), 0, 0)


class OwnMachines:
    """Lines to other machines, kept for the questions that follow; any thread may ask."""

    def __init__(self, settings: DevicesSettings) -> None:
        self._settings = settings
        self._lines: dict[str, SshLine] = {}
        self._away: dict[str, tuple[float, str]] = {}
        """until when, and why"""
        self._quoted: dict[tuple[int, tuple[str, ...], int], Snippet] = {}
        self._lock = threading.RLock()

    def close(self) -> None:
        """Hang up, also on one that is being waited for."""
        for line in list(self._lines.values()):
            line.end()
        with self._lock:
            for name in list(self._lines):
                self._drop(name)

    def together(
        self, request: SearchRequest, reading: Reading, typed: Query, times: tuple[float, float],
        own: Callable[[CollectionStatistics], Found],
    ) -> tuple[Found, list[far.FarFound], tuple[str, ...]]:  # fmt: skip
        """What is found here and there, each as of one collection; and a line for each machine that has no part.

        `times` are now and tonight, in seconds since the epoch; `own` looks here, with what the others hold.
        """
        narrowed = request.type, request.time
        ask = far.Ask(request.text, request.order, request.limit, *narrowed, *times, reading.languages)
        with self._lock, self._whole():
            self._quoted.clear()
            began, failed = time.monotonic(), dict[str, str]()
            asked = [name for name in dict.fromkeys(request.on) if self._begin(name, ask, failed)]
            here = reading.statistics(typed)
            parts = {name: known.statistics for name, known in self._hear_all(asked, far.Known, failed, began)}
            for name in parts:
                others = (part for other, part in parts.items() if other != name)
                self._lines[name].tell(far.Rank(sum_of_statistics([here, *others])))
            found, theirs = own(sum_of_statistics(parts.values())), []
            for name, table in self._hear_all(list(parts), far.FarTable, failed, began):
                try:
                    theirs.append(far.unpacked(name, table, len(found.candidates.concepts)))
                except MachineError as error:
                    self._fail(name, str(error), failed)
            return found, theirs, tuple(f"{name}: {why}" for name, why in failed.items())

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """Hang up where an error leaves answers unheard: they would be taken for those of the next question."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _begin(self, name: str, question: far.Message, failed: dict[str, str]) -> bool:
        until, why = self._away.get(name, (0.0, ""))
        if time.monotonic() < until:
            failed[name] = why
            return False
        try:
            self._line(name).tell(question)
        except MachineError as error:
            self._fail(name, str(error), failed)
            return False
        return True

    def _line(self, name: str) -> SshLine:
        """The line to a machine, a new one where there is none that is open."""
        if name in self._lines and not self._lines[name].is_open:
            self._drop(name)
        if name not in self._lines:
            self._lines[name] = SshLine(name, self._settings.ssh)
        return self._lines[name]

    def _hear_all(
        self, names: Sequence[str], kind: type[A], failed: dict[str, str], began: float, seconds: float = 0.0
    ) -> Iterator[tuple[str, A]]:
        """The answers that come so many seconds after `began`, for all questions that were asked then together."""
        seconds = max(seconds, self._settings.ask_seconds)
        for name in names:
            try:
                yield name, self._lines[name].hear(kind, began + seconds, seconds)
            except NothingThere as error:
                failed[name] = str(error)
            except MachineError as error:
                self._fail(name, str(error), failed)

    def _fail(self, name: str, why: str, failed: dict[str, str]) -> None:
        """A machine that failed is hung up on: what it says later answers nothing."""
        failed[name] = why
        self._away[name] = time.monotonic() + AWAY_SECONDS, why
        self._drop(name)

    def _drop(self, name: str) -> None:
        line = self._lines.pop(name, None)
        if line is not None:
            line.close()

    def _asked(self, name: str, question: far.Message, kind: type[A], seconds: float = 0.0) -> A:
        """The answer to one question; MachineError where there is none."""
        with self._lock:
            failed: dict[str, str] = {}
            is_asked, began = self._begin(name, question, failed), time.monotonic()
            answers = dict(self._hear_all([name], kind, failed, began, seconds)) if is_asked else {}
            if name not in answers:
                raise MachineError(f"{name}: {failed[name]}")
            return answers[name]

    def snippet(self, page: ResultPage, hit: Hit, width: int) -> Snippet:
        """The best lines of a result, with those of the next ones asked for; no line where the machine is gone."""
        with self._lock:
            if (hit.doc_id, page.words, width) not in self._quoted:
                near = page.hits[hit.rank - 1 : hit.rank - 1 + N_QUOTED]
                hits = [hit, *(other for other in near if other.machine == hit.machine and other != hit)]
                quote = far.Quote(
                    [far.id_there(one.doc_id) for one in hits], [one.passage for one in hits], page.words, width
                )  # fmt: skip
                try:
                    snippets = self._asked(hit.machine, quote, far.Quotes).snippets
                except MachineError:
                    snippets = []
                for one, lines in zip(hits, snippets, strict=False):
                    self._quoted[one.doc_id, page.words, width] = lines
            return self._quoted.get((hit.doc_id, page.words, width), NO_LINES)

    def text(self, machine: str, doc_id: int) -> str:
        """The text of a result; MachineError where it does not come."""
        return self._asked(machine, far.Read(far.id_there(doc_id)), far.FarText).text

    def text_or_why(self, machine: str, doc_id: int) -> tuple[str, str]:
        """Why there is no text, and the text."""
        try:
            return "", self.text(machine, doc_id)
        except MachineError as error:
            return str(error), ""

    def bring(
        self, visit: ShownPage, rank: int, how: How, data_dir: Path, *, whole: bool = True
    ) -> tuple[DocumentRow, How]:
        """Result `rank` of a page, which counts as opened where it lies: at the copy that came, and how to open that.

        Where no file comes its text is read. Without `whole` only where it lies is asked for. Raises MachineError.
        """
        machine = visit.machines[rank - 1]
        if how == "folder" and whole:
            raise MachineError(f"the folder of result {rank} is on {machine}; `open {rank} --print` says where")
        fetch = far.Fetch(far.id_there(visit.doc_ids[rank - 1]), visit.queries.get(machine, b""), whole)
        fetched = self._asked(machine, fetch, far.FarFile, FETCH_SECONDS)
        row = far.there(machine, fetched.row, fetched.path)
        if fetched.data is not None:
            return structs.replace(row, path=copied_from(row.path, fetched.data, data_dir)), how
        if whole and is_plain(row.type, row.part):
            raise MachineError(f"{display_path(row.path)} is too large to be brought here")
        return row, "pager" if whole and row.type != "site" else how
