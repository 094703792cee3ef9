"""What a device's updates give away: an attacker who knows everything else guesses which of ten results was opened.

The attacker (the server's operator, or anybody who gets the updates) sees what a device sends in every round of its
budget. It knows the method, the size of the noise, every common ranker, the features and the order of everything that
was shown, that people open what stands above, what was opened on all other pages, in a sealed group also what all other
members would send, and on which pages the query in question was asked, each time with the same results and the same one
opened: a habit. It does not know which of the results that is. So it tries each of them: it replays the whole round by
the method's own verbs (`FPDGD.begin`, `learn`, `hidden`) and compares with what it saw,

    ln L(i) = - sum over rounds t of  |seen_t - hidden_t(i)|^2 / (2 s^2),     s: deviation of the noise in what is seen

which is the exact likelihood; by Neyman and Pearson no attacker with this knowledge tells two of the results apart
better than by ln L(i) - ln L(j), nor guesses better than by ln L(i) + ln prior(i). RAIFLE (NDSS 2025, arXiv 2310.19163)
lets the server choose the features of what is shown; here they come from the device's own files.

How far apart two answers are is known without any drawing: `Evidence.mu` is the length between what they would have
shown in s, which foltr.privacy.accounting bounds by proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD, FPDGDLocal, FPDGDMessage
from foltr.federated.method import Model
from foltr.privacy.accounting import best_auc, mu_of
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Ranker
from simulation.rounds.federation import Population, visit
from simulation.studies import Ground, Measured

ASKED = b"the query in question"


class RoundPages(msgspec.Struct, frozen=True, eq=False):
    """What a device learned from in one round."""

    known: tuple[Interaction, ...]
    """pages of other queries, whose clicks the attacker knows"""
    n_asked: int
    """how often the page in question was there"""


class Budget(msgspec.Struct, frozen=True, eq=False):
    """All that a device learned from in all its rounds, except what was opened on the page in question."""

    asked: Interaction
    """that page as it was shown; its clicks say nothing"""
    rounds: tuple[RoundPages, ...]

    @property
    def k(self) -> int:
        """Results on the page in question."""
        return len(self.asked.ranking)


class Evidence(msgspec.Struct, frozen=True, eq=False):
    """What the attacker has in the end."""

    opened: int
    """the truth: the place (from 0) of the result that was opened"""
    log_likelihood: FloatVector
    """[k] of each place, but for a constant"""
    mu: FloatMatrix
    """[k, k] how far apart two places are over all rounds, in deviations of the noise"""


class Reconstruction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How well the result that somebody opens for one query is read from a device's updates, beside what is proven.

    The device's rounds are [federation] rounds of `local` pages, its group has `clients`; its queries, documents and
    other clicks are those of the cell. The defaults are a group's, but for the caps of one page and one query.
    """

    habit: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.25
    """share of a device's pages that are of the query in question; one at least is"""
    users: Annotated[int, msgspec.Meta(ge=2)] = 50
    """attacked one by one"""
    learning_rate: float = 0.5
    update: Literal["each", "batch"] = "batch"
    longest_step: float | None = None
    longest_query: float | None = None
    privacy: Gaussian = Gaussian(clip=0.8, noise_multiplier=1.0)

    def __post_init__(self) -> None:
        self.method(Linear(1))  # refuses what does not fit

    def method(self, ranker: Ranker) -> FPDGD:
        """By which devices learn."""
        return FPDGD(
            ranker,
            learning_rate=self.learning_rate,
            update=self.update,
            longest_step=self.longest_step,
            longest_query=self.longest_query,
            privacy=self.privacy,
        )

    def shape(self, n_rounds: int, n_pages: int) -> dict[str, int]:
        """Of a budget: rounds, pages of each, and how many of all are of the query in question."""
        n_asked = max(1, round(self.habit * n_rounds * n_pages))
        return {"n_rounds": n_rounds, "n_pages": n_pages, "n_asked": n_asked}

    def measure(self, ground: Ground) -> Iterator[Measured]:
        """One row, after the last round: `auc` and `guessed` over all users, the largest `mu`, and `auc_proven`."""
        method, population, rng = self.method(ground.ranker), ground.population, ground.rng
        found, bounds, n_pages = list[Evidence](), [], 0
        for user in range(self.users):
            client, model = user % population.n_clients, method.initial(rng)
            shape = self.shape(ground.n_rounds, int(population.local[client]))
            budget = draw_budget(pages_of(method, model, population, client, rng), **shape)
            opened = int(rng.integers(budget.k))
            found.append(attack(method, model, budget, opened=opened, n_members=population.n_clients, rng=rng))
            bounds.append(proven_mu(method, **shape, n_members=population.n_clients))
            n_pages += shape["n_rounds"] * shape["n_pages"]
        metrics = {
            "auc": auc_of_two(found),
            "auc_proven": best_auc(max(bounds)),
            "guessed": float(np.mean([guessed(one) for one in found])),
            "mu": max(float(one.mu.max()) for one in found),
        }
        yield Measured(metrics, step=ground.n_rounds, interactions=n_pages)


