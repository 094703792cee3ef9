"""What a group's members give away of one query: the best attacker against the defaults, beside what is proven.

    python -m benchmarks reconstruction [--trials 400] [--pages files uniform] [--designs ...]

The attacker of simulation.studies.reconstruction: it knows the noise, the method, every ranker, features and order of
all pages, what was opened on all other pages, and on which pages the query in question was asked; it sees the whole
budget. A habit is the same page with the same result opened on 1, 8, 20 or 40 of the device's pages.

    old            64 rounds of 3 pages, clip .1, z 4, all weights, a step after each page: the default before
    open           the server's default: each device's own noise
    sealed         the server's default for sums: the noise in the sum of five devices, the others' updates known
    open, no caps  the open default without longest_step and longest_query

guess: how often the opened result wins against each of the nine others, the truth drawn alike (chance .5). AUC: of
telling two results apart. with places: the same guess when people open by 1/rank and the attacker knows it; (places
alone): without any update. Beside each stands what is proven, which no attacker exceeds. +- is one standard error.
Pages "files": types, ages, sizes and depths as files have them; "uniform": all features random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from app.learning.prior import theta_prior
from benchmarks.running import Option, arguments
from benchmarks.tables import Table
from federation_server.settings import MethodSection, RoundsSection, ServerSettings
from federation_server.setup import terms_of
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.federated.registry import make_method
from foltr.privacy.accounting import best_auc, best_guess
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from simulation.studies.reconstruction import Evidence, attack, auc_of_two, draw_budget, guessed, proven_mu

HABITS = (1, 8, 20, 40)
K, N_DOCS, N_MEMBERS = 10, 20, 5
TYPES = ("is_text", "is_source", "is_html", "is_document", "is_mail")
HALF_LIFE_DAYS = {"recent_week": 7.0, "recent_year": 180.0}


def by_position(k: int) -> FloatVector:
    """The prior of people who open what stands above: 1 / rank, `[k]`, together 1."""
    weights = 1.0 / np.arange(1.0, k + 1.0)
    prior: FloatVector = weights / weights.sum()
    return prior


def page_shown(features: FloatMatrix, theta: FloatVector, prior: FloatVector, rng: np.random.Generator) -> Interaction:
    """The best k of these documents `[n_docs, n_features]` in the order of their scores, one opened as `prior` says."""
    ranking = np.argsort(-(features @ theta), kind="stable")[: len(prior)]
    return Interaction(features, ranking, np.arange(len(prior)) == rng.choice(len(prior), p=prior))


def best_guessed(mu: float, prior: FloatVector) -> float:
    """What `guessed` exceeds in the mean for no attacker, when the truth is drawn from `prior` and no two are mu apart.

    sum over pairs i < j of (p_i + p_j) / (k - 1) * (how often the best guess between i and j is right)
    """
    k = len(prior)
    pairs = [(float(prior[i]), float(prior[j])) for i in range(k) for j in range(i)]
    return math.fsum((p + q) * best_guess(mu, p / (p + q)) for p, q in pairs) / (k - 1)


@dataclass(frozen=True, slots=True)
class Design:
    """A method and the shape of its budget."""

    method: FPDGD
    n_rounds: int
    n_pages: int

    def proven(self, n_asked: int) -> float:
        """mu between any two answers for a query that was asked so often."""
        shape = {"n_rounds": self.n_rounds, "n_pages": self.n_pages}
        return proven_mu(self.method, **shape, n_asked=n_asked, n_members=N_MEMBERS)


def designs() -> dict[str, Design]:
    """By name; all but the first are what the server's settings make."""
    ours = RoundsSection()
    before = FPDGD(Linear(len(NAMES)), learning_rate=0.05, privacy=Gaussian(clip=0.1, noise_multiplier=4.0))
    by_default, sums = _default("open"), _default("sealed")
    assert isinstance(sums.privacy, Gaussian)
    shared_out = msgspec.structs.replace(sums.privacy, distributed=True, n_clients=N_MEMBERS)
    return {
        "old": Design(before, 64, 3),
        "open": Design(by_default, ours.in_period, ours.n_local),
        "sealed": Design(replace(sums, privacy=shared_out), ours.in_period, ours.n_local),
        "open, no caps": Design(
            replace(by_default, longest_step=None, longest_query=None), ours.in_period, ours.n_local
        ),
    }


