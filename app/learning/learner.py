"""The device's own ranker: the shipped prior, what was learned on top of it, and how far that may go.

    t_d = theta0 . x_d without the pick memory                                    the text
    way_d = u^-1(u(t_d) + strength * what d's habits are worth) - t_d             (app.learning.traits)
    s_d = theta0 . x_d + way_d, where the largest and the least of the ways       the score
          are cut so that they are no more than the bound apart

On a page with a ranker of its own kind (app.search.code_pages) t_d is that one's: `beyond` is what it adds to theta0's.

So learning reverses two results only if their prior scores differ by less than the bound, whatever was learned.
PDGD's gradients of the pages, grouped by query, vote on which habits there are (app.learning.votes). The weights of
text features stay as shipped: learned from thousands of judged queries, they gain nothing from one person's clicks.

The net (setting learning.ranker) has no weights for single traits: it learns by PDGD's steps, all its weights at the
rates of `app.learning.prior`, and moves scores by strength * clip(r_d - median(r), -bound/2, +bound/2) with
r_d = f_theta(x_d) - prior . x_d. A pair whose learned difference has reached the bound teaches it nothing more:
otherwise theta would grow while no score could, and what had been learned could hardly be unlearned.

A page is a pure function of features and theta, unless it is explored (setting learning.exploration).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from app.learning import model_versions
from app.learning.blend import Blend
from app.learning.exploration import SMALLEST_TEMPERATURE, explored_order, noise, session_nonce
from app.learning.model_versions import LARGEST_WEIGHT, PersonalModel, import_model
from app.learning.prior import LearningRates, theta_prior
from app.learning.traits import NEW, Marks, Traits, feature_of, moved, raised, scale, wording
from app.learning.votes import Vote, Votes, lesson
from app.settings import LearningSettings
from app.store import Store
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ModelError, ShapeError
from foltr.federated.aggregation.rows import middle_of
from foltr.online.pdgd import Pairs, document_weights, preference_pairs
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES, USAGE_NAMES

DECIMALS = 9
"""places to which scores are compared: the last bits of a sum depend on the order in which it was added up"""


def best_first(scores: FloatVector) -> IntVector:
    """All rows by score; those of equal score keep their order."""
    return np.argsort(-np.round(scores, DECIMALS), kind="stable")


class LessonLog(Protocol):
    """Receives each lesson, within its transaction."""

    def learned(self, vote: Vote, n_picks: int, *, now: float) -> None: ...

    def learned_anew(self, votes: Votes, *, n_pages: int, n_picks: int) -> None: ...


class Learner:
    """Scores, orders and learns. One object may serve many threads; several processes may share one store."""

    def __init__(
        self,
        store: Store,
        *,
        settings: LearningSettings,
        theta0: npt.ArrayLike | None = None,
        feature_names: Sequence[str] = NAMES,
        manifest_hash: str = MANIFEST_HASH,
        rates: LearningRates | None = None,
        common: Callable[[], Blend | None] | None = None,
        log: LessonLog | None = None,
        of_assistant: bool = False,
    ) -> None:
        """`theta0` `[n_features]` are the linear weights to begin with, one per name; by default the shipped ones.

        `common` is asked at each scoring which ranker of this device's group, if any, to blend in.
        """
        self.prior = np.array(theta_prior() if theta0 is None else theta0, dtype=np.float64)
        if self.prior.shape != (len(feature_names),):
            raise ShapeError(f"theta0 must be [{len(feature_names)}], not {list(self.prior.shape)}")
        self.rates = rates or LearningRates.even(len(self.prior))
        self.text_weights = self.prior * ~np.isin(feature_names, USAGE_NAMES)
        """[n_features] the shipped weights of text features; 0 for features made from the user's own picks"""
        self.feature_names = tuple(feature_names)
        self.manifest_hash = manifest_hash
        self.settings = settings
        self._store, self._common, self._log, self.of_assistant = store, common, log, of_assistant
        self._model = self._shipped
        self._revision: bytes | None = b"not read yet"
        self._is_still = False

    @property
    def model(self) -> PersonalModel:
        """All that was learned, read again when any process changed it; ModelError when it is damaged."""
        if self._is_still:
            return self._model
        with self._store.lock:
            name = self.settings.ranker
            revision = model_versions.revision(self._store, name)
            if revision != self._revision:
                stored = model_versions.load(self._store, name) if revision else None
                self._model = self._fitted(stored) if stored else self._shipped
                self._revision = revision
            return self._model

    @property
    def habits(self) -> Votes:
        """What the queries of this device vote for; nothing where learning is off, and for the net."""
        return self.model.votes if self.settings.enabled else Votes()

    def prefers_older(self) -> bool:
        """Whether this person's clicks say consistently that older documents are better.

        False on a new device, after a few clicks, while queries contradict each other, and for the net.
        """
        return self.habits.liking.get(NEW, 0.0) < 0.0

    def text(self, features: FloatMatrix, beyond: FloatVector | None = None) -> FloatVector:
        """t_d `[n_docs]`: what the shipped weights give for the text, plus what the page's kind adds to that."""
        text: FloatVector = features @ self.text_weights
        return text if beyond is None else text + beyond

    def scores(self, features: FloatMatrix, marks: Marks = (), beyond: FloatVector | None = None) -> FloatVector:
        """s_d for each candidate, `[n_docs]`; `marks` are their folders and types, where they are known."""
        scores: FloatVector = features @ self.prior
        if self.settings.enabled and len(features):
            scores = self._personal(features, marks, self.model, beyond)
            blend = self._common() if self._common else None
            scores = blend.scores(features, scores) if blend else scores
        return scores if beyond is None else scores + beyond

    def rehearsal(self) -> Rehearsal:
        """This learner begun anew from the shipped ranker, without a group; it stores nothing."""
        return Rehearsal(self, self._shipped)

    def rehearsed(
        self, pages: Iterable[Interaction], queries: Iterable[bytes], marks: Iterable[Marks]
    ) -> Iterator[FloatVector]:
        """The personal scores `[n_docs]` of each page, by what was learned from only the pages before it.

        They begin with the shipped ranker and have no group: they show what learning is worth on pages not seen yet.
        `queries` names the query of each page; b"" makes it a query of its own.
        """
        state = self.rehearsal()
        for page, query, own in zip(pages, queries, marks, strict=True):
            yield state.scores(page.features, own)
            state = state.after(page, query, marks=own)

    def order(
        self,
        features: FloatMatrix,
        documents: Sequence[int | bytes],
        *,
        k: int,
        explore: bool = True,
        now: float | None = None,
        scores: FloatVector | None = None,
    ) -> IntVector:
        """All rows, best first, as they should be shown: `[n_docs]`.

        `documents` name the rows (document ids or hashes): the same document has the same luck all session. The
        first k places explore at the settings' temperature unless `explore` is off.
        """
        scores = self.scores(features) if scores is None else scores
        temperature = self.settings.exploration if explore and self.settings.enabled else 0.0
        by_score = best_first(scores)
        if not temperature or not len(scores):
            return by_score
        nonce = session_nonce(self._store, now=time.time() if now is None else now)
        return explored_order(scores, noise(nonce, documents), by_score=by_score, k=k, temperature=temperature)

    def learn(
        self,
        features: npt.ArrayLike,
        ranking: npt.ArrayLike,
        clicks: npt.ArrayLike,
        *,
        scores: npt.ArrayLike | None = None,
        query: bytes = b"",
        marks: Marks = (),
        beyond: FloatVector | None = None,
        now: float | None = None,
    ) -> str | None:
        """Learn from one page and keep it; theta, the page and the counts in one transaction, durable on return.

        The lesson in one line for the user: "learned from 1 pick: you often open PDFs". None, and
        nothing kept, when nothing was opened or learning is off. `scores` are those the page was ranked by, by
        default the present ones; `query` names the query (hashed), a page without one counts as a query of its own;
        `marks` are the folders and types of its documents, where they are known. A page of another kind than texts
        (`beyond` as in `scores`) is not kept: it tells nothing of the ranker of texts, which is what a group improves.
        """
        page = Interaction(np.asarray(features, dtype=np.float64), np.asarray(ranking), np.asarray(clicks))
        if not self.settings.enabled or not page.clicks.any():
            return None
        moment = time.time() if now is None else now
        with self._store.transaction():
            former = self.model
            shown = np.asarray(self.scores(page.features, marks, beyond) if scores is None else scores)
            model = self._taught(page, former, query, marks, shown, day=date.fromtimestamp(moment), beyond=beyond)
            n_picks = int(page.clicks.sum())
            model = replace(model, n_picks=former.n_picks + n_picks, updated=moment)
            self._save(model, moment)
            if self._log and model.ranker.name == "linear":
                self._log.learned(model.votes.recent[-1], n_picks, now=moment)
            cap = self.settings.max_interactions
            if beyond is None:
                self._store.add_interaction(page, manifest_hash=self.manifest_hash, cap=cap, query=query, marks=marks)
        return self._sentence(n_picks, model)

    def contributions(
        self, features: FloatMatrix, marks: Marks = (), beyond: FloatVector | None = None
    ) -> tuple[FloatMatrix, FloatMatrix]:
        """Points by feature, `[n_docs, n_features]` each: from the prior, and from what was learned.

        In a group the first are those of the prior and the common ranker together. Both together add up to a
        candidate's score, except for what lies `beyond`. The prior's share is theta0 * x; what a habit adds is listed
        under the feature of its trait (`feature_of`). The net's share says how the features in which the document
        differs from the query's median one (by r) raised or lowered it.
        """
        learned = np.zeros_like(features)
        if self.settings.enabled and len(features):
            of_linear = self.model.ranker.name == "linear"
            learned = self._by_habits(features, marks, beyond) if of_linear else self._by_net(features)
        shipped = self.prior * features
        blend = self._common() if self._common and self.settings.enabled else None
        return (shipped, learned) if blend is None else blend.contributions(features, shipped, learned)

    def _by_habits(self, features: FloatMatrix, marks: Marks, beyond: FloatVector | None) -> FloatMatrix:
        traits, points = self._habitual(features, marks, self.model.votes, beyond)
        learned = np.zeros_like(features)
        for name, own in zip(traits.names, points.T, strict=True):
            if own.any():
                learned[:, self.feature_names.index(feature_of(name))] += own
        return learned

    def _by_net(self, features: FloatMatrix) -> FloatMatrix:
        model, seen = self.model, self.rates.seen(features)
        learned, r = np.zeros_like(seen), model.learned(seen)
        n = len(r)
        middles = np.argsort(r, kind="stable")[(n - 1) // 2 : n // 2 + 1]  # the median is the mean of their values
        for middle in middles:
            shares = model.ranker.attributions(model.theta, seen, seen[middle])
            learned += (shares - model.prior * (seen - seen[middle])) / len(middles)
        free, bounded = r - middle_of(r), self.settings.strength * self._bounded(r)
        learned *= np.divide(bounded, free, out=np.zeros_like(free), where=free != 0)[:, None]
        return learned

    def as_it_is(self) -> Learner:
        """This learner as it scores at this moment, whatever is learned later."""
        still = copy(self)
        blend = self._common() if self._common else None
        still._common = lambda: blend
        still._model, still._is_still = self.model, True
        return still

    def reset(self, day: date | None = None, *, now: float | None = None) -> None:
        """Back to the shipped prior, or to the end of a day of the last month; other days' versions stay."""
        moment = time.time() if now is None else now
        with self._store.transaction():
            model = None
            if day is not None:
                today = date.fromtimestamp(moment)
                model = model_versions.as_of(self._store, self.settings.ranker, day=day, today=today)
            self._become(self._fitted(model) if model else self._shipped, moment)

    def days(self, *, now: float | None = None) -> tuple[date, ...]:
        """The days of the last month on which something was learned, oldest first; see `reset`."""
        today = date.fromtimestamp(time.time() if now is None else now)
        return model_versions.days(self._store, self.settings.ranker, today=today)

    def import_file(self, path: Path, *, by_name: bool = False, now: float | None = None) -> None:
        """Make the model in a file the present one; ModelError when it does not fit."""
        model = import_model(path, feature_names=self.feature_names, manifest_hash=self.manifest_hash, by_name=by_name)
        if model.ranker.name != self.settings.ranker:
            raise ModelError(
                f"{path} holds a {model.ranker.name} ranker; this device uses the {self.settings.ranker} one "
                "(setting learning.ranker)"
            )
        with self._store.transaction():
            self._become(model, time.time() if now is None else now)

    def _become(self, model: PersonalModel, moment: float) -> None:
        self._save(model, moment)
        if self._log:
            self._log.learned_anew(model.votes, n_pages=model.n_pages, n_picks=model.n_picks)

    def hold(self, votes: Votes, *, n_pages: int, n_picks: int, updated: float, now: float) -> None:
        """Replace what was learned by this; the net, which knows no votes, stays as it is."""
        if self.settings.ranker == "linear":
            model = replace(self._shipped, votes=votes, n_pages=n_pages, n_picks=n_picks, updated=updated)
            self._save(model, now)

    def _personal(
        self, features: FloatMatrix, marks: Marks, model: PersonalModel, beyond: FloatVector | None = None
    ) -> FloatVector:
        """The scores `[n_docs]` of this model, without a group and without what lies `beyond`."""
        text: FloatVector = features @ self.prior
        if not len(features):
            return text
        if model.ranker.name == "linear":
            way: FloatVector = self._habitual(features, marks, model.votes, beyond)[1].sum(axis=1)
        else:
            way = self.settings.strength * self._bounded(model.learned(self.rates.seen(features)))
        return text + way

    def _traits(self, features: FloatMatrix, marks: Marks, beyond: FloatVector | None) -> Traits:
        """The traits of a page; on an assistant's pages of source code only marks: age and length are chance there."""
        return Traits.of(features, () if self.of_assistant and beyond is not None else self.feature_names, marks)

    def _habitual(
        self, features: FloatMatrix, marks: Marks, votes: Votes, beyond: FloatVector | None
    ) -> tuple[Traits, FloatMatrix]:
        """The traits of the documents, and the points `[n_docs, n_traits]` by which habits move them."""
        traits = self._traits(features, marks, beyond)
        if not any(name in votes.liking for name in traits.names):
            return traits, np.zeros_like(traits.held)
        text = self.text(features, beyond)
        points = moved(text, self.settings.strength * raised(traits, votes.liking, text))
        way = points.sum(axis=1)
        least, most = min(float(way.min()), 0.0), max(float(way.max()), 0.0)
        kept = min(1.0, self.settings.bound / max(most - least, 1e-12))
        bounded = np.clip(way, kept * least, kept * most)
        return traits, points * np.divide(bounded, way, out=np.zeros_like(way), where=way != 0)[:, None]

    def _bounded(self, r: FloatVector) -> FloatVector:
        half = self.settings.bound / 2
        return np.clip(r - middle_of(r), -half, half)

    def _taught(
        self, page: Interaction, model: PersonalModel, query: bytes, marks: Marks, scores: FloatVector, *, day: date,
        beyond: FloatVector | None = None,
    ) -> PersonalModel:  # fmt: skip
        """The model after one more page, which was ranked by `scores` `[n_docs]`."""
        if model.ranker.name == "linear":
            traits = self._traits(page.features, marks, beyond)
            said = lesson(page, scale(self.text(page.features, beyond)), traits, of_assistant=self.of_assistant)
            votes = model.votes.after(Vote(query, day.toordinal(), said))
            return replace(model, votes=votes, n_pages=model.n_pages + 1)
        weights = document_weights(self._open_pairs(page, model, scores), page.n_docs)
        slope = model.ranker.weighted_gradient(model.theta, self.rates.seen(page.features), weights)
        step = self.rates.step(model.ranker, self.settings.learning_rate * slope)
        theta = np.clip(model.theta + step, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return replace(model, theta=theta, n_pages=model.n_pages + 1)

    def _open_pairs(self, page: Interaction, model: PersonalModel, scores: npt.ArrayLike) -> Pairs:
        """The page's preferences, without those that are already learned as far as the bound allows."""
        tau = self.settings.exploration
        tau = tau if tau >= SMALLEST_TEMPERATURE else 1.0
        pairs = preference_pairs(scores, page, temperature=tau)
        r = model.learned(self.rates.seen(page.features))
        settled = r[pairs.preferred] - r[pairs.other] >= self.settings.bound
        return pairs._replace(weight=np.where(settled, 0.0, pairs.weight))

    @cached_property
    def _shipped(self) -> PersonalModel:
        """A model that has learned nothing: the ranker's own form of the shipped weights."""
        ranker = make_ranker(self.settings.ranker, len(self.feature_names))
        if self.settings.ranker == "linear":
            theta = self.prior.copy()  # without numpy.random, whose loading costs as much as half a query
        else:
            # The net's idle units need not be secret, and a device that starts again should start the same.
            theta = ranker.from_linear(self.prior, np.random.default_rng(0))
        return PersonalModel(ranker, self.manifest_hash, self.feature_names, prior=self.prior, theta=theta)

    def _fitted(self, model: PersonalModel) -> PersonalModel:
        """A stored model for the features of this program: carried over by name when the manifest has changed."""
        if (model.manifest_hash, model.feature_names) == (self.manifest_hash, self.feature_names):
            return model
        return model.carried_over(self.feature_names, self.manifest_hash)

    def _save(self, model: PersonalModel, moment: float) -> None:
        revision = model_versions.save(self._store, model, date.fromtimestamp(moment))
        self._model, self._revision = model, revision

    def _sentence(self, n_picks: int, model: PersonalModel) -> str:
        """The lesson in one line, naming up to two habits in force that it supports."""
        picks = "1 pick" if n_picks == 1 else f"{n_picks} picks"
        if model.ranker.name != "linear":
            return f"learned from {picks}"
        votes = model.votes
        said = {name: r for name, (r, _) in votes.recent[-1].said.items()}
        for_it = sorted((name for name, r in said.items() if r * votes.liking.get(name, 0.0) > 0), key=said.__getitem__)
        if not for_it:
            return f"learned from {picks}: no habit yet"
        wordings = dict.fromkeys(wording(name, votes.liking[name]) for name in for_it[::-1])
        often = "often open" if votes.often.issuperset(for_it) else "like to open"
        return f"learned from {picks}: you {often} {' and '.join(list(wordings)[:2])}"


class Rehearsal(Struct, frozen=True, eq=False):
    """What a learner would know after some pages: the same lessons, of which nothing is kept."""

    learner: Learner
    model: PersonalModel

    def scores(self, features: FloatMatrix, marks: Marks = ()) -> FloatVector:
        """s_d for each candidate, `[n_docs]`."""
        return self.learner._personal(features, marks, self.model)

    def after(self, page: Interaction, query: bytes, *, marks: Marks) -> Rehearsal:
        """The rehearsal after one more lesson."""
        if not page.clicks.any():
            return self
        scores = self.scores(page.features, marks)
        return replace(self, model=self.learner._taught(page, self.model, query, marks, scores, day=date.min))
