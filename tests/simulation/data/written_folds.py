"""Small folds written as the data sets' owners write them."""

from __future__ import annotations

import gzip
from pathlib import Path


def lines(first: int, queries: int, *, width: int = 46, grade: int = 1) -> str:
    """Queries `first`, ... of two documents each; feature 1 of a document is its query, the last is 1."""
    return "".join(f"{g} qid:{q} 1:{q} {width}:1\n" for q in range(first, first + queries) for g in (grade, 0))


def write_folds(folder: Path, count: int, ending: str = ".txt", *, width: int = 46, grade: int = 1) -> None:
    for number in range(1, count + 1):
        fold = folder / f"Fold{number}"
        fold.mkdir(parents=True)
        for part, first in (("train", 100), ("vali", 200), ("test", 300)):
            text = lines(first * number, 3, width=width, grade=grade).encode()
            (fold / f"{part}{ending}").write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
