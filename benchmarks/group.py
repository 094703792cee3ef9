"""What a group is worth: to a new member without clicks, and to its members beside learning alone.

Every draw has other people, files, halves of queries, clicks and noise. Members search for four rounds of forty pages
and answer by the server's default method; each tests the group's ranker on its own pages and blends it, and a newcomer
adopts the part of it that is more than noise (app.federation). Gains are of nDCG@10 on queries that nobody
asked, in percent; the noise is the mechanism's own.

    python -m benchmarks group [--members 5 10 30] [--draws 40] [--modes open sealed absent] [--left-out]

open: each device adds all noise (epsilon 10). sealed: noise in the sum (epsilon 4), of coins, as the server of a sealed
group closes a round (tests/benchmarks/test_group.py compares them to the last digit); each device adds as much as if a
third stayed away and a fifth of the others colluded. absent: in each round a random third do stay away; what they
searched waits for the next round. whole: each device adds all of the sum's noise.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from app.federation.group_ranker import believed
from app.learning.learner import Learner
from app.learning.prior import LearningRates, theta_prior
from app.settings import LearningSettings
from app.store import Store
from benchmarks.group_pages import KINDS, AskedQuery, pages_of
from benchmarks.group_people import Member, Person, Taste, person
from benchmarks.running import Option, arguments
from benchmarks.tables import machine, verdict
from federation_server.group import group
from federation_server.settings import OPEN_PRIVACY, SUM_PRIVACY, ServerSettings
from federation_server.setup import terms_of
from foltr.arrays import FloatVector, Int64Vector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import join_sums
from foltr.federated.method import Model
from foltr.federated.sealed.committee import honest_arrivals, least_arrivals
from foltr.federated.wire import Terms
from foltr.privacy.mechanisms import Gaussian
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from simulation.rounds.click_models import make_users

CHOSEN_ON = ("cranfield", "cisi", "medline", "time")
"""the terms and the doubt of newcomers were chosen on these"""
LEFT_OUT = ("scifact", "handbook", "locomo-chats", "manpages")
N_LOTS = 2
N_NEWCOMERS = 15
FEWEST_QUERIES = 6
"""that each half of a person's queries must have"""


def one_kind(n: int, rng: np.random.Generator) -> tuple[list[Taste], list[Taste]]:
    """All want one kind of file, by lot."""
    taste = Taste(kind=int(rng.integers(len(KINDS))))
    return [taste] * n, [taste] * N_NEWCOMERS


def recent_files(n: int, rng: np.random.Generator) -> tuple[list[Taste], list[Taste]]:
    """All want files of the last two months."""
    return [Taste(recent=True)] * n, [Taste(recent=True)] * N_NEWCOMERS


def nothing(n: int, rng: np.random.Generator) -> tuple[list[Taste], list[Taste]]:
    """Nobody prefers anything: judgements of the text alone."""
    return [Taste()] * n, [Taste()] * N_NEWCOMERS


def opposite(n: int, rng: np.random.Generator) -> tuple[list[Taste], list[Taste]]:
    """Three of five want recent files, the others old ones; of the newcomers too."""
    return tuple(  # type: ignore[return-value]
        [Taste(recent=True)] * round(0.6 * many) + [Taste(recent=False)] * (many - round(0.6 * many))
        for many in (n, N_NEWCOMERS)
    )


SCENES: dict[str, Callable[[int, np.random.Generator], tuple[list[Taste], list[Taste]]]] = {
    "one kind of file": one_kind,
    "recent files": recent_files,
    "nothing shared": nothing,
    "opposite tastes": opposite,
}
AIMS = {"one kind of file": 55.0, "recent files": 35.0, "nothing shared": -0.5, "opposite tastes": -0.5}
"""percent, for a newcomer to a group of five; on average over the draws"""
WORST = {"one kind of file": 10.0, "recent files": 10.0}
"""the same in the worst draw"""


@dataclass(frozen=True, slots=True)
class Worth:
    """Gains of one draw, in percent of what the shipped ranker gives."""

    newcomer: float
    trusting: float
    """of a newcomer who believes everything"""
    members: float
    alone: float
    """of the members, had they learned alone"""


@dataclass(frozen=True, slots=True, eq=False)
class Life:
    """A group at its rest."""

    members: list[Member]
    newcomers: list[Person]
    method: FPDGD
    model: Model

    def newcomer(self, theta: FloatVector) -> float:
        """Mean nDCG@10 of the newcomers by a ranker `[n_features]`."""
        return float(np.mean([one.served_by(theta) for one in self.newcomers]))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Whom groups are drawn from."""

    pages: list[list[AskedQuery]]
    learner: Learner

    def draw(self, taste: Taste, rng: np.random.Generator) -> Person:
        """Someone with enough queries to which there is anything that they want."""
        while True:
            found = person(taste, self.pages[int(rng.integers(len(self.pages)))], rng)
            if min(len(found.asked), len(found.held_out)) >= FEWEST_QUERIES:
                return found

    def member(self, taste: Taste, rng: np.random.Generator) -> Member:
        """The same with a device."""
        found = self.draw(taste, rng)
        top = max(int(query.judged.grades.max()) for query in found.asked)
        return Member(found, self.learner.rehearsal(), make_users("navigational", top_grade=top))


def mechanism(mode: str, n: int) -> Gaussian:
    """What each device does to its update."""
    if mode == "open":
        return OPEN_PRIVACY
    if mode == "whole":
        return SUM_PRIVACY.shared_out(1)
    return SUM_PRIVACY.shared_out(honest_arrivals(least_arrivals(n)))


def closed(mode: str, method: FPDGD, model: Model, members: Sequence[Member], rng: np.random.Generator) -> Model:
    """A round as the group's server closes it."""
    if mode == "open":
        return method.aggregate(model, [one.answers(method, model, rng) for one in members])
    n = least_arrivals(len(members)) if mode == "absent" else len(members)
    arrived = [members[place] for place in sorted(rng.permutation(len(members))[:n].tolist())]
    return summed(method, model, [one.steps(method, model, rng) for one in arrived])


