"""Does it help? Where opened results stood in the learned order and in plain BM25, over time.

An outcome is two ranks, a time and a source; nothing in it says what was searched or opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from app.store import StateError, Store, trim
from foltr.online.interleaving import sign_test

LEARNED, BM25 = "learned", "bm25"
"""the two teams of interleaving"""
MAX_OUTCOMES = 50_000


class Outcome(NamedTuple):
    """One opened result."""

    time: float
    """seconds since the epoch"""
    rank_learned: int
    """1 for the first; 0 when it was not among the candidates of that order"""
    rank_bm25: int
    source: str
    """where it was opened: "screen", "command" """
    winner: str | None = None
    """of an interleaved page: LEARNED or BM25; None for a tie and for pages that were not interleaved"""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stretch of time."""

    start: float
    """seconds since the epoch"""
    n: int
    """opened results"""
    mrr_learned: float
    """mean reciprocal rank"""
    mrr_bm25: float
    first_learned: float
    """share that stood at rank 1"""
    first_bm25: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of interleaving so far."""

    wins_learned: int
    wins_bm25: int
    p_value: float
    """two-sided sign test: how often chance alone would give so clear a result"""


def record(store: Store, outcome: Outcome) -> None:
    """Keep one outcome, durable on return; the oldest go beyond 50,000."""
    if outcome.rank_learned < 0 or outcome.rank_bm25 < 0 or outcome.winner not in (None, LEARNED, BM25):
        raise StateError(f"an outcome has ranks from 0 and a winner of {LEARNED}, {BM25} or none, not {outcome}")
    with store.transaction() as db:
        db.execute(
            "INSERT INTO outcomes (time, rank_learned, rank_bm25, source, winner) VALUES (?, ?, ?, ?, ?)", outcome
        )
        trim(db, "outcomes", MAX_OUTCOMES)


def read(store: Store, *, since: float = 0.0) -> tuple[Outcome, ...]:
    """All outcomes from a time on, oldest first."""
    sql = "SELECT time, rank_learned, rank_bm25, source, winner FROM outcomes WHERE time >= ? ORDER BY time, id"
    return tuple(map(Outcome._make, store.rows(sql, (since,))))


def clear(store: Store) -> None:
    store.erase("outcomes")


def buckets(outcomes: Iterable[Outcome], *, seconds: float) -> tuple[Bucket, ...]:
    """Outcomes by stretches of so many seconds, counted from the epoch, oldest first; empty stretches are left out."""
    ordered = sorted(outcomes, key=lambda o: o.time)
    grouped = groupby(ordered, key=lambda o: int(o.time // seconds))
    return tuple(_bucket(number * seconds, list(group)) for number, group in grouped)


def overall(outcomes: Iterable[Outcome]) -> Bucket | None:
    """All outcomes as one stretch; None when there are none."""
    everything = list(outcomes)
    return _bucket(min(o.time for o in everything), everything) if everything else None


def comparison(outcomes: Iterable[Outcome]) -> Comparison:
    """Which team of interleaving won more pages, and how sure that is."""
    winners = [outcome.winner for outcome in outcomes]
    learned, bm25 = winners.count(LEARNED), winners.count(BM25)
    return Comparison(learned, bm25, sign_test(learned, bm25))


def _bucket(start: float, outcomes: list[Outcome]) -> Bucket:
    learned, bm25 = [o.rank_learned for o in outcomes], [o.rank_bm25 for o in outcomes]
    return Bucket(
        start=start,
        n=len(outcomes),
        mrr_learned=fmean(map(_reciprocal, learned)),
        mrr_bm25=fmean(map(_reciprocal, bm25)),
        first_learned=learned.count(1) / len(learned),
        first_bm25=bm25.count(1) / len(bm25),
    )


def _reciprocal(rank: int) -> float:
    return 1.0 / rank if rank else 0.0
