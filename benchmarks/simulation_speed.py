"""Interactions a CPU-second of the compiled rounds on one core, compared with only scoring the same documents.

    python -m benchmarks simulation_speed [--data DIR] [--runs 7] [--seconds 0.5]

Data is in memory, privacy is off unless a line says noise, and evaluation and compilation are not included. An
interaction is everything that happens for one page: the query drawn, its documents scored, the page ranked, clicked and
counted, the ranker updated; the round's aggregation is in the time. The bound scores as many pages of the same
documents with the same code and does nothing else. Seconds are of processor time; both are measured in turns, because
other programs may use the machine, and medians are printed. MQ2008 is measured where --data or FOLTR_DATASETS has it.
`benchmarks.peers` has other programs on the same work.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simulation.cli import one_thread_each

one_thread_each()  # before numpy is loaded

import numpy as np  # noqa: E402

from benchmarks import load  # noqa: E402
from benchmarks.running import Option, arguments  # noqa: E402
from benchmarks.tables import Table, machine, verdict  # noqa: E402
from foltr.federated.registry import METHODS, make_method  # noqa: E402
from foltr.ranking.rankers import Linear, Neural, Ranker  # noqa: E402
from simulation.batched import kernel  # noqa: E402
from simulation.batched.pages import next_query, pages_of  # noqa: E402
from simulation.batched.pdgd_linear import linear_scores  # noqa: E402
from simulation.batched.pdgd_neural import feature_by_feature, neural_room, neural_scores  # noqa: E402
from simulation.data.datasets import load_fold  # noqa: E402
from simulation.data.known_datasets import data_folder  # noqa: E402
from simulation.data.queries import QuerySet  # noqa: E402
from simulation.rounds.click_models import make_users  # noqa: E402
from simulation.rounds.federation import Population, next_at_once  # noqa: E402
from simulation.rounds.round_kinds import fast_play  # noqa: E402
from simulation.rounds.streams import make_streams  # noqa: E402

PARTS = 8
"""calls in the time that a trial spends between two events: a measurement should not be one call"""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    method: str
    ranker: Callable[[int], Ranker]
    data: str
    n_clients: int
    n_local: int
    aim: int
    settings: dict[str, object] = field(default_factory=dict)
    users: str = "navigational"
    beside: str = ""
    """what the settings add, as the table names it"""


def hidden(n_hidden: int) -> Callable[[int], Ranker]:
    """Nets with so many hidden units."""
    return lambda n_features: Neural(n_features, n_hidden)


def for_all(case: Case) -> tuple[Case, ...]:
    """The case with each kind of user: informational ones click more, which gives more pairs to learn from."""
    return tuple(replace(case, users=users) for users in ("navigational", "informational", "perfect"))


KRUM: dict[str, object] = {"rule": "krum", "n_malicious": 2}
NOISE: dict[str, object] = {"mechanism": "fpdgd-paper", "sensitivity": 3.0, "epsilon": 4.5, "n_clients": 10}
"""one of the settings of thesis Figure 3.6"""
A_THIRD_MORE = 667_000
"""where what is added takes a third of a round that would go at a million without it"""
CASES = (
    Case("pdgd", Linear, "120 x 136", 1, 2000, 150_000),
    *for_all(Case("fpdgd", Linear, "120 x 136", 10, 5, 150_000)),
    *for_all(Case("pdgd", Linear, "MQ2008", 1, 8000, 1_000_000)),
    *for_all(Case("fpdgd", Linear, "MQ2008", 100, 20, 1_000_000)),
    *for_all(Case("fpdgd", Linear, "MQ2008", 10, 5, 1_000_000)),
    Case("fpdgd", Linear, "MQ2008", 10, 5, A_THIRD_MORE, {"aggregation": KRUM}, beside=", Krum"),
    Case("fpdgd", Linear, "MQ2008", 10, 5, A_THIRD_MORE, {"privacy": NOISE}, beside=", noise"),
    Case("fpdgd", hidden(64), "MQ2008", 10, 5, 0),
    Case("pdgd", hidden(64), "120 x 136", 1, 500, 12_000),
    Case("foltr-es", Linear, "120 x 136", 1000, 4, 200_000, {"truth_probability": 1.0}),
    *for_all(Case("foltr-es", Linear, "MQ2008", 1000, 4, 0, {"truth_probability": 1.0})),
    Case("fedips", Linear, "120 x 136", 1000, 4, 0),
)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, data=Option(kind=str), runs=7, seconds=0.5)
    data = {"120 x 136": even_queries(300, n_docs=120, n_features=136)}
    folder = data_folder(options.data, os.environ)
    if folder is not None:
        data["MQ2008"] = load_fold("mq2008", 1, root=Path(folder)).train
    start = load.moment()
    heading = ("method", "ranker", "data", "users", "clients x local", "a CPU-s", "scoring alone", "ratio", "aim", "")
    table = Table(heading)
    for case in CASES:
        if case.method in METHODS and case.data in data:
            add(table, case, data[case.data], runs=options.runs, seconds=options.seconds)
    print(machine(), table, load.since(start), sep="\n\n")


def even_queries(n_queries: int, *, n_docs: int, n_features: int) -> QuerySet:
    """Queries that all have as many documents, with random features and three grades."""
    rng = np.random.default_rng(0)
    features = rng.random((n_queries * n_docs, n_features), dtype=np.float32)
    grades = rng.choice(3, p=[0.7, 0.2, 0.1], size=len(features)).astype(np.int8)
    return QuerySet(features, grades, np.arange(n_queries + 1) * n_docs, tuple(str(q) for q in range(n_queries)))


def add(table: Table, case: Case, data: QuerySet, *, runs: int, seconds: float) -> None:
    """Measure a case and write its line."""
    ranker = case.ranker(data.n_features)
    population = Population(data, make_users(case.users, top_grade=2), case.n_clients, case.n_local)
    step = rounds(make_method(case.method, ranker, case.settings), population)
    score = scoring(ranker, population)
    pairs = [(rate(step, seconds=seconds), rate(score, seconds=seconds / 4)) for _ in range(runs)]
    speed, bound = (statistics.median(column) for column in zip(*pairs, strict=True))
    table.add(
        case.method + case.beside,
        f"{ranker.name} {ranker.n_hidden}" if isinstance(ranker, Neural) else ranker.name,
        case.data,
        case.users,
        f"{case.n_clients:,} x {case.n_local:,}",
        f"{speed:,.0f}",
        f"{bound:,.0f}",
        statistics.median(one / other for one, other in pairs),
        f"{case.aim:,}" if case.aim else "-",
        verdict(speed >= case.aim) if case.aim else "",
    )


def rounds(method: Any, population: Population) -> Callable[[], int]:
    """A function that goes some rounds further, as many as a trial plays at once, and returns how many interactions."""
    play, streams = fast_play(method), make_streams(0, population.n_clients)
    model, at_once = method.initial(streams.model), 1

    def step() -> int:
        nonlocal model, at_once
        start = time.perf_counter()
        model, shown = play(method, model, population, streams, at_once)
        at_once = next_at_once(at_once, at_once, (time.perf_counter() - start) * PARTS)
        return sum(seen.interactions for seen in shown)

    return step


def scoring(ranker: Ranker, population: Population) -> Callable[[], int]:
    """A function that scores 500 pages and returns their number."""
    pages, state = pages_of(population), make_streams(1, 1).users[0]
    theta = ranker.initial(np.random.default_rng(0))
    n_hidden = ranker.n_hidden if isinstance(ranker, Neural) else 0
    if n_hidden:
        theta = feature_by_feature(theta[None, :], n_hidden)[0]
    theta, scores = theta.astype(pages.features.dtype), np.empty(pages.longest)
    net = neural_room(pages, n_hidden)._replace(ranker=theta) if n_hidden else None

    def step() -> int:
        score_pages(pages, theta, net, 500, state, scores)
        return 500

    return step


@kernel()
def score_pages(pages, theta, net, n_pages, state, scores):  # type: ignore[no-untyped-def]
    """Score the documents of randomly drawn queries, as the compiled rounds do; `scores` is room."""
    total = 0.0
    for _ in range(n_pages):
        query = next_query(pages, 0, state)
        first, last = pages.offsets[query], pages.offsets[query + 1]
        if net is None:
            total += linear_scores(pages.features, first, last, theta, 1.0, scores)
        else:
            total += neural_scores(pages.features, first, last, net, 1.0, scores)
    return total


def rate(step: Callable[[], int], *, seconds: float) -> float:
    """How many a second of processor time; the first call is not counted."""
    step()
    done, start = 0, time.process_time()
    while (passed := time.process_time() - start) < seconds:
        done += step()
    return done / passed
