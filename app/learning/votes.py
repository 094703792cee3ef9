"""What kind of file a person opens, by votes: each query has one, and the last hundred decide.

A lesson is PDGD's gradient of the page as the text alone would rank it, less its mean if the text alone chose what is
opened. For an opened row c, S the rows seen (the first five and all down to one below the last opened one, without
the other opened ones), u the scale of the text (app.learning.traits), h what the rows have of each trait:

    g_d = PDGD's gradient of h (foltr.online.pdgd) on S at u / 2 if d were the one opened       [n_traits]
    p = softmax(u / 2);  w = k / (k - 1) * sum_d p_d (weights of d's pairs)
    r = sum_c (g_c - sum_d p_d g_d) / w;   v = sum_c (sum_d p_d g_d^2 - (sum_d p_d g_d)^2) / w^2

    the vote of a query = (r, v), or ETA (r, v) + (1 - ETA) (its former vote)

If a person went by the text alone, r would have mean 0 and variance v. So with r and v added up over
the votes, z = r / sqrt(v + DOUBT) is a score test (Rao 1948; with DOUBT as variance before any vote), and

    k = sqrt(KAPPA^2 + ln(1 + n_votes / 10))          who looks again and again finds more by chance
    liking = 2 r / (v + DOUBT) * max(0, 1 - (k / z)^2)    on the scale u, for the choice was by u / 2

A liking is 0 up to z = k, without a jump there, and while only one query votes. Only SIGNED traits may be disliked.
Nothing fades: a vote stays until its query votes again, or WINDOW others have voted. Where the last RECENT lessons by
themselves speak against a habit in force, a taste has changed: from then on they alone count for traits of that sort
(types, folders, age, length). A file found again in the first row confirms a habit if the text alone would have put
another one there.

An assistant may open anything. So its lessons also say how much better than chance the text predicts what was opened,
and a habit, which explains z^2 / 2 more (Wilks 1938), must make up for any shortfall. With n rows in S, it has none if

    sum over lessons and opened rows of ln(n p_c) + the largest z^2 / 2 of its habits < 0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from math import log, log1p, sqrt
from typing import Annotated

import msgspec
import numpy as np

from app.learning.traits import FOLDER, SIGNED, Traits, feature_of
from foltr.arrays import FloatMatrix, FloatVector
from foltr.online.pdgd import pair_weights
from foltr.ranking.interaction import Interaction

WINDOW = 100
"""queries that vote: the last ones"""
ETA = 0.3
"""share of a query's new lesson in its vote"""
DOUBT = 0.7
KAPPA = 2.0
"""standard errors at which a habit begins to count, while votes are few"""
TEMPERATURE = 2.0
"""of the choice among the rows seen, in units of the scale of the text"""
SEEN = 5
"""rows of a page that are taken as seen in any case"""
RECENT, ALARM = 12, -0.3
"""lessons that show a change of taste, and how they speak of a habit then, in standard errors"""
OFTEN, DAYS = 5, 3
"""queries, and days on which something was opened for them, from which on one may say "often" """
LEAST = 1e-3
"""a trait of which both r and v are at most this is not kept"""
BY_TEXT = "better than chance"
"""a key beside the traits of an assistant's lesson: (sum of ln(n p_c), 0)"""

Said = dict[str, tuple[Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)], Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]]]
"""trait -> (r, v)"""


def lesson(page: Interaction, scale: FloatVector, traits: Traits, *, of_assistant: bool = False) -> Said:
    """What one page says about each trait; `scale` `[n_docs]` is that of the text alone (app.learning.traits)."""
    shown, clicks = page.ranking, page.clicks
    n_seen = max(int(np.flatnonzero(clicks)[-1]) + 2, SEEN) if clicks.any() else 0
    r, v, by_text = np.zeros(len(traits.names)), np.zeros(len(traits.names)), 0.0
    for place in np.flatnonzero(clicks).tolist():
        seen = [i for i in range(min(n_seen, len(shown))) if i == place or not clicks[i]]
        if len(seen) > 1:
            rows = shown[seen]
            said, chance = _gradients(scale[rows], traits.held[rows]), _softmax(scale[rows] / TEMPERATURE)
            mean = chance @ said
            r += said[seen.index(place)] - mean
            v += chance @ (said - mean) ** 2
            by_text += log(len(seen) * chance[seen.index(place)])
    values = zip(traits.names, r.tolist(), v.tolist(), strict=True)
    told = {name: (own, spread) for name, own, spread in values if max(abs(own), spread) > LEAST}
    return told | {BY_TEXT: (by_text, 0.0)} if of_assistant else told


def _gradients(scale: FloatVector, held: FloatMatrix) -> FloatMatrix:
    """PDGD's gradient `[k, n_traits]` for each of k rows, were it the one opened.

    In units of w, so that among rows of equal text it is what the opened one has beyond their mean.
    """
    k = len(scale)
    tempered, (one, other) = scale / TEMPERATURE, np.triu_indices(k, 1)
    weights = np.zeros((k, k))
    weights[one, other] = weights[other, one] = pair_weights(tempered, np.arange(k), first=one, second=other)
    of_row = weights.sum(axis=1)
    unit = k / (k - 1) * (_softmax(tempered) @ of_row)
    said: FloatMatrix = (of_row[:, None] * held - weights @ held) / unit
    return said


