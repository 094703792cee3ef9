"""The attacker who knows all but one thing, against the server's defaults: it gets to what is proven, and not beyond.

Trials are few here and many in benchmarks.reconstruction. Seeds are fixed; a mean of n comparisons in [0, 1] is further
than sqrt(ln(1000) / 2n) above its expectation once in a thousand seeds (Hoeffding), which is the margin allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

import msgspec
import numpy as np
import pytest

from app.federation.terms import method_of, protection_of
from benchmarks.reconstruction import best_guessed, by_position, page_shown
from federation_server.settings import MethodSection, ServerSettings
from federation_server.setup import terms_of
from foltr.arrays import FloatMatrix
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.federated.wire import Terms
from foltr.online import pdgd
from foltr.privacy.accounting import best_auc, best_guess
from foltr.privacy.mechanisms import Gaussian, Laplace
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from simulation.studies.reconstruction import (
    Budget,
    Evidence,
    RoundPages,
    attack,
    auc,
    auc_of_two,
    draw_budget,
    guessed,
    noise_seen,
)

K, N_FEATURES, N_MEMBERS, N_ROUNDS = 10, len(NAMES), 5, 4
PRIOR = by_position(K)
PAIRS = np.nonzero(~np.eye(K, dtype=bool))


def agreed(mode: Literal["open", "sealed"]) -> Terms:
    """The terms of a group that was made with the server's defaults."""
    settings = ServerSettings(method=MethodSection(mode=mode))
    return terms_of(settings, "group", features=NAMES, manifest_hash=MANIFEST_HASH)


TERMS = {"open": agreed("open"), "sealed": agreed("sealed")}
PROVEN = {name: protection_of(terms).mu_query or math.inf for name, terms in TERMS.items()}
OPEN, SUMMED = method_of(TERMS["open"]), method_of(TERMS["sealed"])
assert isinstance(SUMMED.privacy, Gaussian)
METHODS = {
    "open": OPEN,
    "sealed": replace(SUMMED, privacy=msgspec.structs.replace(SUMMED.privacy, n_clients=N_MEMBERS)),
    "without caps": replace(OPEN, longest_step=None, longest_query=None),
}


@cache
def trials(name: str, n_asked: int, n_trials: int, *, positions: bool = False) -> tuple[Evidence, ...]:
    """Budgets of four rounds of twelve pages, or of five for few that were asked for, with random features; the truth
    drawn alike, or as people click."""
    rng, found, n_pages = np.random.default_rng(n_asked), [], 5 if n_asked <= 8 else 12
    for _ in range(n_trials):
        theta = rng.normal(size=N_FEATURES)

        def page(theta: np.ndarray = theta) -> Interaction:
            return page_shown(rng.random((K, N_FEATURES)), theta, PRIOR, rng)

        budget = draw_budget(page, n_rounds=N_ROUNDS, n_pages=n_pages, n_asked=n_asked)
        opened = int(rng.choice(K, p=PRIOR) if positions else rng.integers(K))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pdgd, "gradient", once_a_page(pdgd.gradient))
            patch.setattr(pdgd, "pair_weights", once_a_ranking(pdgd.pair_weights))
            found.append(attack(METHODS[name], Model(theta), budget, opened=opened, n_members=N_MEMBERS, rng=rng))
    return tuple(found)


