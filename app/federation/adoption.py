"""Whether a new common ranker is adopted: only if this device's own pages show that it serves its user no worse.

Each stored page is ranked again by both rankers. The utility of a ranking counts the opened results by where it puts
them, each weighted by the inverse of the chance that its user looked where it was shown:

    utility = sum over opened d of  min(rank shown, 10) * 1 / log2(1 + new rank of d)

(inverse propensity scoring with p = 1 / rank, clipped at 1/10: what was found far down counts for more, because most
results that far down were never seen.) It is a test of non-inferiority: the lower end of the one-sided 95 % interval of
the mean difference must be above -MARGIN of the present ranker's utility. Pages of one query are one voice in its
standard error. With too little evidence a ranker fails; pure noise that costs less than MARGIN passes now and then.

A device with too few pages for the test believes of a noisy ranker what is more than noise (`group_ranker.believed`),
and tests it once there are enough. An adopted ranker is then weighed against the personal one (`app.learning.blend`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from app.federation import group_ranker, membership
from app.federation.failures import Declined
from app.federation.group_ranker import GroupRanker
from app.federation.round_answer import ReplayPages, newest_pages
from app.federation.server import Correspondence, check_terms, theta_of
from app.federation.terms import method_of
from app.learning.learner import Learner
from app.learning.prior import LearningRates, theta_prior
from app.settings import Settings
from app.store import Store
from foltr.arrays import FloatVector
from foltr.federated.wire import Announcement, ModelRecord, Signed, Terms, decode, digest, encode
from foltr.online.ips import clipped_propensities, position_propensities
from foltr.privacy.mechanisms import NoPrivacy
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES

FEWEST_PAGES = 20
"""with fewer the test could hardly find anything: then as much of the ranker is adopted as is more than its noise"""
FEWEST_QUERIES = 5
"""least queries among the pages, for a standard error over queries"""
MOST_PAGES = 500
"""the newest ones: more would take too long"""
SMALLEST_PROPENSITY = 0.1
MARGIN = 0.02
"""share of the present ranker's utility by which the new one may be worse, as far as the pages can tell"""
NORMAL_95 = 1.6449
"""the 95 % quantile of the standard normal distribution"""
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


class AdoptionVerdict(Struct, frozen=True):
    """What the test found."""

    adopt: bool
    n_pages: int
    is_tested: bool
    """whether there were enough pages; else `adopt` says whether anything of the ranker is more than noise"""
    difference: float = 0.0
    """mean utility of the new ranker less that of the present one"""
    at_least: float = 0.0
    """the lower end of its interval"""

    @property
    def sentence(self) -> str:
        """One line for a person."""
        if not self.is_tested:
            untested = f"only {self.n_pages} of your pages to test it on"
            if self.adopt:
                return f"adopted the part of the group's ranker that is more than noise ({untested})"
            return f"kept the present ranker: the group's may be nothing but noise ({untested})"
        tested = f"on {self.n_pages} of your pages, utility {self.difference:+.3f}, at least {self.at_least:+.3f}"
        if self.adopt:
            return f"adopted the group's ranker ({tested})"
        return f"kept the present ranker: the group's new one is not shown to serve you as well ({tested})"


def utility(page: Interaction, scores: FloatVector) -> float:
    """The utility to its user of ranking the page's documents by `scores` `[n_docs]`."""
    ranks = np.empty(page.n_docs)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1.0, page.n_docs + 1.0)
    opened = ranks[page.ranking[page.clicks]]
    propensities = clipped_propensities(position_propensities(1.0, k=len(page.clicks)), smallest=SMALLEST_PROPENSITY)
    return float((1.0 / propensities[page.clicks] / np.log2(1.0 + opened)).sum())


