"""What harm a malicious fifth of a group can do to the common ranker, and whether the server notices.

    python -m benchmarks group_attacks [--seeds 8] [--clients 5 20 50] [--terms former default long]

Members search three collections whose documents became files with random types and dates (benchmarks.preferences); an
honest one opens what is relevant. The figure is nDCG@10 of the common ranker after the last round, on queries that
nobody searched. The attackers push in the direction that costs most, of those tried on the same queries.
In the columns "silent" honest members have nothing to say and send noise alone, so that nobody pushes back; with the
former terms what they could say is small beside the noise, and they are always silent. +- is the standard error of a
loss over the seeds, each of which is played with and without the attack: honest members draw the same in both.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.learning.prior import theta_prior
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import device, indexed
from benchmarks.hostile_members import ATTACKS, AttackedGroup, AttackOutcome, Page, Scene, reach, run
from benchmarks.judged import Batch, JudgedPage, graded
from benchmarks.preferences import filed
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict
from federation_server.settings import SHARED
from foltr.arrays import FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import noise_of
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from indexer.retrieval.features import NAMES
from simulation.rounds.click_models import Users, make_users

COLLECTIONS = ("cranfield", "cisi", "medline")
MALICIOUS = {5: 1, 20: 4, 50: 10}
AIMS = {5: 0.05, 20: 0.02, 50: 0.02}
"""the largest loss of nDCG@10, by the members of an open group"""
N_TRIED = 60
"""random directions, besides those of single weights"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Terms of a group, and how long it goes on."""

    method: FPDGD
    n_rounds: int
    n_local: int