def once_a_page(gradient: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Worked out once for a page and a ranker: a habit shows the same page to the same ranker many times."""
    known: dict[tuple[int, bytes], tuple[Interaction, np.ndarray]] = {}

    def remembered(ranker: Linear, theta: np.ndarray, page: Interaction, **named: float) -> np.ndarray:
        key = id(page), theta.tobytes()
        if key not in known:
            known[key] = page, gradient(ranker, theta, page, **named)
        return known[key][1]

    return remembered


def once_a_ranking(pair_weights: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """All pairs at once: the attacker asks of the same ranking with each of its results opened."""
    known: dict[tuple[bytes, bytes], np.ndarray] = {}

    def remembered(scores: np.ndarray, ranking: np.ndarray, *, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        key = scores.tobytes(), ranking.tobytes()
        if key not in known:
            known[key] = np.zeros((K, K))
            known[key][PAIRS] = pair_weights(scores, ranking, first=PAIRS[0], second=PAIRS[1])
        return known[key][first, second]

    return remembered


def margin(n_trials: int) -> float:
    return math.sqrt(math.log(1000) / (2 * n_trials))


def surprises(found: Sequence[Evidence]) -> FloatMatrix:
    """How far the evidence is from what is foretold, `[n_trials, k - 1]`: standard normal, if the noise is as said.

    For the result that was opened against another, mu apart, ln L - ln L' is normal around mu^2 / 2 with deviation mu.
    """
    rows = []
    for e in found:
        mu, ahead = np.delete(e.mu[e.opened], e.opened), e.log_likelihood[e.opened] - e.log_likelihood
        rows.append((np.delete(ahead, e.opened) - mu**2 / 2) / mu)
    return np.array(rows)


def assert_is_as_foretold(found: Sequence[Evidence]) -> None:
    """Mean 0 and variance 1 over the trials: each row's mean varies by 1 at most, that of its squares by 2."""
    drawn = surprises(found)
    assert abs(drawn.mean()) < 3.3 / math.sqrt(len(found))
    assert abs((drawn**2).mean() - 1) < 3.3 * math.sqrt(2 / len(found))


@pytest.mark.parametrize("name", ["open", "sealed"])
@pytest.mark.parametrize("n_asked", [1, 8, 20, 40])
def test_a_habit_shows_no_more_than_is_proven(name: str, n_asked: int) -> None:
    """One page, and habits of 8, 20 and 40 pages: no two results are further apart than the caps allow."""
    farthest = max(e.mu.max() for e in trials(name, n_asked, 3))
    if n_asked == 1:
        assert farthest <= PROVEN[name] / math.sqrt(N_ROUNDS) * (1 + 1e-9)
    else:
        assert PROVEN[name] / 3 < farthest <= PROVEN[name] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["open", "sealed"])
def test_the_measured_guess_is_below_the_proven_one(name: str) -> None:
    """A habit of eight pages, which fills the caps: guesses and AUC stay below the bound, and are what mu says."""
    found = trials(name, 8, 40)
    assert_is_as_foretold(found)
    measured = np.mean([guessed(e) for e in found])
    assert measured <= best_guess(PROVEN[name]) + margin(40)
    foretold = np.mean([best_guess(mu) for e in found for place, mu in enumerate(e.mu[e.opened]) if place != e.opened])
    assert abs(measured - foretold) <= margin(40)
    bound = best_auc(PROVEN[name])
    assert auc_of_two(found) <= bound + 3.3 * math.sqrt(bound * (1 - bound) / 40) < 0.95  # no AUC varies by more


def test_knowing_where_people_click_helps_no_more_than_is_proven() -> None:
    """With the prior by position the guesses are better, and below the bound for that prior."""
    found = trials("open", 8, 40, positions=True)
    assert_is_as_foretold(found)
    assert np.mean([guessed(e, PRIOR) for e in found]) <= best_guessed(PROVEN["open"], PRIOR) + margin(40)
    assert best_guessed(PROVEN["open"], PRIOR) < best_guessed(0.0, PRIOR) + 0.03


def test_the_same_attacker_reads_a_habit_without_caps() -> None:
    """What holds the guesses down is the caps: without them the same budget is far above the bound of the default."""
    found = trials("without caps", 40, 12)
    assert np.mean([guessed(e) for e in found]) > best_guess(PROVEN["open"]) + 0.15
    assert max(e.mu.max() for e in found) > 3 * PROVEN["open"]


def test_next_to_no_noise_hides_nothing() -> None:
    """The attacker is able: with noise of a thousandth, one page of sixteen tells what was opened."""
    bare = replace(OPEN, privacy=Gaussian(clip=0.8, noise_multiplier=1e-3))
    rng, right = np.random.default_rng(3), []
    for _ in range(20):
        theta = rng.normal(size=N_FEATURES)
        pages = [page_shown(rng.random((K, N_FEATURES)), theta, PRIOR, rng) for _ in range(5)]
        budget, opened = Budget(pages[0], (RoundPages(tuple(pages[1:]), 1),)), int(rng.integers(K))
        found = attack(bare, Model(theta), budget, opened=opened, n_members=1, rng=rng)
        right.append(found.log_likelihood.argmax() == opened)
    assert np.mean(right) >= 0.95


