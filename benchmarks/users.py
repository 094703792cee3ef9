"""Simulated users: cascade click models (thesis Tables 2.1 and 2.2) over one page of results.

A user looks from the top down, opens a result with a probability that depends on its grade, and after each opened
result stops with another one. The tables are for three and for five grades. A collection with binary judgements has
grades 0 and 1, of which 1 is the best there is: it behaves as grade 2 of Table 2.1. Grades 0 to 3 behave as
grades 0, 1, 2 and 4 of Table 2.2, so that the best are clicked as the table's best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PAGE = 10
"""results that a user sees"""

BoolVector = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ClickModel:
    """Probabilities by grade."""

    click: tuple[float, ...]
    """p(click = 1 | grade)"""
    stop: tuple[float, ...]
    """p(stop = 1 | click = 1, grade)"""


THREE_GRADES = {
    "perfect": ClickModel((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
    "navigational": ClickModel((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    "informational": ClickModel((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
}
"""thesis Table 2.1"""
FIVE_GRADES = {
    "perfect": ClickModel((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    "navigational": ClickModel((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    "informational": ClickModel((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
}
"""thesis Table 2.2"""
KINDS = tuple(THREE_GRADES)


def click_model(kind: str, *, top_grade: int) -> ClickModel:
    """The model of `kind` for grades 0 to `top_grade`, as the module describes; ValueError for other grades."""
    if top_grade not in (1, 2, 3, 4):
        raise ValueError(f"there are click models for 2 to 5 grades, not {top_grade + 1}")
    if kind not in KINDS:
        raise ValueError(f"no click model {kind!r}; there are {', '.join(KINDS)}")
    rows = {1: (0, 2), 2: (0, 1, 2), 3: (0, 1, 2, 4), 4: (0, 1, 2, 3, 4)}[top_grade]
    table = (THREE_GRADES if top_grade < 3 else FIVE_GRADES)[kind]
    return ClickModel(tuple(table.click[row] for row in rows), tuple(table.stop[row] for row in rows))


def clicks(model: ClickModel, grades: npt.ArrayLike, rng: np.random.Generator, *, k: int = PAGE) -> BoolVector:
    """Which of the first `k` results a user opens, `[min(k, n_docs)]`; `grades` are whole numbers in ranked order."""
    shown = np.asarray(grades, dtype=np.intp)[:k]
    opened = np.zeros(len(shown), dtype=np.bool_)
    for rank, grade in enumerate(shown.tolist()):
        if rng.random() < model.click[grade]:
            opened[rank] = True
            if rng.random() < model.stop[grade]:
                break
    return opened
