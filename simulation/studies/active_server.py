"""A server that chooses the features of what is shown, so that an update gives away what was opened on it.

RAIFLE (Pham, Kulkarni, Houmansadr, NDSS 2025, arXiv 2310.19163): in one round a device learns from B pages by PDGD. The
server knows ranker, rate and pages; where it is active it has put noise N(0, .1^2) in place of a share of the features
of everything shown, so that no two results move the ranker alike. From the update it then finds the clicks that explain
it best,

    minimise  |clip(u(I)) - seen|^2  over I in [0, 1]^n,    n: results on all pages

u(I) being the expected update of independent clicks with the probabilities I, by L-BFGS from random starts. With whole
clicks u is the device's own update: a pair of an opened result i and a passed one j counts

    I_i (1 - I_j) P(a click at the rank above j or below it | I_i)

What a page weighs depends on the ranker it found, and so on the clicks before it; where every page takes its own step
the weights are found again by replaying the clicks found. A manipulation of 0 is the passive attack (inversion of the
update). The published program counts every pair of an opened result and another; here only those with a passed one
count, as in PDGD. Both draw the clicks of a page again until something is opened and something is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
import numpy as np

from foltr.arithmetic import dots, exp, length, normals
from foltr.arrays import BoolMatrix, FloatArray, FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD, FPDGDLocal
from foltr.federated.method import Model
from foltr.online.pdgd import reversed_pair_weight
from foltr.privacy.mechanisms import Gaussian, Mechanism, NoPrivacy
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from simulation.rounds.federation import Population
from simulation.studies import Ground, Measured
from simulation.studies.reconstruction import auc

NOISE = 0.1
"""standard deviation of the features that the server makes up (RAIFLE, Section V and its program)"""
TRIES = 200
"""times that the clicks of a page are drawn before another query is"""
REPLAYS = 3
"""times that the weights of pages are found again from the clicks found"""
RIDGE = 1e-4
"""on the log-odds of the clicks, which nothing else would keep finite"""


class ActiveServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """RAIFLE: how well clicks are read from one update by a server that makes up features (AUC)."""

    manipulated: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    """share of the features that the server makes up; 0: the passive attack"""
    users: Annotated[int, msgspec.Meta(ge=1)] = 50
    """attacked one by one, in the first round"""
    restarts: Annotated[int, msgspec.Meta(ge=1)] = 2
    """random starts of the search, of which the best is taken"""
    learning_rate: float = 0.1
    update: Literal["each", "batch"] = "each"
    privacy: Mechanism = NoPrivacy()

    def measure(self, ground: Ground) -> Iterator[Measured]:
        """One row: the mean `auc` over users, each over all results of its pages."""
        if not isinstance(self.privacy, NoPrivacy | Gaussian):
            raise ValueRangeError("method.privacy: the attack knows Gaussian noise, or none")
        if not isinstance(ground.ranker, Linear):
            raise ValueRangeError("method.ranker: the attack is on linear rankers")
        method = FPDGD(ground.ranker, learning_rate=self.learning_rate, update=self.update, privacy=self.privacy)
        found, n_pages = [], 0
        for user in range(self.users):
            client = user % ground.population.n_clients
            model = method.initial(ground.rng)
            pages, local = learned_round(method, model, ground.population, client, self.manipulated, ground.rng)
            seen = method.report(local, ground.rng).theta - model.theta
            guess = reconstructed(method, model, pages, seen, restarts=self.restarts, rng=ground.rng)
            found.append(auc(np.concatenate(guess), np.concatenate([page.clicks for page in pages])))
            n_pages += len(pages)
        yield Measured({"auc": float(np.mean(found))}, interactions=n_pages)


def learned_round(
    method: FPDGD, model: Model, population: Population, client: int, manipulated: float, rng: np.random.Generator
) -> tuple[list[Interaction], FPDGDLocal]:
    """The pages of one round as the device learns from them, only what is shown, and the device after it.

    Ranked by the true features, as by a server that wants to go unnoticed. ValueRangeError where users open nothing.
    """
    local, pages = method.begin(model, rng), list[Interaction]()
    for _ in range(TRIES * int(population.local[client])):
        page = _clicked_page(method, local, population, client, rng)
        if page is not None:
            pages.append(replace(page, features=made_up(page.features, manipulated, rng)))
            local = method.learn(local, pages[-1])
        if len(pages) == population.local[client]:
            return pages, local
    raise ValueRangeError(f"users of this kind open nothing, or all, on {TRIES} pages in a row")


def _clicked_page(
    method: FPDGD, local: FPDGDLocal, population: Population, client: int, rng: np.random.Generator
) -> Interaction | None:
    """A page with something opened and something not; None for a query that does not come to it."""
    data = population.data
    rows = data.rows(population.draw_query(client, rng))
    features = data.features[rows].astype(np.float64)
    ranking = method.rank(local, features, rng, k=population.users.k)
    for _ in range(TRIES):
        clicks = population.users.clicks(data.grades[rows][ranking], client, rng)
        if clicks.any() and not clicks.all():
            return Interaction(features[ranking], np.arange(len(ranking)), clicks)
    return None


def made_up(features: FloatMatrix, share: float, rng: np.random.Generator) -> FloatMatrix:
    """The features `[n_docs, n_features]` with that share of the columns, drawn at random, filled with noise."""
    columns = rng.permutation(features.shape[1])[: int(features.shape[1] * share)]
    made = features.copy()
    made[:, columns] = NOISE * normals(rng, len(features), len(columns))
    return made


def reconstructed(
    method: FPDGD,
    model: Model,
    pages: Sequence[Interaction],
    seen: FloatVector,
    *,
    restarts: int,
    rng: np.random.Generator,
) -> list[FloatVector]:
    """For each result of each page a guess how likely it was opened; the clicks of `pages` are not looked at."""
    shown = ShownPages.of(pages)
    best, least = np.zeros(shown.there.shape), np.inf
    for _ in range(restarts):
        odds, thetas = rng.uniform(-1.0, 1.0, shown.there.shape), [model.theta] * len(pages)
        for _ in range(1 if method.update == "batch" else REPLAYS):
            weights = np.array([page_weights(page, theta, shown.k) for page, theta in zip(pages, thetas, strict=True)])
            fit = Fit(shown, weights, method.learning_rate, seen, clip_of(method))
            found, value = least_of(fit.loss, odds.ravel())
            odds = found.reshape(odds.shape)
            thetas = met_thetas(method, model, pages, odds > 0)
        if value < least:
            best, least = odds, value
    return [row[: len(page.clicks)] for row, page in zip(_chance(best), pages, strict=True)]


def met_thetas(method: FPDGD, model: Model, pages: Sequence[Interaction], clicks: BoolMatrix) -> list[FloatVector]:
    """The ranker that each page met, were these `[n_pages, k]` the true clicks."""
    local, met = method.begin(model, np.random.default_rng(0)), []
    for page, opened in zip(pages, clicks, strict=True):
        met.append(local.theta)
        local = method.learn(local, replace(page, clicks=opened[: len(page.clicks)]))
    return met


def clip_of(method: FPDGD) -> float:
    """The longest update that leaves a device."""
    return method.privacy.clip if isinstance(method.privacy, Gaussian) else np.inf


def page_weights(page: Interaction, theta: FloatVector, k: int) -> FloatMatrix:
    """What each pair of ranks counts, `[k, k]`, symmetric, 0 beyond a shorter page that stands in ranked order."""
    scores, n = dots(page.features, theta), len(page.ranking)
    first, second = np.triu_indices(n, 1)
    p = _chance(scores[first] - scores[second])
    weights = np.zeros((k, k))
    weights[first, second] = reversed_pair_weight(scores, page.ranking, first=first, second=second) * p * (1.0 - p)
    return weights + weights.T


class ShownPages(msgspec.Struct, frozen=True, eq=False):
    """Pages of one device, the shorter ones filled up with results that weigh nothing."""

    features: FloatArray
    """[n_pages, k, n_features] in ranked order"""
    there: BoolMatrix
    """[n_pages, k] which results there are"""

    @classmethod
    def of(cls, pages: Sequence[Interaction]) -> ShownPages:
        """The longest page makes k."""
        k = max(len(page.ranking) for page in pages)
        features = np.zeros((len(pages), k, pages[0].features.shape[1]))
        there = np.zeros((len(pages), k), dtype=np.bool_)
        for number, page in enumerate(pages):
            features[number, : len(page.ranking)] = page.features
            there[number, : len(page.ranking)] = True
        return cls(features, there)

    @property
    def k(self) -> int:
        return int(self.there.shape[1])


class Fit(msgspec.Struct, frozen=True, eq=False):
    """How badly clicks explain what was seen of an update."""

    shown: ShownPages
    weights: FloatArray
    """[n_pages, k, k] what each pair of ranks counts"""
    rate: float
    seen: FloatVector
    """[n_features]"""
    clip: float

    def loss(self, odds: FloatVector) -> tuple[float, FloatVector]:
        """|clip(u) - seen|^2 / |seen|^2 + a ridge, and its slope, at log-odds `[n_pages * k]` of the clicks."""
        chances = _chance(odds.reshape(self.shown.there.shape)) * self.shown.there
        update = self.rate * np.einsum("pkf,pk->f", self.shown.features, pull(self.weights, chances))
        long = length(update)
        miss = update * min(1.0, self.clip / max(long, 1e-300)) - self.seen
        slope_of_miss = miss
        if long > self.clip:
            way = update / long
            slope_of_miss = (miss - dots(miss, way) * way) * self.clip / long
        scale = max(float(dots(self.seen, self.seen)), 1e-300)
        by = 2.0 * self.rate / scale * dots(self.shown.features, slope_of_miss)
        slope = pull_slope(self.weights, chances, by) * chances * (1.0 - chances)
        ridge = RIDGE / len(odds)
        return float(dots(miss, miss)) / scale + ridge * float(dots(odds, odds)), slope.ravel() + 2.0 * ridge * odds


MEMORY, STEPS, LEAST_FALL, LEAST_SLOPE = 10, 300, 2e-9, 1e-5
"""of the search: moves it remembers, how many it makes, what ends it: a fall by that share, a slope no steeper"""
Loss = Callable[[FloatVector], tuple[float, FloatVector]]


def least_of(loss: Loss, start: FloatVector) -> tuple[FloatVector, float]:
    """Where a loss is least downhill of `start`, and how much it is there, by L-BFGS (Nocedal 1980).

    A step is halved until the loss falls by Armijo's share of what its slope promises. A library's search gives other
    digits on another processor, and on a floor as flat as this one it ends elsewhere.
    """
    x, (value, slope) = start, loss(start)
    moves: deque[tuple[FloatVector, FloatVector, float]] = deque(maxlen=MEMORY)
    for _ in range(STEPS):
        way = downhill(slope, moves)
        step, fall = 1.0 if moves else min(1.0, 1.0 / max(length(slope), 1e-300)), float(dots(way, slope))
        while not (after := loss(x + step * way))[0] <= value + 1e-4 * step * fall:
            step /= 2.0
            if step < 1e-10:
                return x, value
        move, change, fallen = step * way, after[1] - slope, value - after[0]
        if (bend := float(dots(move, change))) > 0.0:
            moves.append((move, change, bend))
        x, (value, slope) = x + move, after
        if fallen <= LEAST_FALL * max(value, 1e-300) or np.abs(slope).max() <= LEAST_SLOPE:
            break
    return x, value


def downhill(slope: FloatVector, moves: Sequence[tuple[FloatVector, FloatVector, float]]) -> FloatVector:
    """The way of a quasi-Newton step `[n]`, from the last moves, the changes of slope on them, and their products."""
    way, shares = slope, []
    for move, change, bend in reversed(moves):
        shares.append(float(dots(move, way)) / bend)
        way = way - shares[-1] * change
    if moves:
        way = way * (moves[-1][2] / float(dots(moves[-1][1], moves[-1][1])))
    for (move, change, bend), share in zip(moves, reversed(shares), strict=True):
        way = way + (share - float(dots(change, way)) / bend) * move
    return -way


def pull(weights: FloatArray, chances: FloatMatrix) -> FloatMatrix:
    """By how much pages want each result's score to rise `[n_pages, k]`, in the mean over clicks of those chances."""
    counted = weights * expected_pairs(chances)
    wanted: FloatMatrix = counted.sum(axis=2) - counted.sum(axis=1)
    return wanted


