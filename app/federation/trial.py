"""A common ranker on trial: tested on this device's own pages, adopted or not, and weighed against the personal one."""

from __future__ import annotations

from collections.abc import Sequence

from app.federation import group_ranker, standing
from app.federation.adoption import MOST_PAGES, Verdict, judged
from app.federation.answers import theta_of
from app.federation.blend import chosen_alpha
from app.federation.protection import protection_of
from app.federation.replay import newest_pages
from app.learner import Learner
from app.pace import Pace
from app.prior import theta_prior
from app.settings import Settings
from app.store import Store
from foltr.arrays import FloatVector
from foltr.federated.wire import ModelRecord, Terms, digest
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES


def considered(store: Store, settings: Settings, terms: Terms, offered: ModelRecord, *, now: int) -> str:
    """Adopt the group's newest ranker, or keep the present one, and blend anew; a sentence, "" for nothing new.

    Where the noise in the mean may be longer than all that devices can say, no ranker is taken over untested.
    """
    present = group_ranker.load(store)
    pages = newest_pages(store, MANIFEST_HASH, n=MOST_PAGES).interactions
    sentence, chosen = "", present.record if present else None
    if digest(offered) != standing.load(store).tested:
        noise = protection_of(terms).relative_noise
        verdict = compared(pages, offered, chosen, trusted=noise is None or noise < 1.0)
        sentence = verdict.sentence
        standing.note(store, tested=digest(offered), verdict=sentence)
        chosen = offered if verdict.adopt else chosen
    if chosen is None:
        return sentence
    alpha = chosen_alpha(pages, common_scores(chosen, pages), list(learner_of(store, settings).rehearsed(pages)))
    if present is None or (present.hash, present.alpha) != (digest(chosen), alpha):
        group_ranker.save(store, chosen, alpha=alpha, now=now)
    return sentence


def compared(
    pages: Sequence[Interaction], offered: ModelRecord, present: ModelRecord | None, *, trusted: bool
) -> Verdict:
    """The test of `offered` against the adopted ranker, or against the shipped one where none was adopted."""
    return judged(pages, common_scores(offered, pages), common_scores(present, pages), trusted=trusted)


def common_scores(model: ModelRecord | None, pages: Sequence[Interaction]) -> list[FloatVector]:
    """The scores of each page's documents by a common ranker; None stands for the shipped one."""
    if model is None:
        prior = theta_prior()
        return [page.features @ prior for page in pages]
    ranker, theta = make_ranker(model.ranker, len(NAMES)), theta_of(model)
    return [ranker.score(theta, page.features) for page in pages]


def learner_of(store: Store, settings: Settings) -> Learner:
    """This device's personal ranker, without a group."""
    return Learner(
        store,
        theta0=theta_prior(),
        feature_names=NAMES,
        manifest_hash=MANIFEST_HASH,
        settings=settings.learning,
        pace=Pace.shipped(NAMES),
    )
