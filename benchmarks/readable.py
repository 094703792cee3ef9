"""Which files of a folder can be searched: by format, how many have words, how many fail with a reason, at what cost.

Every file goes through the same worker processes and limits as when it is indexed. A file counts as searchable if a
document in it has a word. CPU is the time of reading and analysing, in milliseconds a file.

    python -m benchmarks readable [FOLDER ...]      (default: the shared folders of odd and of old Office files)
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.collections import shared_folder
from benchmarks.running import arguments
from benchmarks.tables import Table, machine
from indexer.confined.pool import WorkerPool
from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.kinds import extract_file
from indexer.extract.source import Limits

_WORD = re.compile(r"\w\w+")


class Reading(msgspec.Struct, frozen=True):
    """What one file gave."""

    n_words: int
    has_notes: bool
    cpu_ms: float


def read(path: str, limits: Limits) -> Reading:
    """Read one file in a worker and count."""
    began = time.process_time()
    found = extract_file(path, limits)
    n_words = sum(len(_WORD.findall(document.text)) for document in found.documents)
    return Reading(n_words, bool(found.notes), 1e3 * (time.process_time() - began))


def entries(folders: list[Path]) -> Iterator[FileEntry]:
    """All regular files below `folders`."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                about = path.stat()
                yield FileEntry(str(path), about.st_size, about.st_mtime_ns, about.st_dev, about.st_ino)


def measure(folders: list[Path]) -> tuple[Table, list[str]]:
    """(a row by format, a line for every file without a word)."""
    by_format: dict[str, list[Reading | ExtractionError]] = defaultdict(list)
    silent: list[str] = []
    with WorkerPool(read, n_workers=1, seconds=60, memory_mb=1024) as pool:
        for entry, outcome in pool.run(entries(folders)):
            by_format[Path(entry.path).suffix.lower().removeprefix(".")].append(outcome)
            if isinstance(outcome, ExtractionError):
                silent.append(f"{Path(entry.path).name}: {outcome.kind}: {outcome}")
            elif not outcome.n_words:
                silent.append(f"{Path(entry.path).name}: no word{', which it says' if outcome.has_notes else ''}")
    table = Table(("format", "files", "searchable", "no word", "failures", "words", "CPU ms a file"))
    for name, found in [*sorted(by_format.items()), ("all", [one for each in by_format.values() for one in each])]:
        readings = [one for one in found if isinstance(one, Reading)]
        n_words = sum(one.n_words for one in readings)
        n_found = sum(one.n_words > 0 for one in readings)
        cpu = sum(one.cpu_ms for one in readings) / max(len(readings), 1)
        table.add(
            name, len(found), n_found, len(readings) - n_found, len(found) - len(readings), f"{n_words:,}", f"{cpu:.1f}"
        )
    return table, sorted(silent)


def main() -> None:
    folders = arguments(__doc__, folders=[Path]).folders or [
        shared_folder() / "data" / name for name in ("files", "legacy-office")
    ]
    table, silent = measure(folders)
    print(machine(), table, "\n".join(silent), sep="\n\n")
