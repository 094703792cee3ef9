"""The simulated users of FedIPS: every user looks at results with a position bias of its own.

    P(click) = P(look) for a relevant document, 0.1 * P(look) for any other         (Li and Ouyang 2021, Eq. 11)
    P(look at rank r) = (1 / r)^gamma_u,   gamma_u ~ N(gamma, 0.1) without what lies below 0     (Section 4)

Relevant are grades 3 and 4 of 0 to 4. For other scales we take the upper two as well, but never 0: 1 and 2 of 0 to 2.
Whether 0.1 is a variance or a standard deviation is not said; we take it as the standard deviation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foltr.errors import ValueRangeError
from simulation.click_models import make_users
from simulation.users import Users

NOISE = 0.1
"""how often a document that is not relevant is clicked when it is looked at"""
SPREAD = 0.1
"""standard deviation of gamma between users"""
PAGE = 5
"""K: results on a page"""


def fedips_users(
    gamma: float, *, n_clients: int, top_grade: int, rng: np.random.Generator, k: int = PAGE, spread: float = SPREAD
) -> Users:
    """`n_clients` users on pages of `k` results; ValueRangeError as in `make_users`, or for top_grade < 1."""
    if top_grade < 1:
        raise ValueRangeError(f"top_grade must be at least 1, not {top_grade}")
    lookers = make_users("pbm", top_grade=1, n_clients=n_clients, k=k, rng=rng, eta=gamma, spread=spread)
    click = np.where(np.arange(top_grade + 1) >= max(1, top_grade - 1), 1.0, NOISE)
    return replace(lookers, click=click, stop=np.zeros(top_grade + 1))
