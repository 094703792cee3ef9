"""What one privatised MaxRR reveals about the query: the epsilon of FOLtR-ES, Section 6.1 and Table 2.

    epsilon = max over ranked lists q1, q2 and values f of  ln P(answer = f | q1) / P(answer = f | q2)     (Eq. 9)

over every placement of the grades in a list, for users of a click model; the bound for any user at all is Eq. 10. The
maximum over pairs is, for each value, the largest logarithm less the smallest.

`python -m simulation.studies.privacy_loss` prints the table.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix
from foltr.errors import ValueRangeError
from foltr.privacy.privatisation import answers_distribution, randomised_response_epsilon
from simulation.click_models import Users, make_users

TABLE_LENGTH = 5
"""documents in the lists of Table 2, whose MaxRR therefore has 6 values"""
TABLE_USERS = ("perfect", "navigational", "informational")
TABLE_PROBABILITIES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""p of Table 2"""


def max_rr_distribution(users: Users, grades: npt.ArrayLike) -> FloatMatrix:
    """P(no click), then P(the highest click is at rank r) for r = 1..n: `[n_lists, n + 1]` for grades `[n_lists, n]`.

    All users must look alike and look at n results; ValueRangeError when they do not.
    """
    lists = np.atleast_2d(np.asarray(grades))
    n = lists.shape[1]
    if users.n_behaviours != 1 or users.k < n:
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


def table_2() -> str:
    """Table 2 as text: a row for the bound of Eq. 10 and for each kind of user, a column for each p."""
    bounds = [randomised_response_epsilon(p, TABLE_LENGTH + 1) for p in TABLE_PROBABILITIES]
    rows = {"bound (Eq. 10)": bounds}
    for kind in TABLE_USERS:
        users = make_users(kind, top_grade=2)
        rows[kind] = [privacy_loss(users, truth_probability=p) for p in TABLE_PROBABILITIES]
    head = f"{'p':14}" + "".join(f"{p:7.2f}" for p in TABLE_PROBABILITIES)
    return "\n".join([head, *(f"{name:14}" + "".join(f"{loss:7.2f}" for loss in row) for name, row in rows.items())])


if __name__ == "__main__":
    print(table_2())
