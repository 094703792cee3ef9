"""Team-draft interleaving: two rankers share one page, and clicks say which of them its user prefers.

Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM 2008, Section 5.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from foltr.arrays import IntVector
from foltr.errors import ShapeError, ValueRangeError

FIRST, SECOND = 0, 1
"""The two teams, as they appear in `Interleaved.owner`."""


class Interleaved(Struct, frozen=True, eq=False):
    """One page made by two rankers."""

    ranking: IntVector
    """[k] rows, best first, without repetition"""
    owner: IntVector
    """[k] which ranker placed it: FIRST or SECOND"""


def team_draft(first: Sequence[int], second: Sequence[int], *, k: int, rng: np.random.Generator) -> Interleaved:
    """At most k rows, taken in turns: the team with fewer places goes next, a coin decides when they are equal.

    Each team takes its best row that is not yet placed; a team that has run out leaves the rest to the other.
    """
    rankings = (list(first), list(second))
    for rows in rankings:
        if len(set(rows)) != len(rows):
            raise ValueRangeError("a ranking names a row twice")
    placed: dict[int, int] = {}
    sizes, positions = [0, 0], [0, 0]
    while len(placed) < k:
        available = [team for team in (FIRST, SECOND) if _advance(rankings[team], positions, team, placed)]
        if not available:
            break
        team = _whose_turn(available, sizes, rng)
        placed[rankings[team][positions[team]]] = team
        sizes[team] += 1
    return Interleaved(np.array(list(placed), dtype=np.intp), np.array(list(placed.values()), dtype=np.intp))


def _advance(rows: list[int], positions: list[int], team: int, placed: dict[int, int]) -> bool:
    """Move the team's position to its next row that is not placed; False when there is none."""
    while positions[team] < len(rows) and rows[positions[team]] in placed:
        positions[team] += 1
    return positions[team] < len(rows)


def _whose_turn(available: list[int], sizes: list[int], rng: np.random.Generator) -> int:
    coin = int(rng.integers(2))
    if len(available) == 1:
        return available[0]
    return coin if sizes[FIRST] == sizes[SECOND] else (FIRST if sizes[FIRST] < sizes[SECOND] else SECOND)


def winner(owner: npt.ArrayLike, clicks: npt.ArrayLike) -> int | None:
    """The team whose places got more clicks, None for a tie (and for a page without clicks)."""
    team, clicked = np.asarray(owner), np.asarray(clicks, dtype=np.bool_)
    if team.shape != clicked.shape:
        raise ShapeError(f"clicks must be {list(team.shape)} as the owners are, not {list(clicked.shape)}")
    for_first = int(np.sum(clicked & (team == FIRST)))
    for_second = int(np.sum(clicked & (team == SECOND)))
    if for_first == for_second:
        return None
    return FIRST if for_first > for_second else SECOND


def sign_test(wins_first: int, wins_second: int) -> float:
    """Two-sided exact p-value of the hypothesis that both teams are equally good; ties are left out.

    p = min(1, 2 * sum_{i <= min} C(n, i) / 2^n), n = wins_first + wins_second. 1 without any win.
    """
    if wins_first < 0 or wins_second < 0:
        raise ValueRangeError(f"wins cannot be negative: {wins_first}, {wins_second}")
    n, fewer = wins_first + wins_second, min(wins_first, wins_second)
    term = total = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        total += term
    return min(1.0, 2 * total / (1 << n))
