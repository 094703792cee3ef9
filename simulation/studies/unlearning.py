"""Does a group forget a poisoned client? The study of thesis Chapter 6, with FPDGD and a linear ranker from zero.

    9H-1M      9 honest clients and one that sends -z times its ranker in every round (Eq. 6.3)
    U(9H-1M)   that client forgotten by FedEraser: the honest ones replay every delta_t-th round with n' local steps,
               and each of their updates gets the length it had then (Eq. 6.2)
    9H-0M      retrained from scratch without it: what forgetting should come to
    10H-0M     all ten honest

Honest clients ask the same queries in 9H-1M, 9H-0M and 10H-0M until their rankers part; what they replay is drawn anew.
The thesis has n_i = 5, n' = 3, delta_t = 10, z = 2, eta = .1 and T = 10,000, nDCG@10 on held-out queries.

`python -m simulation.studies.unlearning --data DIR` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from simulation.threads import one_thread_each

if __name__ == "__main__":
    one_thread_each()  # before numpy is loaded

import click
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import FoltrError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import take_step
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD
from foltr.federated.unlearning import calibrate_lengths, kept_rounds
from foltr.ranking.rankers import Linear
from simulation.attacks.opposed import oppose
from simulation.batched.fpdgd import reported_thetas
from simulation.click_models import Users, make_users
from simulation.data.datasets import DATASETS, folds_present, load_fold
from simulation.data.queries import Fold, QuerySet
from simulation.evaluation import evaluate
from simulation.federation import Population
from simulation.report.statistics import over_runs
from simulation.report.tables import Grid, show
from simulation.streams import Streams, make_streams

Alter = Callable[[FloatMatrix, FloatVector, int], FloatMatrix]
"""honest updates `[n_clients, n_params]`, the global theta and the round's number to the updates that are averaged"""

AIM = 0.005
"""how far from retraining the unlearned ranker's nDCG@10 may be"""
USERS = ("perfect", "navigational", "informational")


@dataclass(frozen=True, slots=True)
class UnlearningPlan:
    """The settings of a study, by default those of the thesis; ValueRangeError for counts below 1."""

    n_rounds: int = 10_000
    """T"""
    every: int = 10
    """delta_t"""
    n_local: int = 5
    """n_i"""
    n_unlearn: int = 3
    """n'_i"""
    n_honest: int = 9
    z: float = 2.0
    learning_rate: float = 0.1
    """eta"""

    def __post_init__(self) -> None:
        if min(self.n_rounds, self.every, self.n_local, self.n_unlearn, self.n_honest) < 1:
            raise ValueRangeError(f"rounds, steps and clients must be at least 1: {self}")


@dataclass(frozen=True, slots=True)
class UnlearningOutcome:
    """nDCG@10 on held-out queries of the four rankers of one fold and seed."""

    poisoned: float
    """9H-1M"""
    unlearned: float
    """U(9H-1M)"""
    retrained: float
    """9H-0M"""
    all_honest: float
    """10H-0M"""


def outcome(fold: Fold, users: Users, plan: UnlearningPlan, *, seed: int = 0) -> UnlearningOutcome:
    """The four rankers of one fold, evaluated."""
    theta, lengths = poison(fold.train, users, plan, seed=seed)
    rankers = (
        theta,
        unlearn(fold.train, users, plan, lengths=lengths, seed=seed),
        honest(fold.train, users, plan, n_clients=plan.n_honest, seed=seed),
        honest(fold.train, users, plan, n_clients=plan.n_honest + 1, seed=seed),
    )
    ranker = Linear(fold.test.n_features)
    return UnlearningOutcome(*(evaluate(ranker, theta, fold.test).ndcg for theta in rankers))


def honest(data: QuerySet, users: Users, plan: UnlearningPlan, *, n_clients: int, seed: int) -> FloatVector:
    """The ranker `[n_params]` that `n_clients` honest clients learn in T rounds."""
    population = Population(data, users, n_clients, plan.n_local)
    return _learned(population, plan, make_streams(seed, n_clients), range(1, plan.n_rounds + 1), _as_sent)


def poison(data: QuerySet, users: Users, plan: UnlearningPlan, *, seed: int) -> tuple[FloatVector, FloatMatrix]:
    """The ranker `[n_params]` of 9H-1M, and how long the honest updates were in the kept rounds `[n_kept, n_honest]`.

    The last client is the poisoned one.
    """
    kept, lengths = kept_rounds(plan.n_rounds, plan.every), []

    def alter(updates: FloatMatrix, theta: FloatVector, number: int) -> FloatMatrix:
        if number in kept:
            lengths.append(np.linalg.norm(updates[:-1], axis=1))
        updates[-1] = oppose(updates[-1], theta, z=plan.z)
        return updates

    population = Population(data, users, plan.n_honest + 1, plan.n_local)
    streams = make_streams(seed, population.n_clients)
    theta = _learned(population, plan, streams, range(1, plan.n_rounds + 1), alter)
    return theta, np.array(lengths)


