r"""A click model: users who open the first results whatever they are, and judge only further down.

foltr-search --simulate sample --with examples/trusting.py \
    --set "users.clicks={model='trusting', attraction=[0, 0.5, 1]}"

A model says with what probability a result of a grade is opened [1, n_grades], ends the page once it is opened
[1, n_grades], and is looked at by its rank [1, k].
"""

import numpy as np

from simulation import ClickModel, Users


class Trusting(ClickModel, frozen=True, tag="trusting"):
    """Ranks below `trusted` are looked at half as often."""

    attraction: tuple[float, ...]
    trusted: int = 3

    def users(self, *, n_grades, n_clients, k, rng):
        looked_at = np.where(np.arange(k) < self.trusted, 1.0, 0.5)
        return Users(np.array([self.attraction]), np.zeros((1, n_grades)), looked_at[None, :])


CLICK_MODELS = {"trusting": Trusting}