def expected_pairs(chances: FloatMatrix) -> FloatArray:
    """P(i opened, j seen and passed) `[n_pages, k, k]`, clicks being independent: seen with a click from j - 1 down."""
    unclicked = 1.0 - chances
    pairs: FloatArray = chances[:, :, None] * unclicked[:, None, :] * _seen(_none_from(unclicked))
    ranks = np.arange(chances.shape[1])
    pairs[:, ranks, ranks] = 0.0
    return pairs


def pull_slope(weights: FloatArray, chances: FloatMatrix, by: FloatMatrix) -> FloatMatrix:
    """The slope of the sum of `by` times `pull` in the chances, each `[n_pages, k]`."""
    unclicked = 1.0 - chances
    none = _none_from(unclicked)
    wanted = weights * (by[:, :, None] - by[:, None, :])
    reach = np.einsum("pij,pi->pj", np.triu(wanted, 2), chances) * unclicked * none
    later = np.cumsum(reach, axis=1) - reach  # of all j before a rank
    later[:, :-1] += reach[:, 1:]  # and of the one behind it
    counted = wanted * _seen(none)
    slope: FloatMatrix = later / np.maximum(unclicked, 1e-300)
    slope += np.einsum("pij,pj->pi", counted, unclicked) - np.einsum("pij,pi->pj", counted, chances)
    return slope


def _none_from(unclicked: FloatMatrix) -> FloatMatrix:
    """P(no click from rank j - 1 down, but for j itself) for each rank j, `[n_pages, k]`; 0 for the first."""
    none = np.zeros_like(unclicked)
    none[:, 1:] = unclicked[:, :-1]
    none[:, :-1] *= np.cumprod(unclicked[:, :0:-1], axis=1)[:, ::-1]
    return none


def _seen(none: FloatMatrix) -> FloatArray:
    """P(j seen | i opened) `[n_pages, k, k]`: for certain up to the rank below i, else with a click from j - 1 down."""
    far = np.triu(np.ones((none.shape[1], none.shape[1])), 2)
    seen: FloatArray = 1.0 - far * none[:, None, :]
    return seen


def _chance(odds: FloatArray) -> FloatArray:
    chance: FloatArray = 1.0 / (1.0 + exp(-np.clip(odds, -500.0, 500.0)))
    return chance
