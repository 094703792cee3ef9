from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.norm_clipping import NormClipping
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Adam, Momentum, Optimizer
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy
from foltr.ranking.rankers import Linear, Neural, Ranker
from simulation.batched.fpdgd_rounds import play, reported_thetas, run_round
from simulation.data.queries import QuerySet, join
from simulation.partitions import Grades, Intents
from simulation.rounds import federation
from simulation.rounds.click_models import Users, in_turn, make_users
from simulation.rounds.federation import Population, Round, Shown
from simulation.rounds.streams import make_streams
from tests.simulation.judged_queries import random_queries

N_FEATURES = 11


def queries(dtype: type, *, scale: float = 1.0) -> QuerySet:
    """Thirty queries of 1 to 60 documents, some without a relevant one."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[1, 2, 9, 10], rng.integers(1, 60, 26)])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    grades = rng.choice(3, p=[0.8, 0.15, 0.05], size=offsets[-1]).astype(np.int8)
    features = (scale * rng.random((offsets[-1], N_FEATURES))).astype(dtype)
    return QuerySet(features, grades, offsets, tuple(str(q) for q in range(len(sizes))))


def cascade() -> Users:
    """Navigational users of the thesis, Table 2.1."""
    return Users(np.array([[0.05, 0.5, 0.95]]), np.array([[0.2, 0.5, 0.9]]), np.ones((1, 10)))


def position_based(n_clients: int) -> Users:
    """Users who never stop, each with an own decay of examination, on pages of seven."""
    decay = np.linspace(0.2, 1.5, n_clients)[:, None]
    return Users(np.array([[0.1, 0.5, 1.0]]), np.zeros((1, 3)), (1.0 / np.arange(1, 8)) ** decay)


def rounds(run: federation.Round, method: FPDGD, population: Population, n_rounds: int) -> tuple[Model, list[Shown]]:
    """Some rounds from the method's own start, on the streams of seed 3."""
    streams = make_streams(3, population.n_clients)
    model, pages = method.initial(streams.model), []
    for _ in range(n_rounds):
        model, page = run(method, model, population, streams)
        pages.append(page)
    return model, pages


def assert_twins(method: FPDGD, population: Population, *, rtol: float, n_rounds: int = 4) -> None:
    """The compiled rounds end at the theta of the four verbs and show the same."""
    model, pages = rounds(run_round, method, population, n_rounds)
    twin, twin_pages = rounds(federation.run_round, method, population, n_rounds)
    assert model.round == twin.round == n_rounds
    np.testing.assert_allclose(model.theta, twin.theta, rtol=rtol, atol=rtol * np.abs(twin.theta).max())
    assert_same_pages(pages, twin_pages)


def assert_same_pages(pages: Sequence[Shown], twins: Sequence[Shown]) -> None:
    for page, twin in zip(pages, twins, strict=True):
        assert (page.interactions, page.clicks) == (twin.interactions, twin.clicks)
        assert page.ndcg == pytest.approx(twin.ndcg, rel=1e-12)
        assert page.reciprocal_rank == pytest.approx(twin.reciprocal_rank, rel=1e-12)
        assert page.max_rr == pytest.approx(twin.max_rr, rel=1e-12)


RANKERS = (Linear(N_FEATURES), Neural(N_FEATURES, n_hidden=6))


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("update", ["each", "batch"])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_the_compiled_round_is_the_four_verbs(ranker: Ranker, update: str, dtype: type, rtol: float) -> None:
    """Four rounds of 5 clients with 12 interactions: the same theta, the same pages and clicks."""
    method = FPDGD(ranker, learning_rate=0.3, temperature=0.7, update=update)  # type: ignore[arg-type]
    assert_twins(method, Population(queries(dtype), cascade(), 5, 12), rtol=rtol)


@pytest.mark.parametrize("ranker", RANKERS)
def test_users_who_look_at_ranks_differently(ranker: Ranker) -> None:
    """Each client its own examination probabilities, no stopping, pages of seven."""
    assert_twins(FPDGD(ranker), Population(queries(np.float64), position_based(4), 4, 10), rtol=1e-9)


@pytest.mark.parametrize(("ranker", "update"), [(RANKERS[0], "each"), (RANKERS[1], "batch")])
@pytest.mark.parametrize(
    "privacy",
    [
        FpdgdPaper(sensitivity=0.3, epsilon=5.0, n_clients=4),
        FpdgdPaper(sensitivity=0.3, epsilon=5.0, n_clients=4, variant="coded"),
        Laplace(clip=1.0, epsilon=20.0),
        Gaussian(clip=0.5, noise_multiplier=0.1, distributed=True, n_clients=4),
    ],
)
def test_privacy_draws_the_same_noise(ranker: Ranker, update: str, privacy: Mechanism) -> None:
    """Bounded after each step and released with the device's noise, as the four verbs do; rounding to a grid of noise
    may differ by a step of some 1e-6."""
    method = FPDGD(ranker, learning_rate=0.5, update=update, privacy=privacy)  # type: ignore[arg-type]
    assert_twins(method, Population(queries(np.float64), cascade(), 4, 6), rtol=1e-5, n_rounds=3)