def test_the_distance_of_two_answers_by_hand() -> None:
    """Two documents e1 and e2 of equal scores: a step of eta/8 (e1 - e2), or the other way, so eta/4 sqrt 2 apart.

    rho is 1/2, P(1 - P) is 1/4. Over noise of .1 that is 2.5 sqrt 2 at eta 1, cut to 2 * .1 / .1 by a cap of .1; and
    what a second round adds to it adds as squares do.
    """
    method = FPDGD(Linear(2), learning_rate=1.0, update="batch", privacy=Gaussian(clip=1.0, noise_multiplier=0.1))
    page = Interaction(np.eye(2), np.arange(2), np.zeros(2, dtype=np.bool_))
    slope = pdgd.gradient(Linear(2), np.zeros(2), replace(page, clicks=np.array([True, False])))
    assert slope == pytest.approx([0.125, -0.125])

    def apart(method: FPDGD, n_rounds: int) -> float:
        budget = Budget(page, (RoundPages((), 1),) * n_rounds)
        found = attack(method, Model(np.zeros(2)), budget, opened=0, n_members=1, rng=np.random.default_rng(0))
        return float(found.mu[0, 1])

    assert apart(method, 1) == pytest.approx(2.5 * math.sqrt(2), rel=1e-9)
    held = replace(method, longest_step=0.1)
    assert [apart(held, n) for n in (1, 4)] == pytest.approx([2.0, 4.0], rel=1e-9)


def test_noise_that_is_seen_by_hand() -> None:
    """All of a device's own; of a sum with shares for 4, where 9 came, 3/2 of what was planned."""
    assert noise_seen(OPEN, 9) == pytest.approx(0.8)
    shared_out = replace(OPEN, privacy=Gaussian(clip=0.5, noise_multiplier=2.0, distributed=True, n_clients=4))
    assert noise_seen(shared_out, 9) == pytest.approx(1.5)
    with pytest.raises(ValueRangeError, match="Gaussian"):
        noise_seen(replace(OPEN, privacy=Laplace(clip=1.0, epsilon=1.0)), 5)


def test_a_budget_holds_the_pages_that_were_asked_for() -> None:
    """Forty of 160 pages are ten a round; ten of 64 rounds come one at a time; more than there are is refused."""
    rng = np.random.default_rng(0)

    def page() -> Interaction:
        return page_shown(rng.random((3, 2)), np.ones(2), by_position(2), rng)

    assert [r.n_asked for r in draw_budget(page, n_rounds=4, n_pages=40, n_asked=40).rounds] == [10] * 4
    sparse = draw_budget(page, n_rounds=64, n_pages=3, n_asked=10).rounds
    assert sorted(r.n_asked for r in sparse) == [0] * 54 + [1] * 10
    assert all(len(r.known) + r.n_asked == 3 for r in sparse)
    with pytest.raises(ValueRangeError):
        draw_budget(page, n_rounds=2, n_pages=3, n_asked=7)


def evidence(opened: int, *log_likelihood: float) -> Evidence:
    return Evidence(opened, np.array(log_likelihood), np.zeros((len(log_likelihood),) * 2))


def test_measures_by_hand() -> None:
    """Guesses of one trial; the AUC of two trials with scores 1, -1 and 2, 0: six of eight comparisons are won."""
    assert guessed(evidence(0, 1.0, 2.0, 0.0)) == 0.5
    assert guessed(evidence(1, 0.0, 0.0), np.array([0.9, 0.1])) == 0.0
    assert auc([3, 1, 2, 1], [True, True, False, False]) == 2.5 / 4
    assert np.isnan(auc([1.0, 2.0], [True, True]))
    with pytest.raises(ShapeError):
        auc([1.0], [True, False])
    two = [evidence(0, 1.0, 0.0, 2.0), evidence(0, 2.0, 0.0, 2.0)]
    # x_a + x_b > 0 for a != b: 1 + 2, 1 + 0, -1 + 2 are above 0, -1 + 0 is below; each in both orders
    assert auc_of_two(two) == 6 / 8
    tied = [evidence(0, 1.0, 0.0), evidence(0, 0.0, 1.0)]
    assert auc_of_two(tied) == 0.5


def test_the_bound_with_a_prior_by_hand() -> None:
    """Two results: the best guess between them. Nothing seen: of each pair the likelier one."""
    two: Callable[[float], float] = lambda mu: best_guessed(mu, np.array([0.7, 0.3]))  # noqa: E731
    assert two(1.3) == pytest.approx(best_guess(1.3, 0.7))
    # (.5 + .3) (.5 / .8) / 2 + (.5 + .2) (.5 / .7) / 2 + (.3 + .2) (.3 / .5) / 2 = (.5 + .5 + .3) / 2
    assert best_guessed(0.0, np.array([0.5, 0.3, 0.2])) == pytest.approx(0.65)
