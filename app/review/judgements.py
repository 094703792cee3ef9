"""The judgements of each review in the state file: each is on the disk before the next document is shown.

A document is known by what was read of it, so that a judgement goes along where a file moves, and one that has changed
is unread again. Paths and titles are kept for the report alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from app.store import Store
from foltr.errors import FoltrError

Answer = Literal["yes", "no", "later"]


class ReviewError(FoltrError):
    """A review cannot be gone on with; the message says why."""


class Judgement(NamedTuple):
    """One answer of a person."""

    identity: bytes
    """a hash of what was read: type, title and text, or of the path where there is no text"""
    path: str
    part: str
    title: str
    answer: Answer
    time: float
    """seconds since the epoch"""


class StoredReview(NamedTuple):
    number: int
    started: float
    """seconds since the epoch"""
    query: str
    n_found: int
    n_judged: int


class JudgementBook:
    """All reviews of one device."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def reviews(self) -> Sequence[StoredReview]:
        """The newest first."""
        rows = self._store.rows("SELECT id, started, query FROM reviews ORDER BY id DESC")
        return [StoredReview(number, started, query, *self._counts(number)) for number, started, query in rows]

    def _counts(self, number: int) -> tuple[int, int]:
        """How many were found, and read."""
        answers = [one.answer for one in self.of(number)]
        return answers.count("yes"), len(answers) - answers.count("later")

    def review(self, number: int) -> StoredReview:
        """ReviewError where there is none of that number."""
        for one in self.reviews():
            if one.number == number:
                return one
        raise ReviewError(f"there is no review {number}; `foltr-search review --list` shows those that are there")

    def number_of(self, query: str, *, begun: bool = False) -> int:
        """The number of the review of this query, a new one where there is none; ReviewError if it must be `begun`.

        Of no query it is that of the newest.
        """
        with self._store.transaction() as db:
            for (number,) in db.execute("SELECT id FROM reviews WHERE ? IN (query, '') ORDER BY id DESC", (query,)):
                return int(number)
            if begun:
                of = f" of {query!r}" if query else ""
                raise ReviewError(f"no review{of} was begun; `foltr-search review --list` shows those that were")
            row = (time.time(), query)
            return int(db.execute("INSERT INTO reviews (started, query) VALUES (?, ?)", row).lastrowid or 0)

    def of(self, number: int, *, after: int = 0) -> list[Judgement]:
        """The judgements that stand, in the order in which they were made; of one document the last.

        Those `after` that row alone.
        """
        rows = self._store.rows(
            "SELECT identity, path, part, title, answer, time FROM judgements WHERE id IN"
            " (SELECT max(id) FROM judgements WHERE review = ? GROUP BY identity) AND id > ? ORDER BY id",
            (number, after),
        )
        return [Judgement(bytes(row[0]), os.fsdecode(row[1]), *row[2:]) for row in rows]

    def add(self, number: int, judgement: Judgement) -> None:
        """Durable when this returns."""
        row = (number, *judgement._replace(path=os.fsencode(judgement.path)))  # type: ignore[arg-type]
        with self._store.transaction() as db:
            db.execute(
                "INSERT INTO judgements (review, identity, path, part, title, answer, time)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)", row,
            )  # fmt: skip

    def take_back(self, number: int) -> bool:
        """Undo the last judgement; False where there is none."""
        with self._store.transaction() as db:
            last = "SELECT max(id) FROM judgements WHERE review = ?"
            return db.execute(f"DELETE FROM judgements WHERE id = ({last})", (number,)).rowcount > 0

    def take_untaught(self, number: int) -> list[Judgement]:
        """What was found to matter since this was last called; inside the caller's transaction."""
        with self._store.transaction() as db:
            rows = db.execute("SELECT taught FROM reviews WHERE id = ?", (number,)).fetchall()
            newest = db.execute("SELECT max(id) FROM judgements WHERE review = ?", (number,)).fetchone()[0] or 0
            db.execute("UPDATE reviews SET taught = ? WHERE id = ?", (newest, number))
            return [one for one in self.of(number, after=int(rows[0][0])) if one.answer == "yes"]

    def forget(self, number: int) -> None:
        """The review and all that was judged in it."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM judgements WHERE review = ?", (number,))
            db.execute("DELETE FROM reviews WHERE id = ?", (number,))
        self._store.erase()