def pages_of(
    method: FPDGD, model: Model, population: Population, client: int, rng: np.random.Generator
) -> Callable[[], Interaction]:
    """Draws pages of a simulated client with two results or more, shown by that model, clicked as its users click.

    ValueRangeError where it has no such query.
    """
    local, (first, past_last) = method.begin(model, rng), population.ranges[client]
    choices = first + np.flatnonzero(np.diff(population.data.offsets[first : past_last + 1]) > 1)
    if not len(choices) or population.users.k < 2:
        raise ValueRangeError(f"client {client} has no page with two results, of which one could be opened")
    return lambda: visit(method, local, population, client, int(rng.choice(choices)), rng)[0]


def draw_budget(page: Callable[[], Interaction], *, n_rounds: int, n_pages: int, n_asked: int) -> Budget:
    """Rounds of `n_pages` pages each, `n_asked` of all of them those in question, evenly over the rounds."""
    if not 0 <= n_asked <= n_rounds * n_pages:
        raise ValueRangeError(f"{n_asked} pages of a query do not fit {n_rounds} rounds of {n_pages} pages")
    counts = [n_asked * (t + 1) // n_rounds - n_asked * t // n_rounds for t in range(n_rounds)]
    return Budget(page(), tuple(RoundPages(tuple(page() for _ in range(n_pages - n)), n) for n in counts))


def attack(
    method: FPDGD, model: Model, budget: Budget, *, opened: int, n_members: int, rng: np.random.Generator
) -> Evidence:
    """The evidence of a whole budget in a group of `n_members` that begins from `model`.

    Where the noise is shared out, the attacker sees the sum of all messages, less what the others would have sent
    without noise; else each message. The others answer with noise alone. ValueRangeError for other than Gaussian noise.
    """
    deviation = noise_seen(method, n_members)
    log_likelihood, squares = np.zeros(budget.k), np.zeros((budget.k, budget.k))
    for answered in budget.rounds:
        answers = replayed(method, model, budget.asked, answered)
        others = [_silent(method, model, budget.asked) for _ in range(n_members - 1)]
        messages = [method.report(local, rng) for local in (answers[opened], *others)]
        hidden = np.array([method.hidden(local) for local in answers]) / deviation
        log_likelihood -= ((_seen(method, model, messages) / deviation - hidden) ** 2).sum(axis=1) / 2
        squares += ((hidden[:, None] - hidden[None, :]) ** 2).sum(axis=2)
        model = method.aggregate(model, messages)
    return Evidence(opened, log_likelihood, np.sqrt(squares))


def replayed(method: FPDGD, model: Model, asked: Interaction, answered: RoundPages) -> list[FPDGDLocal]:
    """The device after one round, for each place `[k]` at which the result may stand that was opened."""
    known = method.begin(model, np.random.default_rng())
    for page in answered.known:
        known = method.learn(known, page)
    after = []
    for place in range(len(asked.ranking)):
        local, page = known, replace(asked, clicks=_only(place, len(asked.ranking)))
        for _ in range(answered.n_asked):
            local = method.learn(local, page, ASKED)
        after.append(local)
    return after


def noise_seen(method: FPDGD, n_members: int) -> float:
    """The deviation of the noise in what the attacker sees of one device."""
    privacy = method.privacy
    if not isinstance(privacy, Gaussian):
        raise ValueRangeError(f"the likelihood is that of Gaussian noise, not of {type(privacy).__name__}")
    shares = n_members / privacy.n_clients if privacy.distributed else 1.0
    return privacy.clip * privacy.noise_multiplier * math.sqrt(shares)


def proven_mu(method: FPDGD, *, n_rounds: int, n_pages: int, n_asked: int, n_members: int) -> float:
    """No two answers for a page that stands `n_asked` times in such a budget are further apart (`Caps`)."""
    noise, caps = noise_seen(method, n_members), method.caps(n_pages)
    assert caps is not None  # noise_seen has refused all but Gaussian noise
    moved = caps.page("replace") if n_asked <= n_rounds else caps.query("replace")
    return mu_of(moved, noise=noise, n_rounds=min(n_rounds, n_asked))


def guessed(evidence: Evidence, prior: FloatVector | None = None) -> float:
    """In how many of its k - 1 comparisons the opened result wins, a tie as half; with the prior, if one is given."""
    belief = evidence.log_likelihood + (0.0 if prior is None else np.log(prior))
    return auc(belief, _only(evidence.opened, len(belief)))


def auc_of_two(found: Sequence[Evidence]) -> float:
    """The AUC of telling two results apart: how often the evidence for one is larger where it is true than where not.

    The test's score for "i, not j" is x = ln L(i) - ln L(j). The truth is drawn alike, so where j is true the score has
    the law of -x: two trials a and b compare x_a with -x_b, and every pair of different trials counts.
    """
    against = [np.delete(e.log_likelihood[e.opened] - e.log_likelihood, e.opened) for e in found]
    scores = np.sort(np.concatenate(against))

    def wins(of: FloatVector, among: FloatVector) -> float:
        above = len(among) - np.searchsorted(among, -of, side="right")
        ties = np.searchsorted(among, -of, side="right") - np.searchsorted(among, -of, side="left")
        return float((above + ties / 2).sum())

    own = sum(wins(one, np.sort(one)) for one in against)
    n_pairs = len(scores) ** 2 - sum(len(one) ** 2 for one in against)
    return (wins(scores, scores) - own) / n_pairs


def auc(guesses: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """How often a guess for something opened is above one for something not opened, ties as half.

    Of any shape, the same for both. NaN when all or nothing was opened.
    """
    values, opened = np.ravel(np.asarray(guesses, dtype=np.float64)), np.ravel(np.asarray(truth, dtype=np.bool_))
    if values.shape != opened.shape:
        raise ShapeError(f"one guess for each result: {len(values)} guesses for {len(opened)}")
    if opened.all() or not opened.any():
        return float("nan")
    over = values[opened][:, None] - values[~opened][None, :]
    return float((over > 0).mean() + (over == 0).mean() / 2)


def _seen(method: FPDGD, model: Model, messages: Sequence[FPDGDMessage]) -> FloatVector:
    """What the attacker has of the device's update, `[n_sent]`: the first message, or the sum of all of them."""
    start = method.sent(model.theta)
    distributed = isinstance(method.privacy, Gaussian) and method.privacy.distributed
    updates = np.array([message.theta - start for message in messages])
    seen: FloatVector = updates.sum(axis=0) if distributed else updates[0]
    return seen


def _silent(method: FPDGD, model: Model, page: Interaction) -> FPDGDLocal:
    """A member that saw a page and opened nothing."""
    shown = replace(page, clicks=np.zeros(len(page.ranking), dtype=np.bool_))
    return method.learn(method.begin(model, np.random.default_rng()), shown)


def _only(place: int, k: int) -> BoolVector:
    """Clicks `[k]`: that place alone was opened."""
    clicks = np.zeros(k, dtype=np.bool_)
    clicks[place] = True
    return clicks