def judge(
    pages: Sequence[Interaction],
    queries: Sequence[bytes],
    new: Sequence[FloatVector],
    present: Sequence[FloatVector],
    *,
    believable: bool = True,
) -> AdoptionVerdict:
    """Compare two rankers by their scores of each page `[n_docs]`; b"" is the query of a page without a name.

    With too few pages, or too few queries, the new one must be `believable`.
    """
    voices = voices_of(queries)
    if len(pages) < FEWEST_PAGES or len(set(voices)) < FEWEST_QUERIES:
        return AdoptionVerdict(adopt=believable, n_pages=len(pages), is_tested=False)
    worth = np.array([utility(page, scores) for page, scores in zip(pages, present, strict=True)])
    differences = np.array([utility(page, scores) for page, scores in zip(pages, new, strict=True)]) - worth
    at_least = lower_bound(differences, voices)
    adopt = at_least >= -MARGIN * float(worth.mean())
    return AdoptionVerdict(adopt, len(pages), True, float(differences.mean()), at_least)


def voices_of(queries: Sequence[bytes]) -> list[int]:
    """A number for each page, the same for pages of one query; a page without a name has a voice of its own."""
    known: dict[bytes, int] = {}
    return [known.setdefault(query, place) if query else place for place, query in enumerate(queries)]


def lower_bound(differences: FloatVector, voices: Sequence[int]) -> float:
    """The lower end of the one-sided 95 % interval of the mean of `differences` `[n]`, clustered by voice.

        mean - t sqrt(G / (G - 1) sum over the G voices of (sum of their deviations)^2) / n

    (Liang and Zeger 1986), t the quantile of Student's distribution with G - 1 degrees of freedom, by the first term of
    its expansion around the normal one: within .01 from ten degrees on.
    """
    mean, n = float(differences.mean()), len(differences)
    sums = np.bincount(np.unique(voices, return_inverse=True)[1], weights=differences - mean)
    n_voices = len(sums)
    error = float(np.sqrt(n_voices / (n_voices - 1) * (sums @ sums))) / n
    return mean - NORMAL_95 * (1.0 + (NORMAL_95**2 + 1.0) / (4.0 * (n_voices - 1))) * error


def consider(store: Store, settings: Settings, terms: Terms, offered: ModelRecord, *, now: int) -> str:
    """Adopt the group's newest ranker, or keep the present one, and blend anew; a sentence, "" for nothing new.

    The ranker that a group begins with is the shipped one: there is nothing to adopt.
    A ranker that was adopted untested is tested once there are enough pages; if it fails, it stays as it was.
    """
    present = group_ranker.load(store)
    if present is None and offered.ranker == "linear" and np.array_equal(theta_of(offered), theta_prior()):
        return ""  # nothing was learned yet: every device has this one
    seen = newest_pages(store, MANIFEST_HASH, n=MOST_PAGES)
    pages, sentence, chosen = seen.interactions, "", present
    is_new = digest(offered) != membership.load_standing(store).tested
    is_untested = present is not None and not present.tested and present.hash == digest(offered)
    if is_new or (is_untested and len(pages) >= FEWEST_PAGES):
        verdict = compare(seen, offered, present, terms)
        if is_new or verdict.is_tested:
            sentence = verdict.sentence
            membership.note_standing(store, tested=digest(offered), verdict=sentence)
        if verdict.adopt:
            chosen = group_ranker.made(offered, tested=verdict.is_tested, now=now)
    if chosen is None:
        return sentence
    rehearsed = list(learner_of(store, settings).rehearsed(pages, seen.queries, seen.marks))
    alpha = chosen_alpha(pages, common_scores(chosen, pages), rehearsed)
    if present is None or (present.hash, present.alpha, present.tested) != (chosen.hash, alpha, chosen.tested):
        group_ranker.save(store, chosen.record, alpha=alpha, tested=chosen.tested, now=now)
    return sentence


def consider_known(store: Store, settings: Settings, *, now: int) -> str:
    """`consider` what another device of this person fetched; drops a ranker of a lineage that the group has left."""
    standing, stored = membership.load_standing(store), store.value(membership.RANKER_SEEN)
    adopted, terms = group_ranker.load(store), standing.agreed_terms
    if adopted is not None and adopted.record.lineage < standing.lineage:
        store.erase("group_ranker")
    if stored is None or terms is None:
        return ""
    check_terms(terms)
    return consider(store, settings, terms, decode(decode(stored, Signed).body, ModelRecord), now=now)


