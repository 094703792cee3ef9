"""Does learning help? The ranks of what was opened, told in numbers and one small plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from app.tui.wording import count

BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class RankRow:
    """One opened result: where the learned order had it, and where plain BM25 would have had it."""

    time: float
    """seconds since the epoch"""
    learned: int
    bm25: int


def mean_reciprocal_rank(ranks: Sequence[int]) -> float:
    """The mean of 1 / rank, 0 for no ranks."""
    return sum(1 / rank for rank in ranks if rank > 0) / len(ranks) if ranks else 0.0


def share_at_first(ranks: Sequence[int]) -> float:
    """How many of the ranks are 1, in [0, 1]."""
    return sum(rank == 1 for rank in ranks) / len(ranks) if ranks else 0.0


def columns_of(ranks: Sequence[int], n_columns: int) -> list[float]:
    """The mean reciprocal rank in `n_columns` stretches of equal length, oldest first."""
    n_columns = max(1, min(n_columns, len(ranks)))
    edges = [round(i * len(ranks) / n_columns) for i in range(n_columns + 1)]
    return [mean_reciprocal_rank(ranks[a:b]) for a, b in pairwise(edges)]


def plot(values: Sequence[float], height: int) -> list[str]:
    """Columns of blocks for values in [0, 1], `height` lines, the top line first."""
    lines = []
    for level in range(height - 1, -1, -1):
        filled = [max(0.0, min(1.0, value * height - level)) for value in values]
        lines.append("".join(BLOCKS[round(part * 8)] for part in filled))
    return lines


def stats_text(rows: Sequence[RankRow], width: int) -> Text:
    """The whole screen as text."""
    text = Text()
    if not rows:
        text.append("Nothing was opened yet\n\n", style="bold")
        text.append("Each time you open a result, its place in the learned order is compared with its place in BM25.\n")
        return text
    learned, bm25 = [row.learned for row in rows], [row.bm25 for row in rows]
    ours, theirs = mean_reciprocal_rank(learned), mean_reciprocal_rank(bm25)
    text.append(verdict(ours, theirs, len(rows)) + "\n\n", style="bold")
    text.append(f"{'':30}{'learned':>10}{'BM25':>10}\n", style="dim")
    text.append(f"{'mean reciprocal rank':30}{ours:10.2f}{theirs:10.2f}\n")
    text.append(f"{'opened at place 1':30}{share_at_first(learned):10.0%}{share_at_first(bm25):10.0%}\n")
    text.append(f"{'mean place':30}{sum(learned) / len(rows):10.1f}{sum(bm25) / len(rows):10.1f}\n\n")
    for name, ranks in (("learned", learned), ("BM25", bm25)):
        text.append(f"{name}: mean reciprocal rank over time, oldest on the left\n", style="dim")
        for line in plot(columns_of(ranks, max(8, width - 6)), 4):
            text.append(f"  {line}\n")
        text.append("\n")
    return text


def verdict(ours: float, theirs: float, n_opened: int) -> str:
    """One sentence that answers the question."""
    opened = count(n_opened, "opened result")
    if n_opened < 20:
        return f"Too early to say: {opened} so far."
    if ours > theirs * 1.02:
        return f"It helps: over {opened} the learned order did {ours / theirs - 1:.0%} better than BM25."
    if ours < theirs * 0.98:
        return f"It does not help yet: over {opened} BM25 alone would have done better."
    return f"It makes no difference yet, over {opened}."