def summed(method: FPDGD, model: Model, notes: Sequence[Int64Vector]) -> Model:
    """The same of what each member of a sealed group sent, in steps `[n_sent]`."""
    assert isinstance(method.privacy, Gaussian)
    joined = join_sums(method.joining, method.privacy, method.shared_part(model), [np.sum(notes, axis=0)], [len(notes)])
    return method.whole(model, joined.model)


def agreed(mode: str, n: int) -> tuple[Terms, FPDGD]:
    """What a group of n devices goes by."""
    settings = ServerSettings()
    private = msgspec.structs.replace(settings.method, privacy=mechanism(mode, n))
    terms = terms_of(
        msgspec.structs.replace(settings, method=private), "group", features=NAMES, manifest_hash=MANIFEST_HASH
    )
    return terms, group.method_of(terms)


def lived(world: World, scene: str, mode: str, n: int, draw: int, lies: Sequence[FloatVector] = ()) -> Life:
    """A group from its first round to its rest, some of whose members say these changes `[n_sent]` in every round."""
    rng, noise = np.random.default_rng([draw, n, list(SCENES).index(scene)]).spawn(2)
    wants, newcomers_want = SCENES[scene](n, rng)
    members = [world.member(taste, rng) for taste in wants]
    newcomers = [world.draw(taste, rng) for taste in newcomers_want]
    for one, lie in zip(members, lies, strict=False):
        one.lie = lie
    (terms, method), shipped = agreed(mode, n), theta_prior()
    model = Model(shipped)
    for _ in range(terms.n_rounds):
        for one in members:
            one.searches(terms.n_local, rng)
        model = closed(mode, method, model, members, noise)
        for one in members:
            one.considers(model.theta, shipped)
    return Life(members, newcomers, method, model)


def worth(found: Life) -> Worth:
    """Of a group whose members who lie, if any, do not count."""
    honest, shipped, model = [one for one in found.members if one.lie is None], theta_prior(), found.model
    alone, together = np.mean([one.served() for one in honest], axis=0)
    before = float(np.mean([one.person.served_by(shipped) for one in honest]))
    first = found.newcomer(shipped)
    rankers = believed(shipped, model.theta, model.noise, NAMES), model.theta
    newcomer, trusting = (100 * (found.newcomer(theta) / first - 1) for theta in rankers)
    return Worth(newcomer, trusting, 100 * (together / before - 1), 100 * (alone / before - 1))


@contextmanager
def world_of(names: tuple[str, ...], cache: Path | None) -> Iterator[World]:
    """Of these collections, each filed `N_LOTS` times; `cache` keeps the pages."""
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        pages = pages_of(names, N_LOTS, cache or Path(folder))
        learner = Learner(
            Store(Path(folder) / "state.sqlite"), theta0=theta_prior(), feature_names=NAMES,
            manifest_hash=MANIFEST_HASH, settings=LearningSettings(), rates=LearningRates.shipped(NAMES),
        )  # fmt: skip
        yield World([lot for lots in pages.values() for lot in lots], learner)


def mean_and_error(values: Sequence[float]) -> str:
    """Mean and standard error."""
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return f"{np.mean(values):+.1f} +- {error:.1f}"


def main() -> None:
    """Print one table for each size of a group, a row as soon as it is measured."""
    wanted = arguments(
        __doc__,
        members=[5, 10, 30],
        draws=40,
        first=Option(0, "number of the first draw"),
        modes=Option(["open", "sealed", "absent"], choices=("open", "sealed", "absent", "whole")),
        scenes=Option(tuple(SCENES), choices=tuple(SCENES)),
        left_out=False,
        cache=Option(help="folder that keeps the pages for another run", kind=Path),
    )
    names = LEFT_OUT if wanted.left_out else CHOSEN_ON
    with world_of(names, wanted.cache) as world:
        print(machine(), f"{wanted.draws} draws", ", ".join(names), sep="; ")
        print("| members | mode | taste | newcomer | worst | aim | believing all | members | members alone |")
        print("|---|---|---|---|---|---|---|---|---|")
        for n in wanted.members:
            for mode in wanted.modes:
                for scene in wanted.scenes:
                    draws = range(wanted.first, wanted.first + wanted.draws)
                    found = [worth(lived(world, scene, mode, n, draw)) for draw in draws]
                    print(row(scene, mode, n, found), flush=True)


def row(scene: str, mode: str, n: int, found: Sequence[Worth]) -> str:
    """One line of the table."""
    newcomer = [one.newcomer for one in found]
    aim = AIMS[scene]
    met = np.mean(newcomer) >= aim and min(newcomer) >= WORST.get(scene, -math.inf)
    others = ([one.trusting for one in found], [one.members for one in found], [one.alone for one in found])
    shown = f">= {aim:+g} {verdict(bool(met))}" if n == 5 else ""
    cells = (n, mode, scene, mean_and_error(newcomer), f"{min(newcomer):+.1f}", shown, *map(mean_and_error, others))
    return "| " + " | ".join(map(str, cells)) + " |"
