"""A log of real searches: who asked which query when; its pages are in LETOR's format, joined by the query's id.

AOL4FOLTR (Gregoriadis, Kang, Pouwelse, CIKM 2025, arXiv 2508.12353; github.com/mg98/aol4foltr): 10,000 users of AOL in
spring 2006, metadata.csv and letor.txt. Each query has 20 candidates of which the one that was clicked has grade 1.
No page was shown in the order of the file: the candidates were found later, so a grade is what the user wanted, and
users of the click model "perfect" want it again.

The text has 55 GB; a study of few users needs few of its queries. So the log is read first (twice: to count, to keep),
then the text once from end to end, and what was asked for is kept (simulation.data.cache).
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
import numpy as np

from console.durable import replace_durably
from simulation.data.cache import Cache, chosen_folder, source_state
from simulation.data.letor import open_text
from simulation.errors import DataFileError, DatasetError

COLUMNS = ("qid", "user_id", "timestamp")
"""of metadata.csv; what was asked and what was found stand in others, which are not read"""


class SearchLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The queries of some users, the oldest first."""

    qids: tuple[str, ...]
    """[n_queries]"""
    askers: tuple[str, ...]
    """[n_queries] who asked each"""


def load_log(path: Path, *, users: int, without: Collection[str] = (), cache: Cache = "default") -> SearchLog:
    """`read_log`, remembered in the cache for as long as the file is not touched."""
    folder = chosen_folder(cache)
    if folder is None:
        return read_log(path, users=users, without=without)
    try:
        named = [*source_state(path), users, *sorted(without)]
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}") from error
    kept = folder / f"{hashlib.blake2b(msgspec.json.encode(named), digest_size=20).hexdigest()}.log.json"
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(kept.read_bytes(), type=SearchLog)
    log = read_log(path, users=users, without=without)
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        replace_durably(kept, msgspec.json.encode(log))
    return log


def read_log(path: Path, *, users: int, without: Collection[str] = ()) -> SearchLog:
    """The queries of the `users` who asked most, less those of `without` among them, in order of time.

    Of two who asked equally often, the one with the lower number comes first, as in pandas' nlargest; of two queries in
    one second, the one that is first in the file. DataFileError for a file that is not such a log; DatasetError when it
    has fewer users.
    """
    try:
        counts = Counter(user for _, user, _ in _entries(path))
        if len(counts) < users:
            raise DatasetError(f"data.users: {users} were asked for, {path} has {len(counts)}")
        most = sorted(counts, key=lambda user: (-counts[user], len(user), user))[:users]
        chosen = set(most) - set(without)
        entries = [entry for entry in _entries(path) if entry[1] in chosen]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataFileError(path, f"cannot be read: {error}") from error
    if not entries:
        raise DatasetError(f"data.without: nobody is left of the {users} users with most queries")
    order = np.argsort(np.array([time for _, _, time in entries]), kind="stable")
    return SearchLog(tuple(entries[i][0] for i in order), tuple(entries[i][1] for i in order))


def _entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """Query id, user and time of each line."""
    with open_text(path) as binary, io.TextIOWrapper(binary, encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        head = next(lines, [])
        missing = [name for name in COLUMNS if name not in head]
        if missing:
            raise DataFileError(path, f"a column {missing[0]} was expected, {', '.join(head[:8]) or 'nothing'} came")
        qid, user, time = (head.index(name) for name in COLUMNS)
        for line in lines:
            if len(line) != len(head):
                raise DataFileError(path, f"{len(head)} columns were expected, {len(line)} came", line=lines.line_num)
            yield line[qid], line[user], line[time]