def _softmax(x: FloatVector) -> FloatVector:
    raised: FloatVector = np.exp(x - x.max())
    chances: FloatVector = raised / raised.sum()
    return chances


class Vote(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What the lessons of one query say."""

    query: bytes
    """the keyed hashes of its words; b"" for a query of its own"""
    day: Annotated[int, msgspec.Meta(ge=0, le=3_652_059)]
    """proleptic Gregorian ordinal of the last lesson"""
    said: Said


class Votes(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """The votes that count, and the last lessons one by one."""

    votes: tuple[Vote, ...] = ()
    """oldest first, one for each named query"""
    recent: tuple[Vote, ...] = ()
    """the last lessons, not mixed with their query's former ones"""

    def after(self, said: Vote) -> Votes:
        recent = (*self.recent, said)[-RECENT:]
        later = Votes(_voted(self.votes, said), recent)
        changed = _contradicted(recent, later.liking) if len(recent) == RECENT else set()
        return Votes(_anew(later.votes, recent[1:], changed), recent[1:]) if changed else later

    @cached_property
    def liking(self) -> dict[str, float]:
        """What each habit in force adds to the scale of the text for a document that has all of its trait."""
        k = sqrt(KAPPA**2 + log1p(len(self.votes) / 10))
        found, explained, said = {}, 0.0, _added(self.votes if len(self.votes) > 1 else ())
        by_text, _ = said.pop(BY_TEXT, (0.0, 0.0))
        for name, (r, v) in said.items():
            z = r / sqrt(v + DOUBT)
            if (abs(z) if name in SIGNED else z) > k:
                found[name] = TEMPERATURE * r / (v + DOUBT) * (1 - (k / z) ** 2)
                explained = max(explained, z**2 / 2)
        return found if by_text + explained >= 0 else {}

    @cached_property
    def often(self) -> frozenset[str]:
        """The habits in force for which OFTEN queries on DAYS days speak."""
        found = set()
        for name, liking in self.liking.items():
            for_it = [vote.day for vote in self.votes if vote.said.get(name, (0.0, 0.0))[0] * liking > 0]
            if len(for_it) >= OFTEN and len(set(for_it)) >= DAYS:
                found.add(name)
        return frozenset(found)

    def unnamed(self) -> Votes:
        """Without anything that tells of a query or a folder: what may leave the device."""
        return Votes(*(tuple(map(_unnamed, part)) for part in (self.votes, self.recent)))


def _voted(votes: tuple[Vote, ...], said: Vote) -> tuple[Vote, ...]:
    """The votes with one more lesson, which is mixed into its query's former vote."""
    former = next((vote for vote in votes if vote.query == said.query and said.query), None)
    if former is None:
        return (*votes, said)[-WINDOW:]
    mixed = _added([_weighted(said, ETA), _weighted(former, 1 - ETA)])
    return (*(vote for vote in votes if vote is not former), Vote(said.query, said.day, mixed))


def _weighted(vote: Vote, share: float) -> Vote:
    return Vote(vote.query, vote.day, {name: (share * r, share * v) for name, (r, v) in vote.said.items()})


def _unnamed(vote: Vote) -> Vote:
    return Vote(b"", vote.day, {name: own for name, own in vote.said.items() if not name.startswith(FOLDER)})


def _added(votes: Iterable[Vote]) -> Said:
    r, v = defaultdict[str, float](float), defaultdict[str, float](float)
    for vote in votes:
        for name, (own, spread) in vote.said.items():
            r[name] += own
            v[name] += spread
    return {name: (r[name], v[name]) for name in r}


def _contradicted(recent: Iterable[Vote], liking: dict[str, float]) -> set[str]:
    """The features that list those habits in force which these lessons, by themselves, contradict."""
    said, found = _added(recent), set()
    for name, own in liking.items():
        r, v = said.get(name, (0.0, 0.0))
        if r * (1 if own > 0 else -1) / sqrt(v + DOUBT) < ALARM:
            found.add(feature_of(name))
    return found


def _anew(votes: Iterable[Vote], recent: tuple[Vote, ...], changed: set[str]) -> tuple[Vote, ...]:
    """The votes, but for traits listed under the features `changed` only what the recent lessons say."""
    fresh: tuple[Vote, ...] = ()
    for one in recent:
        fresh = _voted(fresh, one)
    late = {vote.query: vote.said for vote in fresh if vote.query}
    found = []
    for vote in votes:
        said = {name: own for name, own in vote.said.items() if feature_of(name) not in changed}
        anew = late.get(vote.query, {}) if vote.query else vote.said if vote in recent else {}
        said |= {name: own for name, own in anew.items() if feature_of(name) in changed}
        found.append(Vote(vote.query, vote.day, said))
    return tuple(found)
