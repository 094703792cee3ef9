"""Simulated people of a group: what each wants of the files of a collection, what they open, how well they are served.

A person wants what a text judgement says is relevant and what their taste asks for, nothing else. They ask the queries
of one half of their collection; nDCG@10 is that of the other half. Pages are ranked by scores alone: likeness and
copies, which the program looks at as well, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.federation import adoption
from app.learning.learner import Rehearsal
from benchmarks.group_pages import AskedQuery, Files, gains
from foltr.arrays import BoolVector, FloatVector, Int64Vector
from foltr.federated.fpdgd import FPDGD, FPDGDLocal, FPDGDMessage
from foltr.federated.method import Model
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.interaction import Interaction
from simulation.rounds.click_models import Users

CUTOFF = 10
MOST_TRIES = 20
"""searches for each page on which something is opened, before someone gives up"""
_DISCOUNTS = 1.0 / np.log2(np.arange(2.0, CUTOFF + 2.0))


@dataclass(frozen=True, slots=True)
class Taste:
    """Which files someone wants among the relevant ones; None: does not care."""

    kind: int | None = None
    """index into KINDS"""
    recent: bool | None = None

    def wanted(self, files: Files) -> BoolVector:
        """`[n]`"""
        liked = np.ones(len(files.grades), dtype=np.bool_)
        if self.kind is not None:
            liked &= files.kinds == self.kind
        if self.recent is not None:
            liked &= files.is_recent == self.recent
        return liked & (files.grades > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One taste over one collection of files."""

    taste: Taste
    asked: list[AskedQuery]
    held_out: list[AskedQuery]

    def served(self, scores: list[FloatVector]) -> float:
        """Mean nDCG@10 of the held-out queries, given the scores of each one's candidates `[n_docs]`."""
        return float(np.mean([self._ndcg(query, own) for query, own in zip(self.held_out, scores, strict=True)]))

    def served_by(self, theta: FloatVector) -> float:
        """The same by a linear ranker `[n_features]`."""
        return self.served([query.features @ theta for query in self.held_out])

    def _ndcg(self, query: AskedQuery, scores: FloatVector) -> float:
        order = np.argsort(-scores, kind="stable")[:CUTOFF]
        won = gains(query.found, self.taste.wanted(query.found))[order]
        ideal = -np.sort(-gains(query.judged, self.taste.wanted(query.judged)))[:CUTOFF]
        return float(won @ _DISCOUNTS[: len(won)]) / float(ideal @ _DISCOUNTS[: len(ideal)])


def person(taste: Taste, queries: list[AskedQuery], rng: np.random.Generator) -> Person:
    """Someone with this taste; one half of the queries to which there is anything that they want are held out."""
    able = [query for query in queries if taste.wanted(query.judged).any()]
    shuffled = [able[i] for i in rng.permutation(len(able)).tolist()]
    return Person(taste, shuffled[::2], shuffled[1::2])


@dataclass(slots=True, eq=False)
class Member:
    """A person with a device in the group: what it has seen and learned, and what it has adopted."""

    person: Person
    alone: Rehearsal
    """what it has learned without the group"""
    users: Users
    pages: list[Interaction] = field(default_factory=list)
    rehearsed: list[FloatVector] = field(default_factory=list)
    queries: list[bytes] = field(default_factory=list)
    common: FloatVector | None = None
    """[n_features] the adopted ranker"""
    alpha: float = 0.0
    n_sent: int = 0
    """pages that its answers were learned from"""
    lie: FloatVector | None = None
    """[n_sent] what it says in a sealed group instead of what it learned"""

    def scores(self, query: AskedQuery) -> FloatVector:
        """What the device ranks by, `[n_docs]`."""
        own = self.alone.scores(query.features, query.marks)
        return own if self.common is None else (1.0 - self.alpha) * (query.features @ self.common) + self.alpha * own

    def searches(self, n_pages: int, rng: np.random.Generator) -> None:
        """Ask until something was opened on so many pages; learn from each."""
        wanted, tries = len(self.pages) + n_pages, 0
        while len(self.pages) < wanted and tries < MOST_TRIES * n_pages:
            tries += 1
            query = self.person.asked[int(rng.integers(len(self.person.asked)))]
            scores = self.scores(query)
            ranking = np.argsort(-scores, kind="stable")[: self.users.k]
            grades = np.where(self.person.taste.wanted(query.found), query.found.grades, 0)[ranking]
            clicks = self.users.clicks(grades.astype(np.int8), 0, rng)
            if clicks.any():
                page = Interaction(query.features, ranking, clicks)
                self.rehearsed.append(self.alone.scores(page.features, query.marks))
                self.alone = self.alone.after(page, query.name.encode(), marks=query.marks)
                self.pages.append(page)
                self.queries.append(query.name.encode())

    def answers(self, method: FPDGD, model: Model, rng: np.random.Generator) -> FPDGDMessage:
        """What the device sends of the pages that it has not sent yet, by the method's own verbs."""
        return method.report(self._learned(method, model, rng), rng)

    def steps(self, method: FPDGD, model: Model, rng: np.random.Generator) -> Int64Vector:
        """The same in a sealed group, in steps of the noise's grid `[n_sent]`."""
        assert isinstance(method.privacy, Gaussian)
        learned = method.hidden(self._learned(method, model, rng))
        return method.privacy.release_steps(learned if self.lie is None else self.lie, rng)

    def _learned(self, method: FPDGD, model: Model, rng: np.random.Generator) -> FPDGDLocal:
        local = method.begin(model, rng)
        for page, query in zip(self.pages[self.n_sent :], self.queries[self.n_sent :], strict=True):
            local = method.learn(local, page, query)
        self.n_sent = len(self.pages)
        return local

    def considers(self, theta: FloatVector, shipped: FloatVector) -> None:
        """Test the group's ranker `[n_features]` on the device's own pages and blend it, as app.federation does."""
        present = shipped if self.common is None else self.common
        new, old = ([page.features @ ranker for page in self.pages] for ranker in (theta, present))
        if adoption.judge(self.pages, self.queries, new, old, believable=False).adopt:
            self.common = theta
        if self.common is not None:
            common = [page.features @ self.common for page in self.pages]
            self.alpha = adoption.chosen_alpha(self.pages, common, self.rehearsed)

    def served(self) -> tuple[float, float]:
        """Mean nDCG@10 of the person's held-out queries: by what it learned alone, and as the device ranks now."""
        alone = [self.alone.scores(query.features, query.marks) for query in self.person.held_out]
        return self.person.served(alone), self.person.served([self.scores(query) for query in self.person.held_out])