def main() -> None:
    """Measure and print."""
    options = arguments(
        __doc__,
        trials=400,
        pages=Option(("files", "uniform"), choices=("files", "uniform")),
        designs=Option(tuple(designs()), choices=tuple(designs())),
    )
    heading = ("design", "pages", "habit", "guess", "proven", "AUC", "proven", "with places", "proven")
    table = Table((*heading, "(places alone)"))
    for name in options.designs:
        for pages in options.pages:
            for n_asked in HABITS:
                table.add(name, pages, n_asked, *row(designs()[name], pages, n_asked, n_trials=options.trials))
    print(table)


def row(design: Design, pages: str, n_asked: int, *, n_trials: int) -> Sequence[object]:
    """The cells of one habit."""
    mu, prior = design.proven(n_asked), by_position(K)
    alike = attacked(design, pages, n_asked, n_trials=n_trials, by_places=False)
    placed = attacked(design, pages, n_asked, n_trials=n_trials, by_places=True)
    return (
        _mean([guessed(one) for one in alike]),
        best_guess(mu),
        auc_of_two(alike),
        best_auc(mu),
        _mean([guessed(one, prior) for one in placed]),
        best_guessed(mu, prior),
        best_guessed(0.0, prior),
    )


def attacked(design: Design, pages: str, n_asked: int, *, n_trials: int, by_places: bool) -> list[Evidence]:
    """A number of budgets, each with other pages, noise and truth."""
    rng, prior, found = np.random.default_rng([n_asked, by_places]), by_position(K), []
    features, theta = {"files": like_files, "uniform": _uniform}[pages], theta_prior()
    for _ in range(n_trials):
        budget = draw_budget(
            lambda: page_of(features, rng), n_rounds=design.n_rounds, n_pages=design.n_pages, n_asked=n_asked
        )
        opened = int(rng.choice(K, p=prior) if by_places else rng.integers(K))
        found.append(attack(design.method, Model(theta), budget, opened=opened, n_members=N_MEMBERS, rng=rng))
    return found


def page_of(features: Callable[[np.random.Generator], FloatMatrix], rng: np.random.Generator) -> Interaction:
    """A page as the shipped ranker orders it, with one click."""
    return page_shown(features(rng), theta_prior(), by_position(K), rng)


def like_files(rng: np.random.Generator) -> FloatMatrix:
    """`[N_DOCS, n_features]`: each file has one type at most and an age; what is said about words is random."""
    found, age = _uniform(rng), 10 ** rng.uniform(-1, 3.5, N_DOCS)
    for name, days in HALF_LIFE_DAYS.items():
        found[:, NAMES.index(name)] = 0.5 ** (age / days)
    found[:, NAMES.index("newer")] = (age[:, None] < age[None, :]).mean(axis=1)
    kind = rng.integers(len(TYPES) + 1, size=N_DOCS)
    for number, name in enumerate(TYPES):
        found[:, NAMES.index(name)] = kind == number
    return found


def _uniform(rng: np.random.Generator) -> FloatMatrix:
    return rng.random((N_DOCS, len(NAMES)))


def _default(mode: str) -> FPDGD:
    """The method that the server's default terms of this mode make."""
    settings = ServerSettings(method=MethodSection(mode=mode))  # type: ignore[arg-type]
    terms = terms_of(settings, "benchmark", features=NAMES, manifest_hash=MANIFEST_HASH)
    method = make_method(terms.method, make_ranker(terms.ranker, terms.n_features), terms.settings)
    assert isinstance(method, FPDGD)
    return method


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} +- {np.std(values, ddof=1) / math.sqrt(len(values)):.3f}"
