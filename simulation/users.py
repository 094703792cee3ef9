"""Simulated users as numbers: what the cascade and the position-based click models have in common.

A user looks at the results from the top. At rank r a document of grade g is opened with probability
click[g] * examination[client, r]; after an opened result the user stops with probability stop[g]. The cascade model
has examination 1 everywhere; the position-based model never stops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, FloatVector


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """The probabilities of a population of users."""

    click: FloatVector
    """[n_grades]"""
    stop: FloatVector
    """[n_grades]"""
    examination: FloatVector
    """[n_clients, k], or [1, k] when all users look alike"""

    @property
    def k(self) -> int:
        """How many results a page shows."""
        return int(self.examination.shape[1])

    def clicks(self, grades: npt.NDArray[np.int8], client: int, rng: np.random.Generator) -> BoolVector:
        """Which of the shown results `[k']`, k' <= k, `client` opens; `grades` are in ranked order.

        Draws, in this order and no others: one `rng.random()` for each result looked at, and one more after each
        opened result whose stop[g] is above 0.
        """
        looks = self.examination[client if len(self.examination) > 1 else 0]
        opened = np.zeros(len(grades), dtype=np.bool_)
        for rank, grade in enumerate(grades):
            if rng.random() < self.click[grade] * looks[rank]:
                opened[rank] = True
                if self.stop[grade] > 0 and rng.random() < self.stop[grade]:
                    break
        return opened