def note_newest(store: Store, announced: Announcement, signed: Signed, newest: ModelRecord) -> None:
    """Keep the group's newest ranker as the server signed it, if it is of the lineage that this device follows."""
    if newest.lineage == announced.lineage and store.value(membership.RANKER_SEEN) != encode(signed):
        store.set_value(membership.RANKER_SEEN, encode(signed), durable=True)


def follow_lineage(store: Store, server: Correspondence, announced: Announcement) -> str:
    """Settle what becomes of the ranker of a lineage that the group has left; a sentence, "" for nothing to say.

    A server that lost it by a restore gets it back. If the server has learned on without it, the adopted ranker stays
    until the group's is shown to serve no worse. A ranker that the group gave up, as when somebody was forgotten, is
    dropped before anything else.
    """
    stored, adopted = store.value(membership.RANKER_SEEN), group_ranker.load(store)
    signed = decode(stored, Signed) if stored is not None else None
    before = adopted.record if adopted is not None else None
    before = decode(signed.body, ModelRecord) if signed is not None else before
    if before is None or before.lineage >= announced.lineage:
        return ""
    try:
        newest = server.hand_back_ranker(signed) if signed is not None else None
    except Declined as refusal:
        if refusal.reason == "gone-on":
            return (
                f"the server was restored from a backup, and goes on without the ranker of round {before.round} that "
                "this device has: yours stays until the group's is shown to serve you as well"
            )
        newest = None
    if newest is None:
        store.erase("group_ranker")
        return ""
    if newest.lineage == announced.lineage:
        return ""
    return f"the server was restored from a backup: it has the ranker of round {before.round} back from this device"


def compare(seen: ReplayPages, offered: ModelRecord, present: GroupRanker | None, terms: Terms) -> AdoptionVerdict:
    """The test of `offered` against the adopted ranker, or against the shipped one where none was adopted."""
    new = group_ranker.made(offered, tested=True, now=0)
    return judge(
        seen.interactions, seen.queries, common_scores(new, seen.interactions),
        common_scores(present, seen.interactions), believable=is_believable(offered, terms),
    )  # fmt: skip


def is_believable(offered: ModelRecord, terms: Terms) -> bool:
    """Whether anything of an untested ranker is more than its noise; False where the noise is not known."""
    if isinstance(method_of(terms).privacy, NoPrivacy):
        return True
    untested = group_ranker.made(offered, tested=False, now=0)
    return offered.noise > 0.0 and offered.ranker == "linear" and bool((untested.theta != theta_prior()).any())


def common_scores(adopted: GroupRanker | None, pages: Sequence[Interaction]) -> list[FloatVector]:
    """The scores of each page's documents by a common ranker; None stands for the shipped one."""
    if adopted is None:
        prior = theta_prior()
        return [page.features @ prior for page in pages]
    ranker, theta = make_ranker(adopted.record.ranker, len(NAMES)), adopted.theta
    return [ranker.score(theta, page.features) for page in pages]


def learner_of(store: Store, settings: Settings) -> Learner:
    """This device's personal ranker, without a group."""
    return Learner(store, settings=settings.learning, rates=LearningRates.shipped(NAMES))


def chosen_alpha(pages: Sequence[Interaction], common: Sequence[FloatVector], personal: Sequence[FloatVector]) -> float:
    """The alpha of the blend that serves best on these pages, given both rankers' scores of each `[n_docs]`.

    The personal ranker's scores are those from before it learned from the page, so that it is not judged on pages it
    has learned by heart. Of equal ones the smallest, which trusts what many have learned. With fewer than FEWEST_PAGES
    pages: 0 where this device has learned nothing, else one half.
    """
    if len(pages) < FEWEST_PAGES:
        return 0.5 if pages else 0.0

    def served(alpha: float) -> float:
        scored = zip(pages, common, personal, strict=True)
        return sum(utility(page, (1.0 - alpha) * c + alpha * p) for page, c, p in scored)

    return max(ALPHAS, key=lambda alpha: (served(alpha), -alpha))
