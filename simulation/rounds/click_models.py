"""Click models of the literature, instantiated: what a user of each kind does with a document of each grade.

    cascade         look from the top; open a document of grade g with probability click[g], then stop with stop[g]
    position-based  open the document at rank r with probability click[g] * (1 / r)^eta, never stop: "pbm", "fedips"

Cascade: thesis Tables 2.1 (three grades), 2.2 (five grades) and 5.1 (poison). Position-based: thesis Section 4.5.1 with
eta in {0, .5, 1, 1.5, 2}; the attraction by grade is that of the published code, the perfect user's. FedIPS, Eq. 11:
click 1 for grades 3 and 4 of 4, .1 for the others, and every user has a bias eta (there gamma_s) of its own.

A user looks at the results from the top. At rank r a document of grade g is opened with probability click[g] *
examination[client, r]; after an opened result the user stops with probability stop[g], after one that was passed over
with leave. The cascade model has examination 1 everywhere; the position-based model never stops. Models by numbers of
your own are in `simulation.rounds.numbered_models`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arithmetic import normals, power
from foltr.arrays import BoolVector, FloatArray, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """The probabilities of a population of users; a behaviour is a row of each table, 1 row where all are alike."""

    click: FloatMatrix
    """[n_behaviours or 1, n_grades]"""
    stop: FloatArray
    """[n_behaviours or 1, n_grades] after an opened result; or, where the rank matters too, [.., n_grades, k]"""
    examination: FloatMatrix
    """[n_behaviours or 1, k]"""
    mixed: bool = False
    """whether each page has a behaviour drawn uniformly; else client c has behaviour c on all pages"""
    leave: FloatVector = field(default_factory=lambda: np.zeros(1))
    """[n_behaviours or 1] after a result that was looked at and not opened"""

    @property
    def k(self) -> int:
        """How many results a page shows."""
        return int(self.examination.shape[1])

    @property
    def n_grades(self) -> int:
        """How many grades the users know, counted from 0."""
        return int(self.click.shape[1])

    @property
    def n_behaviours(self) -> int:
        """1 where all pages of all users are alike."""
        return max(len(self.click), len(self.stop), len(self.examination), len(self.leave))

    @property
    def propensities(self) -> FloatMatrix:
        """P(a result is looked at) by rank `[n_behaviours or 1, k]`; where users are mixed, the mean of all."""
        return self.examination.mean(axis=0, keepdims=True) if self.mixed else self.examination

    @property
    def stop_by_rank(self) -> FloatArray:
        """`stop` as [n_behaviours or 1, n_grades, k]."""
        return self.stop if self.stop.ndim == 3 else np.repeat(self.stop[:, :, None], self.k, axis=2)

    def clicks(self, grades: npt.NDArray[np.int8], client: int, rng: np.random.Generator) -> BoolVector:
        """Which of the shown results `[k']`, k' <= k, `client` opens; `grades` are in ranked order.

        Draws, in this order and no others: one `rng.random()` for the behaviour where users are mixed; one for each
        result looked at, and one more after each where the probability to stop there is above 0.
        """
        behaviour = int(rng.random() * self.n_behaviours) if self.mixed else client
        tables: tuple[FloatArray, ...] = (self.click, self.stop, self.examination, self.leave)
        click, stop, looks, leave = (table[behaviour if len(table) > 1 else 0] for table in tables)
        opened = np.zeros(len(grades), dtype=np.bool_)
        for rank, grade in enumerate(grades):
            if rng.random() < click[grade] * looks[rank]:
                opened[rank] = True
            ends = (stop[grade] if stop.ndim == 1 else stop[grade, rank]) if opened[rank] else leave
            if ends > 0 and rng.random() < ends:
                break
        return opened

    def first(self, n_users: int) -> Users:
        """The first users alone, where each has a behaviour of its own; else all, who are alike."""
        return self if self.mixed or self.n_behaviours <= n_users else self.behaving(slice(n_users))

    def alone(self, behaviour: int) -> Users:
        return replace(self.behaving(slice(behaviour, behaviour + 1)), mixed=False)

    def behaving(self, rows: slice | IntVector) -> Users:
        """Those behaviours, of every table that has more than one."""
        tables = (self.click, self.stop, self.examination, self.leave)
        click, stop, looks, leave = (table[rows] if len(table) > 1 else table for table in tables)
        return replace(self, click=click, stop=stop, examination=looks, leave=leave)


class ByGrade(NamedTuple):
    """The cascade model's probabilities, one for each grade from 0."""

    click: tuple[float, ...]
    """P(click = 1 | looked at, grade)"""
    stop: tuple[float, ...]
    """P(stop = 1 | click = 1, grade)"""