@pytest.mark.parametrize("ranker", RANKERS)
def test_scores_far_apart(ranker: Ranker) -> None:
    """Features of size 10,000: most pages leave the range of plain weights and are weighed in logarithms.

    The learning rate is so small that a difference in the last digit does not grow from page to page.
    """
    method = FPDGD(ranker, learning_rate=1e-10)
    assert_twins(method, Population(queries(np.float64, scale=1e4), cascade(), 3, 20), rtol=1e-10)


@pytest.mark.parametrize(
    ("optimizer", "rule"), [(SGD(), Median()), (Adam(learning_rate=0.05), Mean()), (Momentum(), NormClipping())]
)
def test_a_group_of_the_compiled_rounds_is_one_of_the_four_verbs(optimizer: Optimizer, rule: Aggregation) -> None:
    """Rule, cap, guard and optimiser join what compiled clients learned as they join messages; moments go on."""
    method = FPDGD(Linear(N_FEATURES), aggregation=rule, largest_weight=5, guard=True, optimizer=optimizer)
    population = Population(queries(np.float64), cascade(), 6, 9)
    assert_twins(method, population, rtol=1e-8)
    model = method.initial(np.random.default_rng(0))
    thetas, _ = reported_thetas(method, model, population, make_streams(3, 6))
    by_messages = method.aggregate(model, [FPDGDMessage(theta, 9) for theta in thetas]).theta
    np.testing.assert_allclose(
        run_round(method, model, population, make_streams(3, 6))[0].theta, by_messages, rtol=1e-12
    )


@pytest.mark.parametrize("settings", [{"shared": (0, 4)}, {"longest_step": 0.1}, {"longest_query": 0.1}])
def test_what_is_not_compiled_goes_by_the_four_verbs(settings: dict[str, Any]) -> None:
    """Shared weights and capped steps end where the verbs end, and have no compiled messages."""
    method = FPDGD(Linear(N_FEATURES), update="batch", **settings)
    population = Population(queries(np.float64), cascade(), 3, 5)
    assert_twins(method, population, rtol=0.0)
    with pytest.raises(ValueRangeError, match="not compiled"):
        reported_thetas(method, method.initial(np.random.default_rng(0)), population, make_streams(0, 3))


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("rule", [Mean(), TrimmedMean(n_malicious=1), MultiKrum(n_malicious=1)])
def test_many_rounds_at_once_are_one_after_another(ranker: Ranker, rule: Aggregation) -> None:
    """7 rounds in one call, or in seven, with noise: the same bits, pages and streams."""
    population, privacy = (
        Population(queries(np.float64), cascade(), 6, 4),
        FpdgdPaper(sensitivity=1.0, epsilon=5.0, n_clients=6),
    )
    method = FPDGD(ranker, privacy=privacy, aggregation=rule)
    streams, others = make_streams(3, 6), make_streams(3, 6)
    model, pages = play(method, method.initial(streams.model), population, streams, 7)
    twin, seen = method.initial(others.model), []
    for _ in range(7):
        twin, page = run_round(method, twin, population, others)
        seen.append(page)
    assert (model.round, model.theta.tolist(), pages) == (7, twin.theta.tolist(), seen)
    assert streams.users.tolist() == others.users.tolist()
    for device, other in zip(streams.devices, others.devices, strict=True):
        assert device.random() == other.random()


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("rule", [Median(), Krum(n_malicious=1, distance="euclidean"), MultiKrum(n_malicious=2)])
def test_compiled_rules_join_as_the_four_verbs(ranker: Ranker, rule: Aggregation) -> None:
    """Eight clients with different numbers of pages, joined by order statistics and by the nearest."""
    population = Population(queries(np.float64), cascade(), 8, np.arange(1, 9))
    assert_twins(FPDGD(ranker, aggregation=rule), population, rtol=1e-9)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("privacy", [NoPrivacy(), FpdgdPaper(sensitivity=1.0, epsilon=5.0, n_clients=4)])
def test_proximal_steps(ranker: Ranker, privacy: Mechanism) -> None:
    """FedProx, alone and with noise; pages that teach nothing draw back too."""
    method = FPDGD(ranker, learning_rate=0.3, proximal=0.8, privacy=privacy)
    assert_twins(method, Population(queries(np.float64), cascade(), 4, 9), rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"proximal": 0.5}, {"aggregation": Median()}, {"optimizer": Momentum()}])
