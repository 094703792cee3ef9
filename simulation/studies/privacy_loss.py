"""What one privatised MaxRR reveals about the query: the epsilon of FOLtR-ES, Section 6.1 and Table 2.

    epsilon = max over ranked lists q1, q2 and values f of  ln P(answer = f | q1) / P(answer = f | q2)     (Eq. 9)

over every placement of the grades in a list, for users of a click model; the bound for any user at all is Eq. 10. The
maximum over pairs is, for each value, the largest logarithm less the smallest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix
from foltr.errors import ValueRangeError
from foltr.federated.foltr_es import answers_distribution
from simulation.rounds.click_models import Users
from simulation.studies import Ground, Measured

TABLE_LENGTH = 5
"""documents in the lists of Table 2, whose MaxRR therefore has 6 values"""


def max_rr_distribution(users: Users, grades: npt.ArrayLike) -> FloatMatrix:
    """P(no click), then P(the highest click is at rank r) for r = 1..n: `[n_lists, n + 1]` for grades `[n_lists, n]`.

    All users must look alike, and look at n results as long as they open none; ValueRangeError when they do not.
    """
    lists = np.atleast_2d(np.asarray(grades))
    n = lists.shape[1]
    if users.n_behaviours != 1 or users.k < n or users.leave[0] > 0:
        raise ValueRangeError(f"one kind of user who looks at {n} results is needed")
    clicked = users.click[0][lists] * users.examination[0, :n]
    before = np.cumprod(np.concatenate([np.ones((len(lists), 1)), 1.0 - clicked], axis=1), axis=1)
    return np.concatenate([before[:, -1:], before[:, :-1] * clicked], axis=1)


def privacy_loss(users: Users, *, truth_probability: float, length: int = TABLE_LENGTH) -> float:
    """The epsilon of one privatised MaxRR over all lists of `length` documents.

    inf when the truth is always told and some list excludes a value that another allows.
    """
    lists = np.array(list(product(range(users.n_grades), repeat=length)))
    told = answers_distribution(max_rr_distribution(users, lists), truth_probability=truth_probability)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(told.max(axis=0)) - np.log(told.min(axis=0))
    return float(np.nanmax(loss))


class PrivacyLoss(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The epsilon of one privatised MaxRR of the cell's users (FOLtR-ES, Table 2); asks no query."""

    truth_probability: float
    """p"""
    length: Annotated[int, msgspec.Meta(ge=1, le=8)] = TABLE_LENGTH
    """documents in a list; all grades in all places are tried"""

    def measure(self, ground: Ground) -> Iterator[Measured]:
        """One row, `epsilon`."""
        loss = privacy_loss(ground.population.users, truth_probability=self.truth_probability, length=self.length)
        yield Measured({"epsilon": loss})