THREE_GRADES = {
    "perfect": ByGrade((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
    "navigational": ByGrade((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    "informational": ByGrade((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
    "poison": ByGrade((1.0, 0.5, 0.0), (0.0, 0.0, 0.0)),
}
"""thesis Table 2.1; poison: Table 5.1, the numbers in brackets"""
FIVE_GRADES = {
    "perfect": ByGrade((0.0, 0.2, 0.4, 0.8, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
    "navigational": ByGrade((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    "informational": ByGrade((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    "poison": ByGrade((1.0, 0.8, 0.4, 0.2, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
}
"""thesis Table 2.2; poison: Table 5.1"""
TWO_GRADES = {
    "perfect": ByGrade((0.0, 1.0), (0.0, 0.0)),
    "navigational": ByGrade((0.05, 0.95), (0.2, 0.9)),
    "informational": ByGrade((0.3, 0.7), (0.1, 0.5)),
    "poison": ByGrade((1.0, 0.0), (0.0, 0.0)),
}
"""of the intents, in the published code of thesis Chapter 4 alone; poison: as in Table 5.1"""
Table = Literal["thesis", "intents"]
CASCADES = tuple(THREE_GRADES)
KINDS = (*CASCADES, "pbm", "fedips")
PAGE = 10
"""results on a page in the thesis and in FOLtR-ES"""

FEDIPS_SPREAD = 0.1
"""FedIPS, Section 5: gamma_s from "a left-truncated Gaussian N(gamma, 0.1)", read as its standard deviation"""

_CELLS = 1 << 20
"""users times pages that are worked on at once: 8 MiB of float64"""
TOP_GRADE = 4
"""the best grade that there are click models for"""
_ROWS = {1: (0, 2), 2: (0, 1, 2), 3: (0, 1, 2, 4), 4: (0, 1, 2, 3, 4)}
"""top grade -> rows of the table of three (up to grade 2) or five"""


def by_grade(kind: str, *, top_grade: int, table: Table = "thesis") -> ByGrade:
    """The cascade probabilities for grades 0 to `top_grade`, 1 to 4; ValueRangeError for others and unknown kinds.

    The tables are for three and for five grades. With binary judgements grade 1 is the best there is and behaves as
    grade 2 of Table 2.1; grades 0 to 3 behave as 0, 1, 2 and 4 of Table 2.2, so that the best is clicked as the table's
    best. "intents" is the published code's own table for binary judgements, which differs for informational users.
    """
    if top_grade not in _ROWS:
        raise ValueRangeError(f"there are click models for 2 to 5 grades, not {top_grade + 1}")
    if kind not in CASCADES:
        raise ValueRangeError(f"no cascade click model {kind!r}; there are {', '.join(CASCADES)}")
    if table == "intents":
        if top_grade != 1:
            raise ValueRangeError(f'users.table: "intents" is for 2 grades, not {top_grade + 1}')
        return TWO_GRADES[kind]
    whole, rows = (THREE_GRADES if top_grade < 3 else FIVE_GRADES)[kind], _ROWS[top_grade]
    return ByGrade(tuple(whole.click[row] for row in rows), tuple(whole.stop[row] for row in rows))


def make_users(
    kind: str,
    *,
    top_grade: int,
    n_clients: int = 1,
    k: int = PAGE,
    rng: np.random.Generator | None = None,
    eta: float | npt.ArrayLike = 1.0,
    spread: float | None = None,
    table: Table = "thesis",
) -> Users:
    """`n_clients` users of a kind, on pages of `k` results.

    For the position-based kinds, `eta` is one position bias for all or one for each client `[n_clients]`, and with a
    `spread` above 0 each client draws its own from the normal distribution around that with this standard deviation,
    drawn again while negative; None is 0 for "pbm" and .1 for "fedips". The cascade kinds know no position bias and
    ignore both. With other than five grades "fedips" opens those above half the top grade.
    ValueRangeError for an unknown kind, k below 1, a negative eta, or a spread without `rng`.
    """
    if k < 1 or n_clients < 1:
        raise ValueRangeError(f"k and n_clients must be at least 1, not {k} and {n_clients}")
    if kind not in KINDS:
        raise ValueRangeError(f"no click model {kind!r}; there are {', '.join(KINDS)}")
    if kind in CASCADES:
        grades = by_grade(kind, top_grade=top_grade, table=table)
        return Users(np.array([grades.click]), np.array([grades.stop]), np.ones((1, k)))
    if spread is None:
        spread = FEDIPS_SPREAD if kind == "fedips" else 0.0
    click = _attraction(kind, top_grade, table)[None, :]
    return Users(click, np.zeros_like(click), examination(_position_biases(eta, spread, n_clients, rng), k=k))


def in_turn(groups: Sequence[Users], n_clients: int) -> Users:
    """`n_clients` users of whom client c behaves as group c modulo the number of groups; pages of one length."""
    return _side_by_side([groups[client % len(groups)].alone(client) for client in range(n_clients)])


def last_ones(users: Users, others: Users, n_others: int, *, n_clients: int) -> Users:
    """`users` of whom the last `n_others` of `n_clients` behave as `others` do, who are all alike.

    ValueRangeError for mixed users, of whom no one has a behaviour of its own.
    """
    if n_others and users.mixed:
        raise ValueRangeError('users.mix: malicious users have a behaviour of their own, so "page" is not for them')
    honest = [users.alone(client) for client in range(n_clients - n_others)]
    return _side_by_side([*honest, *[others.alone(0)] * n_others]) if n_others else users


def _side_by_side(alone: Sequence[Users]) -> Users:
    """Users of one behaviour each as users of many."""
    by_rank = any(one.stop.ndim == 3 for one in alone)
    return Users(
        np.concatenate([one.click for one in alone]),
        np.concatenate([one.stop_by_rank if by_rank else one.stop for one in alone]),
        np.concatenate([one.examination for one in alone]),
        leave=np.concatenate([one.leave for one in alone]),
    )


def examination(eta: npt.ArrayLike, *, k: int) -> FloatArray:
    """P(the result at rank r = 1..k is looked at) = (1 / r)^eta for each eta `[n_clients]`: `[n_clients, k]`."""
    looked_at: FloatArray = 1.0 / power(np.arange(1.0, k + 1.0), np.asarray(eta, dtype=np.float64)[:, None])
    return looked_at


def expected_max_rr(users: Users, grades: npt.ArrayLike) -> FloatArray:
    """Expectation of MaxRR, 1 / rank of the highest click, for pages of grades in ranked order `[n_pages, k']`.

        E = sum_r (1 / r) p_r prod_{i < r} (1 - p_i) (1 - leave),   p_r = click[g_r] * examination[r]

    `[n_pages]`. Exact for all models: until the first click nobody stops except by leaving. Only the first `users.k`
    ranks are seen; negative grades mean that a page is shorter. It is the mean over all users. Used for Table 3 of
    FOLtR-ES, averaged over all queries. ShapeError unless pages are two-dimensional.
    """
    pages = np.asarray(grades)
    if pages.ndim != 2:
        raise ShapeError(f"grades must be [n_pages, k], not {list(pages.shape)}")
    if len(users.click) > 1 or len(users.leave) > 1:
        each = [expected_max_rr(users.alone(behaviour), pages) for behaviour in range(users.n_behaviours)]
        return np.asarray(np.mean(each, axis=0))
    pages = pages[:, : users.k]
    attraction = np.where(pages < 0, 0.0, users.click[0][np.maximum(pages, 0)])
    distinct, which = np.unique(attraction, axis=0, return_inverse=True)
    looks = users.examination
    total = np.zeros(len(distinct))
    block = max(1, _CELLS // max(1, len(distinct)))
    for start in range(0, len(looks), block):
        total += _first_click(distinct, looks[start : start + block], float(users.leave[0])).sum(axis=0)
    mean: FloatArray = (total / len(looks))[which.reshape(-1)]
    return mean


def _first_click(attraction: FloatArray, looks: FloatArray, leave: float) -> FloatArray:
    """The sum over r above for pages `[n_pages, k]` and users `[n_users, k]`: `[n_users, n_pages]`."""
    none_before = np.ones((len(looks), len(attraction)))
    value = np.zeros_like(none_before)
    for rank in range(attraction.shape[1]):
        p = np.outer(looks[:, rank], attraction[:, rank])
        value += none_before * p / (rank + 1)
        none_before *= (1.0 - p) * (1.0 - leave)
    return value


def _attraction(kind: str, top_grade: int, table: Table) -> FloatArray:
    """click[g] of a position-based kind, `[n_grades]`."""
    if kind == "fedips":
        return np.where(2 * np.arange(top_grade + 1) > top_grade, 1.0, 0.1)
    return np.array(by_grade("perfect", top_grade=top_grade, table=table).click)


def _position_biases(
    eta: float | npt.ArrayLike, spread: float, n_clients: int, rng: np.random.Generator | None
) -> FloatArray:
    given = np.asarray(eta, dtype=np.float64)
    if given.ndim > 0 and given.shape != (n_clients,):
        raise ShapeError(f"eta must be one number or [{n_clients}], not {list(given.shape)}")
    if not ((given >= 0).all() and np.isfinite(given).all() and spread >= 0):
        raise ValueRangeError(f"eta and its spread must be finite and not negative, not {given} and {spread}")
    if spread == 0:
        return np.atleast_1d(given)
    if rng is None:
        raise ValueRangeError("a spread of eta needs a random generator")
    biases = given + spread * normals(rng, n_clients)
    while (biases < 0).any():
        again = biases < 0
        biases[again] = np.broadcast_to(given, n_clients)[again] + spread * normals(rng, int(again.sum()))
    return biases
