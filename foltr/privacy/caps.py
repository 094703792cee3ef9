"""What one page, one query, or one whole device can show through a clipped and noised update, as a proven bound.

A device's update of a round, when every page takes its step at the announced theta (FPDGD, update="batch"):

    g_p = step of page p at theta_t, projected to length `longest_step`           L
    h_q = sum of g_p over the round's pages of query q, projected to `longest_query`   Lq
    u_t = sum of h_q, projected to length `clip`                                  C;   sent: u_t + N(0, s^2 I)

A projection to a ball never moves two points further apart, and g_p depends on page p and theta_t alone. So

    u_t moves by at most    where it was absent    where anything else stands in its place
    one page                min(L, 2 Lq, 2 C)      min(2 L, 2 Lq, 2 C)
    all pages of a query    min(Lq, 2 C)           min(2 Lq, 2 C)
    the whole device        C                      2 C

Over T rounds the change shows with mu = change sqrt(T) / s: each round is a Gaussian shift whatever theta_t was and
however it came about, so the rounds compose adaptively (Dong, Roth and Su, JRSS B 2022, Theorem 3.2 and Corollary 3.3).
What follows from mu is in foltr.privacy.gaussian_accounting. Nothing better than 2 C holds where pages take their steps
one after another (update="each"): a page then moves the steps of all that follow. `Caps` with infinite caps says so.

What the proof takes as given: which pages were shown, in which order, in which round each teaches, and that a page
teaches once. That a device's own learning shows other pages later is outside of it. The noise is of standard deviation
s in what the attacker sees: of one device's own in an open group; in a sealed one of the sum, against the server and
fewer committee members than can open it, while at least n_honest devices that add their noise are in the list. Two
wordings are two queries: `n_queries` of them together move at most so many times as much. Cutting to the grid of
foltr.privacy.noise adds at most sqrt(d) 2^-20 to the mu of a round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from foltr.errors import ValueRangeError
from foltr.privacy.accounting import Neighbours


@dataclass(frozen=True, slots=True)
class Caps:
    """The lengths that hold one device's update in a round, L2; ValueRangeError for one that is not above 0."""

    clip: float
    """C, of the whole update"""
    longest_step: float = math.inf
    """L, of one page; infinite where nothing holds it"""
    longest_query: float = math.inf
    """Lq, of all pages of one query in a round; infinite where nothing holds it"""
    n_pages: int | None = None
    """pages in a round, at most; None: any number"""

    def __post_init__(self) -> None:
        for name in ("clip", "longest_step", "longest_query"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueRangeError(f"{name} must be above 0, not {value}")
        if self.n_pages is not None and self.n_pages < 1:
            raise ValueRangeError(f"a round has at least one page, not {self.n_pages}")

    def page(self, neighbours: Neighbours) -> float:
        """By how much one page moves the update."""
        one = self.longest_step if neighbours == "zero-out" else 2 * self.longest_step
        return min(one, 2 * self._query, 2 * self.clip)

    def query(self, neighbours: Neighbours, n_queries: int = 1) -> float:
        """By how much all pages of one query, or of `n_queries`, move the update of one round."""
        if n_queries < 1:
            raise ValueRangeError(f"wanted one query at least, not {n_queries}")
        one = self._query if neighbours == "zero-out" else 2 * self._query
        return min(n_queries * one, 2 * self.clip)

    def device(self, neighbours: Neighbours) -> float:
        """By how much all that the device did moves its update."""
        return self.clip if neighbours == "zero-out" else 2 * self.clip

    @property
    def _query(self) -> float:
        """How far the pages of one query move the update together: each at most L, where Lq does not hold them."""
        return self.longest_query if self.n_pages is None else min(self.longest_query, self.n_pages * self.longest_step)


def mu_of(change: float, *, noise: float, n_rounds: int = 1) -> float:
    """change sqrt(n_rounds) / noise: what a `change` in each of so many rounds shows under noise of that deviation."""
    if not noise > 0 or not change >= 0 or n_rounds < 0:
        raise ValueRangeError(f"a change of {change} under noise of {noise} in {n_rounds} rounds makes no sense")
    return change * math.sqrt(n_rounds) / noise