def test_personal_output_weights(settings: dict[str, Any]) -> None:
    """FedPer: the devices end with the same rankers, and so does the server."""
    method, data = FPDGD(RANKERS[1], personal=True, **settings), queries(np.float64)
    kept = np.tile(method.initial(np.random.default_rng(2)).theta, (3, 1))
    twins = [Population(data, cascade(), 3, 7, personal=kept.copy()) for _ in range(2)]
    model, pages = rounds(run_round, method, twins[0], 4)
    twin, twin_pages = rounds(federation.run_round, method, twins[1], 4)
    np.testing.assert_allclose(model.theta, twin.theta, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(twins[0].personal, twins[1].personal, rtol=1e-9, atol=1e-9)
    assert_same_pages(pages, twin_pages)


def test_one_client_with_many_interactions_is_centralised_pdgd() -> None:
    """1 client with 60 interactions in one round, or 60 rounds with one: the same theta and clicks."""
    method, data = FPDGD(Linear(N_FEATURES)), queries(np.float64)
    once, pages = rounds(run_round, method, Population(data, cascade(), 1, 60), 1)
    often, more_pages = rounds(run_round, method, Population(data, cascade(), 1, 1), 60)
    np.testing.assert_allclose(once.theta, often.theta, rtol=1e-12)
    assert pages[0].clicks == sum(page.clicks for page in more_pages)


def test_what_does_not_fit_is_refused() -> None:
    """Theta or features of another length, grades the users do not know, no clients, scores beyond all numbers."""
    data, method, streams = queries(np.float64), FPDGD(Linear(N_FEATURES)), make_streams(0, 2)
    model, population = method.initial(streams.model), Population(data, cascade(), 2, 3)
    with pytest.raises(ShapeError, match="theta"):
        run_round(method, Model(np.zeros(3)), population, streams)
    with pytest.raises(ShapeError, match="features"):
        run_round(FPDGD(Linear(3)), Model(np.zeros(3)), population, streams)
    with pytest.raises(ValueRangeError, match="0 clients"):
        run_round(method, model, Population(data, cascade(), 0, 3), streams)
    with pytest.raises(ValueRangeError, match="finite"):
        run_round(method, Model(np.full(N_FEATURES, np.inf)), population, streams)
    two_grades = Users(np.ones((1, 2)), np.zeros((1, 2)), np.ones((1, 10)))
    with pytest.raises(ValueRangeError, match="grades 0 to 1"):
        run_round(method, model, Population(data, two_grades, 2, 3), streams)


KINDS = [make_users(kind, top_grade=2) for kind in ("perfect", "navigational", "informational")]


def populations() -> dict[str, Population]:
    """Three clients, each time another difference between them; float64, so that scores are as exact as the verbs'."""
    data = random_queries()
    data = replace(data, features=data.features.astype(np.float64))
    labelled = replace(data, label_sets=np.stack([data.grades, 2 - data.grades, np.minimum(data.grades, 1)]))
    rng = np.random.default_rng(1)
    same = Population(data, KINDS[2], 3, 6)
    found = {
        "own users": msgspec.structs.replace(same, users=in_turn(KINDS, 3)),
        "users of every page": msgspec.structs.replace(same, users=replace(in_turn(KINDS, 3), mixed=True)),
        "own effort": msgspec.structs.replace(same, n_local=np.array([1, 3, 8])),
    }
    for name, partition in (("two grades each", Grades(each=2)), ("own labels", Intents())):
        shares = partition.split(labelled, 3, rng)
        ends = np.cumsum([0, *(share.n_queries for share in shares)])
        found[name] = msgspec.structs.replace(same, data=join(shares), holds=np.stack([ends[:-1], ends[1:]], axis=1))
    found["all at once"] = msgspec.structs.replace(
        found["own labels"], users=found["users of every page"].users, n_local=found["own effort"].n_local
    )
    return found


@pytest.mark.parametrize("ranker", [Linear(4), Neural(4, n_hidden=5)])
@pytest.mark.parametrize("difference", populations())
def test_clients_that_differ_play_as_by_the_four_verbs(difference: str, ranker: Ranker) -> None:
    """Five rounds: the same theta, weighted by each client's pages, and the same pages and clicks."""
    population, method = populations()[difference], FPDGD(ranker, learning_rate=0.3)

    def played(play: Round) -> tuple[np.ndarray, list[tuple[int, int, float]]]:
        streams, shown = make_streams(5, 3), []
        model = method.initial(streams.model)
        for _ in range(5):
            model, page = play(method, model, population, streams)
            shown.append((page.interactions, page.clicks, round(page.ndcg, 9)))
        return model.theta, shown

    (compiled, seen), (verbs, twin) = played(run_round), played(federation.run_round)
    np.testing.assert_allclose(compiled, verbs, rtol=1e-9, atol=1e-12)
    assert seen == twin
    assert all(interactions == population.local.sum() for interactions, _, _ in seen)
