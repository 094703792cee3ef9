"""A small ClueWeb09 with intents, written as its owners write it."""

from __future__ import annotations

from pathlib import Path


def write_intents(root: Path) -> None:
    """Queries 1 to 4 in two parts, each with documents dQ-0 and dQ-1; the first is relevant, to intent Q alone."""
    folder = root / "ClueWeb09"
    (folder / "intents-published").mkdir(parents=True)
    for part, queries in ((1, (1, 2)), (2, (3, 4))):
        lines = [f"{3 * d} qid:{q} 1:0.{q}{d} 42:1 # docid = d{q}-{d} \n" for q in queries for d in (0, 1)]
        (folder / f"Fold{part}_test.txt").write_text("".join(lines))
    for intent in range(6):
        judged = [f"{q} {intent} d{q}-{d} {int(d == 0 and intent in (0, q))}\n" for q in range(1, 5) for d in (0, 1)]
        (folder / "intents-published" / f"{intent}.txt").write_text("".join(judged))