def plans() -> dict[str, Plan]:
    """The terms of former groups, today's default, and today's for as many rounds as the former."""
    shared = tuple(sorted(NAMES.index(name) for name in SHARED))
    former = FPDGD(
        Linear(len(NAMES)), learning_rate=0.05, weighting="equal", guard=True,
        privacy=Gaussian(clip=0.1, noise_multiplier=4.0),
    )  # fmt: skip
    default = FPDGD(
        Linear(len(NAMES)), learning_rate=0.5, update="batch", weighting="equal", guard=True, shared=shared,
        longest_step=0.15, longest_query=0.15, privacy=Gaussian(clip=0.8, noise_multiplier=1.0),
    )  # fmt: skip
    return {"former": Plan(former, 30, 0), "default": Plan(default, 4, 40), "long": Plan(default, 30, 10)}


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Pages to search, pages to judge by, and what attackers know."""

    pages: list[Page]
    judged: list[Batch]
    users: Users

    def ndcg(self, theta: FloatVector) -> float:
        """Mean over the collections."""
        return float(np.mean([batch.ndcg(theta).mean() for batch in self.judged]))


@contextmanager
def searched(name: str, folder: Path, settings: Settings) -> Iterator[list[JudgedPage]]:
    """A page for each query of the collection, its documents filed at random."""
    collection = collections.read(name)
    files = filed(collection, folder / "files", np.random.default_rng(3))
    by_path = {path: file.document.id for path, file in files.items()}
    with device(indexed(folder / "files", folder, settings), settings) as search:
        yield [_page(search, by_path, query, text, collection.grades[query])
               for query, text in collection.queries.items()]  # fmt: skip


def _page(search: Search, files: dict[str, str], query: str, text: str, grades: dict[str, int]) -> JudgedPage:
    page = search.search(SearchRequest(text, order="bm25"))
    return JudgedPage(query, page.features, graded(page, files, grades), tuple(grades.values()))


def world() -> World:
    """Every second query is searched, the others are judged by."""
    pages, judged = [], []
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        for name in COLLECTIONS:
            with searched(name, Path(folder) / name, Settings()) as found:
                judged.append(Batch(found[::2]))
                pages += [Page(f"{name} {page.query}".encode(), page.features, page.grades) for page in found[1::2]]
    return World(pages, judged, make_users("navigational", top_grade=1))


def worst_direction(ndcg: Callable[[FloatVector], float], method: FPDGD, start: FloatVector, far: float) -> FloatVector:
    """The unit vector `[d]` along which `far` costs most nDCG, of single weights, mixtures of the worst, and -theta."""
    here = method.sent(start)

    def cost(direction: FloatVector) -> float:
        return ndcg(method.placed(start, here + far * direction / np.linalg.norm(direction)))

    single = [sign * axis for axis in np.eye(len(here)) for sign in (-1.0, 1.0)]
    single.sort(key=cost)
    rng = np.random.default_rng(0)
    mixed = [np.tensordot(rng.random(4), np.array(single[:4]), 1) for _ in range(N_TRIED)]
    best = min([*single[:1], -here, *mixed], key=cost)
    return np.asarray(best / np.linalg.norm(best))


def direction(known: World, plan: Plan, n: int) -> FloatVector:
    """The worst direction for as far as attackers who know the bounds get."""
    noise, d = noise_of(plan.method.privacy), plan.method.n_sent
    assert noise is not None
    empty = Scene(noise, np.inf, np.zeros((n - MALICIOUS[n], d)), np.zeros(d), plan.n_rounds, MALICIOUS[n],
                  np.random.default_rng(0))  # fmt: skip
    far = MALICIOUS[n] / n * reach(noise, empty, plan.n_rounds)
    return worst_direction(known.ndcg, plan.method, theta_prior(), far)


def played(
    known: World, plan: Plan, n: int, name: str, target: FloatVector, *, silent: bool, seeds: int
) -> tuple[FloatVector, list[AttackOutcome]]:
    """nDCG of each seed `[seeds]`, and each run."""
    noise = noise_of(plan.method.privacy)
    assert noise is not None
    group = AttackedGroup(plan.method, noise, n, MALICIOUS[n], plan.n_rounds, 0 if silent else plan.n_local)
    outcomes = [
        run(group, ATTACKS[name], theta_prior(), target, known.pages, known.users, seed) for seed in range(seeds)
    ]
    return np.array([known.ndcg(outcome.theta) for outcome in outcomes]), outcomes


def with_error(losses: FloatVector) -> str:
    """Mean and standard error of the paired differences `[seeds]`."""
    error = losses.std(ddof=1) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
    return f"{losses.mean():+.3f} +- {error:.3f}"


def report(known: World, plan: Plan, n: int, seeds: int) -> Table:
    """One table: the attacks in rows."""
    m, target = MALICIOUS[n], direction(known, plan, n)
    table = Table(("attack", "nDCG@10", "loss", f"aim <= {AIMS[n]}", "rounds with alarm", f"found of {m}",
                   "wronged", "silent: nDCG@10", "loss", "aim", "rounds with alarm", "found", "wronged"))  # fmt: skip
    base: dict[bool, FloatVector] = {}
    for name in ATTACKS:
        cells: list[object] = []
        for silent in (False, True):
            if not silent and plan.n_local == 0:
                cells += ["-"] * 6
                continue
            values, outcomes = played(known, plan, n, name, target, silent=silent, seeds=seeds)
            losses = base.setdefault(silent, values) - values
            found = sum(one.found for one in outcomes) / seeds
            wronged = sum(one.wronged for one in outcomes) / seeds
            alarms = f"{sum(one.alarms for one in outcomes) / seeds:g} of {plan.n_rounds}"
            cells += [
                float(values.mean()),
                with_error(losses),
                verdict(losses.mean() <= AIMS[n]),
                alarms,
                f"{found:g}",
                f"{wronged:g}",
            ]
        table.add(name, *cells)
    return table


def main() -> None:
    """Print the tables."""
    wanted = arguments(
        __doc__,
        seeds=8,
        clients=Option(tuple(MALICIOUS), choices=tuple(MALICIOUS)),
        terms=Option(tuple(plans()), choices=tuple(plans())),
    )
    known = world()
    print(machine(), f"shipped ranker: {known.ndcg(theta_prior()):.3f}", sep="\n\n")
    for terms in wanted.terms:
        for n in wanted.clients:
            found = report(known, plans()[terms], n, wanted.seeds)
            print(f"\n{terms} terms, {n} members, {MALICIOUS[n]} malicious\n\n{found}\n", flush=True)
