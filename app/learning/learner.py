"""The device's own ranker: the shipped prior, what was learned on top of it, and how far that may go.

    r_d = f_theta(x_d) - prior . x_d                                              what was learned and counts
    s_d = theta0 . x_d + strength * clip(r_d - median(r), -bound/2, +bound/2)     the score

So learning reverses two results only if their prior scores differ by less than strength * bound, whatever theta is.
A learned weight counts in theta once enough different queries agree on it (`app.learning.evidence`).
The gradient is PDGD's at these scores with the slope of f_theta (straight-through). A pair whose learned difference
already is the whole bound teaches nothing more: otherwise theta would grow where no score can, and what had been
learned could hardly be unlearned.

A page is a pure function of features and theta, unless it is explored (setting learning.exploration): then its first
k places are a Plackett-Luce sample of score / temperature whose noise depends only on the
session and the document, so the order stays still while a query is typed and when it comes back.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from itertools import repeat
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from app.learning import models
from app.learning.blend import Blend
from app.learning.evidence import forget_steps, keep_steps, squares_after, steps_of
from app.learning.models import LARGEST_WEIGHT, PersonalModel, export_model, import_model
from app.learning.pace import Pace
from app.settings import LearningSettings
from app.store import Store
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ModelError, ShapeError
from foltr.federated.aggregation.rows import middle_of
from foltr.online.pdgd import Pairs, document_weights, preference_pairs
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import rank_with_noise
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import NAMES

DATE_FEATURES = ("recent_week", "recent_year", "newer")
"""all larger for newer documents"""
IDLE_SECONDS = 30 * 60.0
"""a session ends after so long without a search"""
SMALLEST_TEMPERATURE = 1e-3
"""below it nothing would ever change places, and the gradient's 1 / temperature would explode: it counts as 0"""
DECIMALS = 9
"""scores are compared to so many places: the last bits of a sum depend on the order in which it was added up"""
_TOUCH_SECONDS = 60.0
"""how often the time of the last search is written down"""


class _Session(msgspec.Struct, frozen=True):
    nonce: bytes
    last: float


def session_nonce(store: Store, *, now: float) -> bytes:
    """The 16 random bytes of the present session, shared by all processes; new after 30 idle minutes.

    A damaged record, or a time from the future, begins a new session.
    """
    stored = store.value("session")
    session = None
    if stored is not None:
        try:
            session = msgspec.msgpack.decode(stored, type=_Session)
        except msgspec.MsgspecError:
            session = None
    if session is None or not -_TOUCH_SECONDS <= now - session.last <= IDLE_SECONDS:
        session = _Session(os.urandom(16), now)
    elif now - session.last < _TOUCH_SECONDS:
        return session.nonce
    store.set_value("session", msgspec.msgpack.encode(_Session(session.nonce, now)))
    return session.nonce


def noise(nonce: bytes, documents: Sequence[int | bytes]) -> FloatVector:
    """Standard Gumbel noise `[n_docs]` that depends on the session and on each document's own key only."""
    uniform = np.array([_uniform(nonce, key) for key in documents], dtype=np.float64)
    return -np.log(-np.log(uniform))


def _uniform(nonce: bytes, document: int | bytes) -> float:
    """A number in (0, 1) from 52 bits of a keyed hash."""
    name = document if isinstance(document, bytes) else document.to_bytes(8, "little", signed=True)
    bits = int.from_bytes(hashlib.blake2b(name, key=nonce, digest_size=8).digest(), "little") >> 12
    return (bits + 0.5) / 2.0**52


def explored_order(scores: FloatVector, gumbel: FloatVector, *, k: int, temperature: float) -> IntVector:
    """All rows: the first k sampled from score / temperature with this noise, the rest by score.

    Temperature 0 sorts by score; rows of equal score keep their order.
    """
    by_score = np.argsort(-np.round(scores, DECIMALS), kind="stable")
    if temperature < SMALLEST_TEMPERATURE:
        return by_score
    first = rank_with_noise(scores / temperature, gumbel, k=k)
    return np.concatenate([first, by_score[~np.isin(by_score, first)]])


