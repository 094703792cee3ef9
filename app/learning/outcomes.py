"""Does it help? Where opened results stood in the learned order and in plain BM25, over time.

An outcome is two ranks, a time and a source; nothing in it says what was searched or opened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from app.store import StateError, Store, trim
from console.wording import count
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


class Bucket(Struct, frozen=True):
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


class Comparison(Struct, frozen=True):
    """The result of interleaving so far."""

    wins_learned: int
    wins_bm25: int
    p_value: float
    """two-sided sign test: how often chance alone would give so clear a result"""


class Lead(Struct, frozen=True):
    """By how many places opened results stood higher than plain BM25 would have put them."""

    n: int
    """opened results that both orders know"""
    places: float
    """mean; negative: they stood lower"""
    low: float
    high: float
    """a 95 % interval of the mean"""


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
    everything = list(outcomes)
    return _bucket(min(o.time for o in everything), everything) if everything else None


def comparison(outcomes: Iterable[Outcome]) -> Comparison:
    """Which team of interleaving won more pages, and how sure that is."""
    winners = [outcome.winner for outcome in outcomes]
    learned, bm25 = winners.count(LEARNED), winners.count(BM25)
    return Comparison(learned, bm25, sign_test(learned, bm25))


ENOUGH = 30
"""opened results from which on the interval is worth telling"""
DAY = 86_400.0
PLAIN = "plain word matching"
"""what BM25 is called where a person reads it"""


def lead(outcomes: Iterable[Outcome]) -> Lead | None:
    """The mean lead over BM25 with its interval; None for fewer than two results that both orders know.

    Openings of one day are alike, so the standard error is the larger one of that over openings and that over days.
    """
    known = [o for o in outcomes if o.rank_learned and o.rank_bm25]
    if len(known) < 2:
        return None
    places = np.array([o.rank_bm25 - o.rank_learned for o in known], dtype=np.float64)
    off = places - places.mean()
    days = np.bincount(np.unique([o.time // DAY for o in known], return_inverse=True)[1], weights=off)
    wide = 2.0 * max(float(np.sqrt(np.sum(part**2))) for part in (off, days)) / len(known)
    mean = float(places.mean())
    return Lead(len(known), mean, mean - wide, mean + wide)


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Whether learning helps, in one plain sentence."""
    found = lead(outcomes)
    n = found.n if found else len(outcomes)
    if found is None or n < ENOUGH:
        return f"Too early to say: {count(n, 'opening')}, about {ENOUGH} are needed."
    low, high = sorted((abs(found.low), abs(found.high)))
    between = f"between {low:.1f} and {high:.1f}, over {count(n, 'opening')}"
    if found.low > 0:
        return f"It helps: what you opened stood {_places(found.places)} higher than with {PLAIN} ({between})."
    if found.high < 0:
        return f"It does not help: what you opened stood {_places(found.places)} lower than with {PLAIN} ({between})."
    between = f"between {abs(found.low):.1f} lower and {found.high:.1f} higher, over {count(n, 'opening')}"
    return f"No difference to be seen yet: what you opened stood about where it would with {PLAIN} ({between})."


def caution(outcomes: Sequence[Outcome]) -> str:
    """What qualifies the verdict: the fair comparison where pages were shared, else why there is none."""
    found = comparison(outcomes)
    n = found.wins_learned + found.wins_bm25
    if not n:
        return (
            "People open what they see first, so this flatters the order that you see. "
            "With learning.interleave = true both orders share the page, and your clicks decide."
        )
    chance = "which chance alone does often" if found.p_value > 0.05 else "which chance alone hardly does"
    return (
        f"Of {count(n, 'page')} that both orders shared, the learned order won {found.wins_learned:,}"
        f" and {PLAIN} {found.wins_bm25:,}, {chance}."
    )


def _places(number: float) -> str:
    shown = f"{abs(number):.1f}"
    return "1 place" if shown == "1.0" else f"{shown} places"


def _bucket(start: float, outcomes: list[Outcome]) -> Bucket:
    learned, bm25 = [o.rank_learned for o in outcomes], [o.rank_bm25 for o in outcomes]
    return Bucket(
        start=start,
        n=len(outcomes),
        mrr_learned=math.fsum(map(_reciprocal, learned)) / len(outcomes),
        mrr_bm25=math.fsum(map(_reciprocal, bm25)) / len(outcomes),
        first_learned=learned.count(1) / len(learned),
        first_bm25=bm25.count(1) / len(bm25),
    )


def _reciprocal(rank: int) -> float:
    return 1.0 / rank if rank else 0.0