def unlearn(data: QuerySet, users: Users, plan: UnlearningPlan, *, lengths: FloatMatrix, seed: int) -> FloatVector:
    """The ranker `[n_params]` after the kept rounds are replayed at their `lengths` `[n_kept, n_honest]` (Eq. 6.2)."""
    population = Population(data, users, plan.n_honest, plan.n_unlearn)
    streams = make_streams(_apart(seed), plan.n_honest)
    return _learned(
        population, plan, streams, range(len(lengths)), lambda updates, _, t: calibrate_lengths(updates, lengths[t])
    )


def _learned(
    population: Population, plan: UnlearningPlan, streams: Streams, rounds: Iterable[int], alter: Alter
) -> FloatVector:
    """theta + mean of the altered updates, round after round, from zero (Eq. 6.1 with equal n_i)."""
    method = FPDGD(Linear(population.data.n_features), learning_rate=plan.learning_rate)
    model = Model(np.zeros(method.ranker.n_params))
    for number in rounds:
        thetas, _ = reported_thetas(method, model, population, streams)
        moved = alter(thetas - model.theta, model.theta, number)
        model = take_step(SGD(), model, moved.mean(axis=0))
    return model.theta


def _as_sent(updates: FloatMatrix, _theta: FloatVector, _number: int) -> FloatMatrix:
    return updates


def _apart(seed: int) -> int:
    """A seed for what is drawn when clients replay."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])


def table(
    outcomes: Sequence[Sequence[UnlearningOutcome]], plan: UnlearningPlan, *, kinds: Sequence[str], title: str
) -> Grid:
    """Means and standard errors over folds and seeds, a row for each kind of user."""
    names = ("poisoned", "unlearned", "retrained", "all_honest")
    rows = []
    for kind, each in zip(kinds, outcomes, strict=True):
        columns = [[getattr(one, name) for one in each] for name in names]
        apart = [one.unlearned - one.retrained for one in each]
        within = abs(float(np.mean(apart))) <= AIM
        rows.append((kind, *map(_mean, columns), _mean(apart), "met" if within else "NOT met"))
    head = ("users", "9H-1M", "U(9H-1M)", "9H-0M", "10H-0M", "U - 9H-0M", f"aim {AIM}")
    note = f"T {plan.n_rounds}, n {plan.n_local}, n' {plan.n_unlearn}, delta_t {plan.every}, z {plan.z:g}; ± 1 s.e."
    return Grid(f"nDCG@10 after forgetting, {title}", head, rows, (note,))


def _mean(values: Sequence[float]) -> str:
    found = over_runs({(0, n): value for n, value in enumerate(values)})
    return f"{found.mean:.4f}" + ("" if found.se is None else f" ± {found.se:.4f}")


def cell(case: tuple[str, int, int], *, dataset: str, root: Path | None, plan: UnlearningPlan) -> UnlearningOutcome:
    """One kind of user, fold and seed of a study."""
    kind, number, seed = case
    fold = load_fold(dataset, number, root=root)
    info = DATASETS.get(dataset)
    top_grade = info.top_grade if info else max(1, int(fold.train.grades.max()), int(fold.test.grades.max()))
    return outcome(fold, make_users(kind, top_grade=top_grade), plan, seed=seed)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="Folder of data sets.")
@click.option("--dataset", default="mq2008", show_default=True)
@click.option("--rounds", default=10_000, show_default=True, help="T.")
@click.option("--every", default=10, show_default=True, help="delta_t: every so many rounds updates are kept.")
@click.option("--unlearn-steps", default=3, show_default=True, help="n': local steps while forgetting.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
def main(data: Path | None, dataset: str, rounds: int, every: int, unlearn_steps: int, seeds: int, jobs: int) -> None:
    """A poisoned client is forgotten: nDCG@10 before, after, and retrained without it."""
    try:
        plan = UnlearningPlan(n_rounds=rounds, every=every, n_unlearn=unlearn_steps)
        cases = list(product(USERS, folds_present(dataset, data), range(seeds)))
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(partial(cell, dataset=dataset, root=data, plan=plan), cases))
    except FoltrError as error:
        click.echo(f"simulation.studies.unlearning: {error}", err=True)
        raise SystemExit(2) from error
    per_kind = len(cases) // len(USERS)
    outcomes = [found[n : n + per_kind] for n in range(0, len(found), per_kind)]
    show([table(outcomes, plan, kinds=USERS, title=f"{dataset}, {per_kind} runs")], sys.stdout)


if __name__ == "__main__":
    main()
