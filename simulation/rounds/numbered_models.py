"""Click models by numbers of your own, in a preset as `clicks = { model = NAME, ... }`.

What a model says of a result at rank r (from 1) of grade g, which a user comes to from the top:

    position-based     opened with attraction[g] * examination[r], whatever else is opened  (Craswell et al., WSDM 2008)
    cascade            opened with attraction[g]; the first that is opened is the last  (Craswell et al., WSDM 2008)
    dependent-clicks   opened with attraction[g]; after it the user goes on with go_on[r]  (Guo, Liu, Wang, WSDM 2009)
    simplified-dbn     opened with attraction[g]; satisfies, and is the last, with satisfaction[g]  (Chapelle, Zhang,
                       WWW 2009, Section 5)
    dbn                the same, and who is not satisfied goes on with `perseverance`  (Chapelle, Zhang, WWW 2009)

There is a number for each grade of the data, from 0; a rank beyond the last number has the last. A model of your own is
a record like these: where tables can say what its users do, rounds stay compiled.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from foltr.arrays import FloatArray
from foltr.errors import ValueRangeError
from simulation.rounds.click_models import Users

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
ByGrades = tuple[Share, ...]
"""[n_grades] probabilities"""
ByRanks = Annotated[tuple[Share, ...], msgspec.Meta(min_length=1)]
"""probabilities of the first ranks"""


class ClickModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="model"):
    """What the settings of all click models are: strict records that name themselves in the field `model`."""

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        """The users, alike or `n_clients` that differ, on pages of `k` results; `rng` is of the cell's seed and fold.

        ValueRangeError where the numbers are not for `n_grades` grades.
        """
        raise NotImplementedError


class PositionBased(ClickModel, frozen=True, tag="position-based"):
    """Each rank is looked at with a probability of its own."""

    attraction: ByGrades
    examination: ByRanks

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        click = table_of("attraction", self.attraction, n_grades)
        return Users(click, np.zeros_like(click), _of_ranks(self.examination, k)[None, :])


class Cascade(ClickModel, frozen=True, tag="cascade"):
    """One result is opened, and the page is left."""

    attraction: ByGrades

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        click = table_of("attraction", self.attraction, n_grades)
        return Users(click, np.ones_like(click), np.ones((1, k)))


class DependentClicks(ClickModel, frozen=True, tag="dependent-clicks"):
    """Whether one goes on after an opened result depends on its rank alone."""

    attraction: ByGrades
    go_on: ByRanks

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        stop = np.broadcast_to(1.0 - _of_ranks(self.go_on, k), (1, n_grades, k))
        return Users(table_of("attraction", self.attraction, n_grades), stop, np.ones((1, k)))


class SimplifiedDBN(ClickModel, frozen=True, tag="simplified-dbn"):
    """Who opens what satisfies is done; everybody else looks at the next result."""

    attraction: ByGrades
    satisfaction: ByGrades

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        stop = table_of("satisfaction", self.satisfaction, n_grades)
        return Users(table_of("attraction", self.attraction, n_grades), stop, np.ones((1, k)))


class DBN(SimplifiedDBN, frozen=True, tag="dbn"):
    """As the simplified one, but patience may end after each result."""

    perseverance: Share = 1.0
    """gamma"""

    def users(self, *, n_grades: int, n_clients: int, k: int, rng: np.random.Generator) -> Users:
        simple = SimplifiedDBN(attraction=self.attraction, satisfaction=self.satisfaction)
        users = simple.users(n_grades=n_grades, n_clients=n_clients, k=k, rng=rng)
        stop = 1.0 - self.perseverance * (1.0 - users.stop)
        return Users(users.click, stop, users.examination, leave=np.array([1.0 - self.perseverance]))


CLICK_MODELS: dict[str, type[ClickModel]] = {
    "position-based": PositionBased,
    "cascade": Cascade,
    "dependent-clicks": DependentClicks,
    "simplified-dbn": SimplifiedDBN,
    "dbn": DBN,
}
"""{"model": NAME, ...}, NAME being a key of CLICK_MODELS"""


def table_of(name: str, shares: ByGrades, n_grades: int) -> FloatArray:
    """Probabilities by grade as a table of users who are alike `[1, n_grades]`; ValueRangeError for another number."""
    if len(shares) != n_grades:
        raise ValueRangeError(f"users.clicks.{name}: wanted {n_grades} numbers, one for each grade, got {len(shares)}")
    return np.array([shares])


def _of_ranks(shares: ByRanks, k: int) -> FloatArray:
    """`[k]`"""
    return np.array((shares + shares[-1:] * k)[:k])


def check_tables(name: str | int | None, users: Users, *, n_grades: int, n_clients: int, k: int) -> None:
    """ValueRangeError where a model's tables do not fit these users and pages, or hold no probabilities."""
    if not isinstance(users, Users):
        raise ValueRangeError(f"users.clicks: {name}: wanted Users, got {type(users).__name__}")
    by_grade = (n_grades, k) if np.ndim(users.stop) == 3 else (n_grades,)
    for field, ends in {"click": (n_grades,), "stop": by_grade, "examination": (k,), "leave": ()}.items():
        table = getattr(users, field)
        if not isinstance(table, np.ndarray):
            raise ValueRangeError(f"users.clicks: {name}: {field}: wanted an array, got {type(table).__name__}")
        n = len(table) if users.mixed else n_clients
        if table.shape not in ((1, *ends), (n, *ends)):
            raise ValueRangeError(
                f"users.clicks: {name}: {field}: wanted {[1, *ends]} or {[n, *ends]}, got {list(table.shape)}"
            )
        if not ((table >= 0) & (table <= 1)).all():
            raise ValueRangeError(f"users.clicks: {name}: {field}: wanted probabilities from 0 to 1")