class Learner:
    """Scores, orders and learns. One object may serve many threads; several processes may share one store."""

    def __init__(
        self,
        store: Store,
        *,
        theta0: npt.ArrayLike,
        feature_names: Sequence[str],
        manifest_hash: str,
        settings: LearningSettings,
        pace: Pace | None = None,
        common: Callable[[], Blend | None] | None = None,
    ) -> None:
        """`theta0` `[n_features]` are the shipped linear weights; ShapeError unless there is one per name.

        `common` says, each time anew, which ranker of this device's group has its share in each score.
        """
        self.prior = np.array(theta0, dtype=np.float64)
        if self.prior.shape != (len(feature_names),):
            raise ShapeError(f"theta0 must be [{len(feature_names)}], not {list(self.prior.shape)}")
        self.pace = pace or Pace.even(len(self.prior))
        self.feature_names = tuple(feature_names)
        self.manifest_hash = manifest_hash
        self.settings = settings
        self._store, self._common = store, common
        self._model = self._shipped()
        self._revision: bytes | None = b"not read yet"
        self._is_still = False

    @property
    def model(self) -> PersonalModel:
        """All that was learned, read again when any process changed it; ModelError when it is damaged."""
        if self._is_still:
            return self._model
        with self._store.lock:
            name = self.settings.ranker
            revision = models.revision(self._store, name)
            if revision != self._revision:
                stored = models.load(self._store, name) if revision else self._linear_in_this_form()
                self._model = self._fitted(stored) if stored else self._shipped()
                self._revision = revision
            return self._model

    @property
    def in_force(self) -> PersonalModel:
        """The present model with those learned weights alone that are more than chance: what scores are made of."""
        return self._counted(self.model)

    def prefers_older(self) -> bool:
        """Whether this person's clicks say consistently that older documents are better.

        True when the learned weights of the document's date that count (see `in_force`) add up to less than 0: the
        oldest result then gains over the newest. False on a new device, after a few clicks, while queries contradict
        each other, and for the net, which has no weights of single features.
        """
        if not self.settings.enabled or self.settings.ranker != "linear":
            return False
        model = self.in_force
        learned = dict(zip(model.feature_names, (model.theta - model.prior).tolist(), strict=True))
        return bool(sum(learned.get(name, 0.0) for name in DATE_FEATURES) < 0.0)

    def scores(self, features: FloatMatrix) -> FloatVector:
        """s_d for each candidate, `[n_docs]`."""
        text: FloatVector = features @ self.prior
        if not (self.settings.enabled and len(features)):
            return text
        personal = text + self._moved(features, self.in_force)
        blend = self._common() if self._common else None
        return blend.scores(features, personal) if blend else personal

    def rehearsal(self) -> Rehearsal:
        """This learner from the shipped ranker on, without a group and without a memory of its own."""
        return Rehearsal(self, self._shipped())

    def rehearsed(self, pages: Iterable[Interaction], queries: Iterable[bytes] | None = None) -> Iterator[FloatVector]:
        """The personal scores `[n_docs]` of each page by what was learned from the pages before it alone.

        It begins with the shipped ranker and has no group: what learning is worth on pages that it has not seen yet.
        `queries` names the query of each page, b"" for one of its own; without them each page counts as such.
        """
        state = self.rehearsal()
        for page, query in zip(pages, repeat(b"") if queries is None else queries, strict=False):
            scores = state.scores(page.features)
            yield scores
            state = state.after(page, query, scores=scores)

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
        if temperature < SMALLEST_TEMPERATURE or not len(scores):
            return explored_order(scores, np.zeros(len(scores)), k=k, temperature=0.0)
        nonce = session_nonce(self._store, now=time.time() if now is None else now)
        return explored_order(scores, noise(nonce, documents), k=k, temperature=temperature)

    def learn(
        self,
        features: npt.ArrayLike,
        ranking: npt.ArrayLike,
        clicks: npt.ArrayLike,
        *,
        scores: npt.ArrayLike | None = None,
        query: bytes = b"",
        now: float | None = None,
    ) -> str | None:
        """Learn from one page and keep it; theta, the page and the counts in one transaction, durable on return.

        The lesson in one line for the user: "learned from 1 pick: more weight on folder share, recency". None, and
        nothing kept, when nothing was opened or learning is off. `scores` are those the page was ranked by, by
        default the present ones; `query` names the query (hashed), a page without one counts as a query of its own.
        """
        page = Interaction(np.asarray(features, dtype=np.float64), np.asarray(ranking), np.asarray(clicks))
        if not self.settings.enabled or not page.clicks.any():
            return None
        moment = time.time() if now is None else now
        with self._store.transaction():
            former = self.model
            pairs = self._open_pairs(page, former, self.scores(page.features) if scores is None else scores)
            before = steps_of(self._store, former, query, keep=self.pace.keep)
            model, after = self._taught(page, former, pairs, before=before)
            n_picks = int(page.clicks.sum())
            model = replace(model, n_picks=former.n_picks + n_picks, updated=moment)
            keep_steps(self._store, model, query, after)
            self._save(model, moment)
            cap = self.settings.max_interactions
            self._store.add_interaction(page, manifest_hash=self.manifest_hash, cap=cap, query=query)
        change = document_weights(pairs, page.n_docs) @ self.pace.seen(page.features)
        return self._sentence(n_picks, change, model)

    def contributions(self, features: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """Points by feature, `[n_docs, n_features]` each: from the prior, and from what was learned.

        In a group the first are those of the prior and the common ranker together. Both sums
        together are a candidate's score. The prior's share is theta0 * x; the learned share says how the features in
        which the document differs from the query's middle one (the median of r) raised or lowered it.
        """
        seen = self.pace.seen(features)
        learned = np.zeros_like(seen)
        if self.settings.enabled and len(seen):
            model = self.in_force
            r = model.learned(seen)
            middles = _middle_rows(r)
            for middle in middles:
                shares = model.ranker.attributions(model.theta, seen, seen[middle])
                learned += (shares - model.prior * (seen - seen[middle])) / len(middles)
            free, bounded = r - middle_of(r), self._moved(features, model)
            learned *= np.divide(bounded, free, out=np.zeros_like(free), where=free != 0)[:, None]
        shipped = self.prior * features
        blend = self._common() if self._common and self.settings.enabled else None
        return (shipped, learned) if blend is None else blend.contributions(features, shipped, learned)

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
                model = models.as_of(self._store, self.settings.ranker, day=day, today=today)
            forget_steps(self._store, self.settings.ranker)
            self._save(self._fitted(model) if model else self._shipped(), moment)

    def days(self, *, now: float | None = None) -> tuple[date, ...]:
        """The days of the last month on which something was learned, oldest first; see `reset`."""
        today = date.fromtimestamp(time.time() if now is None else now)
        return models.days(self._store, self.settings.ranker, today=today)

    def export(self, path: Path) -> None:
        """Write the present model to a file; see `app.learning.models`."""
        export_model(self.model, path)

    def import_file(self, path: Path, *, by_name: bool = False, now: float | None = None) -> None:
        """Make the model in a file the present one; ModelError when it does not fit."""
        model = import_model(path, feature_names=self.feature_names, manifest_hash=self.manifest_hash, by_name=by_name)
        if model.ranker.name != self.settings.ranker:
            raise ModelError(
                f"{path} holds a {model.ranker.name} ranker; this device uses the {self.settings.ranker} one "
                "(setting learning.ranker)"
            )
        with self._store.transaction():
            forget_steps(self._store, self.settings.ranker)
            self._save(model, time.time() if now is None else now)

    def _counted(self, model: PersonalModel) -> PersonalModel:
        return model.sure(gate=self.pace.gate, doubt=self.pace.doubt)

    def _moved(self, features: FloatMatrix, model: PersonalModel) -> FloatVector:
        """strength * clip(r - median(r)): how far learning moves each document, `[n_docs]`; `model` is in force."""
        r = model.learned(self.pace.seen(features))
        half = self.settings.bound / 2
        return self.settings.strength * np.clip(r - middle_of(r), -half, half) if len(r) else r

    def _rehearsed_scores(self, features: FloatMatrix, model: PersonalModel) -> FloatVector:
        return features @ self.prior + self._moved(features, self._counted(model))

    def _rehearse(
        self, page: Interaction, model: PersonalModel, scores: FloatVector, before: FloatVector | None
    ) -> tuple[PersonalModel, FloatVector]:
        return self._taught(page, model, self._open_pairs(page, model, scores), before=before)

    def _taught(
        self, page: Interaction, model: PersonalModel, pairs: Pairs, *, before: FloatVector | None
    ) -> tuple[PersonalModel, FloatVector]:
        """The model after the lesson in these preferences of one page, and what the page's query has taught now.

        `before` is what it had taught before, faded as after this lesson's predecessor; None for a query of its own.
        The net spreads one preference over many weights, and each would fade before it counts: it keeps them all.
        """
        weights, seen = document_weights(pairs, page.n_docs), self.pace.seen(page.features)
        slope = self.settings.learning_rate * model.ranker.weighted_gradient(model.theta, seen, weights)
        step, keep, taught = self.pace.step(model.ranker, slope), self.pace.keep, np.zeros(len(self.feature_names))
        theta, squares = model.theta + step, model.squares
        if model.ranker.name == "linear":
            before = taught if before is None else keep * before
            taught = before + step
            theta = model.prior + keep * (model.theta - model.prior) + step
            squares = np.minimum(squares_after(model.squares, before, taught, keep=keep), LARGEST_WEIGHT)
        theta = np.clip(theta, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return replace(model, theta=theta, squares=squares, n_pages=model.n_pages + 1), taught

    def _open_pairs(self, page: Interaction, model: PersonalModel, scores: npt.ArrayLike) -> Pairs:
        """The page's preferences, without those that are already learned as far as the bound allows."""
        tau = self.settings.exploration
        tau = tau if tau >= SMALLEST_TEMPERATURE else 1.0
        pairs = preference_pairs(scores, page, temperature=tau)
        r = model.learned(self.pace.seen(page.features))
        settled = r[pairs.preferred] - r[pairs.other] >= self.settings.bound
        return pairs._replace(weight=np.where(settled, 0.0, pairs.weight))

    def _shipped(self) -> PersonalModel:
        """A model that has learned nothing: the ranker's own form of the shipped weights."""
        ranker = make_ranker(self.settings.ranker, len(self.feature_names))
        if self.settings.ranker == "linear":
            theta = self.prior.copy()  # without numpy.random, whose loading costs as much as half a query
        else:
            # The net's idle units need not be secret, and a device that starts again should start the same.
            theta = ranker.from_linear(self.prior, np.random.default_rng(0))
        return PersonalModel(ranker, self.manifest_hash, self.feature_names, prior=self.prior, theta=theta)

    def _linear_in_this_form(self) -> PersonalModel | None:
        """What the linear ranker has learned, as the starting point of another one; None when it learned nothing."""
        linear = models.load(self._store, "linear")
        if linear is None:
            return None
        ranker = make_ranker(self.settings.ranker, len(linear.feature_names))
        theta = self._counted(linear).theta
        return replace(linear, ranker=ranker, theta=ranker.from_linear(theta, np.random.default_rng(0)))

    def _fitted(self, model: PersonalModel) -> PersonalModel:
        """A stored model for the features of this program: carried over by name when the manifest has changed."""
        if (model.manifest_hash, model.feature_names) == (self.manifest_hash, self.feature_names):
            return model
        return model.carried_over(self.feature_names, self.manifest_hash)

    def _save(self, model: PersonalModel, moment: float) -> None:
        revision = models.save(self._store, model, date.fromtimestamp(moment))
        self._model, self._revision = model, revision

    def _sentence(self, n_picks: int, change: FloatVector, model: PersonalModel) -> str:
        """Names the features that gained most in this lesson, at most two; of those that count where there are any."""
        picks = "1 pick" if n_picks == 1 else f"{n_picks} picks"
        gained = [i for i in np.argsort(-change) if change[i] > 1e-9]
        if not gained:
            return f"learned from {picks}: nothing new"
        sure = self._counted(model)
        counted = [i for i in gained if model.ranker.name != "linear" or sure.theta[i] != sure.prior[i]]
        names = ", ".join(self.feature_names[i].replace("_", " ") for i in (counted or gained)[:2])
        return f"learned from {picks}: {'more weight on' if counted else 'a first sign for'} {names}"


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """What a learner would know after some pages: the same lessons, of which nothing is kept."""

    learner: Learner
    model: PersonalModel
    taught: Mapping[bytes, tuple[int, FloatVector]] = field(default_factory=dict)
    """by query the number of its last lesson, and what its lessons had taught up to then `[n_features]`"""

    def scores(self, features: FloatMatrix) -> FloatVector:
        """s_d for each candidate, `[n_docs]`."""
        return self.learner._rehearsed_scores(features, self.model)

    def after(self, page: Interaction, query: bytes = b"", *, scores: FloatVector | None = None) -> Rehearsal:
        """With one more lesson; `scores` are those that the page was ranked by, by default the present ones."""
        given = self.scores(page.features) if scores is None else scores
        before = None
        if query in self.taught:
            lesson, steps = self.taught[query]
            before = steps * self.learner.pace.keep ** (self.model.n_pages - lesson)
        model, after = self.learner._rehearse(page, self.model, given, before)
        taught = {**self.taught, query: (model.n_pages, after)} if query else self.taught
        return replace(self, model=model, taught=taught)


def _middle_rows(values: FloatVector) -> tuple[int, ...]:
    """The row of the median value, or the two rows whose mean it is."""
    order, n = np.argsort(values, kind="stable"), len(values)
    return tuple(int(row) for row in order[(n - 1) // 2 : n // 2 + 1])


class Prior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of prior.json, which `python -m benchmarks train_prior` writes."""

    v: int
    weights: dict[str, float]
    """feature -> weight; a feature that is not named has 0"""
    provenance: dict[str, str]


PRIOR = Path(__file__).parents[1] / "prior.json"


@lru_cache(maxsize=1)
def load_prior() -> Prior:
    """Read the shipped prior; ModelError when it names a feature that does not exist."""
    prior = msgspec.json.decode(PRIOR.read_bytes(), type=Prior)
    unknown = sorted(set(prior.weights) - set(NAMES))
    if unknown:
        raise ModelError(f"prior.json weighs features that do not exist: {', '.join(unknown)}")
    return prior


def theta_prior() -> FloatVector:
    """theta0 [n_features] in the order of the manifest."""
    weights = load_prior().weights
    return np.array([weights.get(name, 0.0) for name in NAMES])
