"""Why a result ranks where it does: its score in named parts, and in a few words what put it there.

The parts of a result add up to its score; with its luck, to the value that decides its place. A result was moved if it
does not stand where its words alone (BM25F) would put it. A part caused that if, with the median of the others' points
for it, the result would stand nearer to that place. The points for the words themselves are never a cause: all other
parts are measured against them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from app.learning.learner import Learner
from app.learning.traits import FOLDER, KINDS, LONG, NEW, SHORT, Marks, wording
from app.search.code_pages import PageKind
from app.search.page_order import RULES
from console.wording import count
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.federated.aggregation.rows import middle_of
from indexer.retrieval.features import NAMES

TIE = 1e-6
"""points; scores nearer than this are tied, and the order by words alone decides"""
LEAST = 0.005
"""points; what is smaller is not mentioned"""
TINY = 1e-9
"""points by which equal sums may differ through rounding"""

PARTS = {
    "words": "what its words are worth",
    "kind": "what counts in source code",
    "title": "the words in its title",
    "name": "the words in its file name",
    "nearness": "how near its words stand",
    "dates": "how old it is",
    "size": "its size, its length and how deep it lies",
    "type": "its type",
    "this_query": "opened for this search",
    "similar_query": "opened for similar searches",
    "opened": "how often you opened it",
    "folder": "your liking for its folder",
    "type_picks": "your liking for its type",
    "meaning": "how close it is in meaning",
    "abroad": "close in meaning, in another language",
    "nearest": "what texts of like meaning are worth",
    "group": "what your group learned",
    "alike": "newest first among those alike",
    "written": "not written as you typed it",
    "called": "all you typed is in its name, title or folders",
    "latest": "newest first, as you ask for the latest",
    "named": "its name or title is what you typed",
    "chosen": "opened again and again for this search",
    "beside": "a place beside texts for what has none",
    "copy": "what a copy of it is worth more",
    "luck": "the lot",
}
"""the parts of a score, and what each stands for"""

OF_CODE = {
    ("named_after", True): "named by your words",
    ("path_words", True): "all words in its path",
    ("is_test", False): "a test",
    ("is_example", False): "an example, or about the code",
}
"""(feature of source code, whether it raised a result) -> what is said of it"""

_FEATURES = {
    "title": ("title_phrase", "title_ordered", "title_exact", "title_share"),
    "name": ("name_exact", "name_share"),
    "nearness": ("body_phrase", "body_ordered", "body_near", "body_early"),
    "dates": ("recent_week", "recent_year", "newer"),
    "size": ("size", "depth", "body_length"),
    "type": ("is_text", "is_source", "is_html", "is_document", "is_mail"),
    "this_query": ("same_query",),
    "similar_query": ("similar_query",),
    "opened": ("opened", "opened_recently"),
    "folder": ("folder_share",),
    "type_picks": ("type_share",),
    "meaning": ("meaning",),
}
PART_OF = {feature: part for part, features in _FEATURES.items() for feature in features}
_COLUMN = {name: column for column, name in enumerate(PARTS)}
_GROUPS = np.array([_COLUMN[PART_OF.get(name, "words")] for name in NAMES])
"""[n_features] the part to which each feature belongs; whatever is about the words is `words`"""


class Reasons(Struct, frozen=True, eq=False, dict=True):
    """How a page was ranked, kept as it was: what is learned later does not change why it looked so."""

    learner: Learner
    """as it was at that moment"""
    features: FloatMatrix
    """[n_docs, n_features] of all candidates"""
    scores: FloatVector
    """[n_docs] the ranker's scores and the extras"""
    shown: IntVector
    """[n_shown] the candidates in the order shown, copies left out"""
    by_words: IntVector
    """[n_shown] where each would stand by BM25F alone, from 0"""
    marks: Marks = ()
    """type and hashed folders of each, the nearest first; () where nobody knows them"""
    extra: Mapping[str, FloatVector] = field(default_factory=dict)
    """part -> [n_docs] points that were added to the ranker's"""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """part -> for each candidate its explanation in a few words, such as "newest of 44 alike"; "" for none"""
    n_picks: Callable[[int], float] = lambda candidate: 0.0
    """candidate -> what is left of the times it was opened for this very query"""
    kind: PageKind | None = None
    """the kind of the page and the points of that kind's ranker; None for a page of texts"""

    @cached_property
    def _given_up(self) -> FloatVector:
        """[n_features] what the weights of the text lose to the ranker of the page's kind."""
        return (self.kind.share if self.kind else 0.0) * self.learner.text_weights

    @cached_property
    def contributions(self) -> tuple[FloatMatrix, FloatMatrix]:
        """Points by feature, [n_docs, n_features] each: shipped (in a group, its ranker's too) and learned."""
        beyond = self.kind.beyond(self.learner.text(self.features)) if self.kind else None
        shipped, learned = self.learner.contributions(self.features, self.marks, beyond)
        return shipped - self.features * self._given_up, learned

    @cached_property
    def parts(self) -> FloatMatrix:
        """[n_shown, n_parts] the points of each part, in the order shown; a row without its luck is the score."""
        shipped, learned = (points[self.shown] for points in self.contributions)
        own = self.features[self.shown] * (self.learner.prior - self._given_up)
        parts = np.zeros((len(self.shown), len(PARTS)))
        for column, points in zip(_GROUPS, (own + learned).T, strict=True):
            parts[:, column] += points
        for name, points in self.extra.items():
            parts[:, _COLUMN[name]] = points[self.shown]
        if self.kind is not None:
            parts[:, _COLUMN["kind"]] = self.kind.points[self.shown].sum(axis=1)
        scores = self.scores[self.shown]
        rest = "group" if not np.allclose(shipped, own, rtol=0.0, atol=TINY) else "words"
        parts[:, _COLUMN[rest]] += scores - parts.sum(axis=1)
        parts[:, _COLUMN["luck"]] = np.sort(scores)[::-1] - scores
        return parts

    @property
    def _set_apart(self) -> tuple[str, ...]:
        """The parts that are not the ranker's, and that most results have none of."""
        return ("luck", *(name for name in self.extra if not (name in RULES and RULES[name].moves_most)))

    def beyond(self, place: int) -> FloatVector:
        """[n_parts] what the result at `place` (from 0) has of each part beyond the middle of the others.

        0 for `words`. Luck and extras, which most results have none of, count in full.
        """
        if len(self.shown) < 2:
            return np.zeros(len(PARTS))
        middle = middle_of(np.delete(self.parts, place, axis=0))
        middle[[_COLUMN[name] for name in self._set_apart]] = 0.0
        middle[_COLUMN["words"]] = self.parts[place, _COLUMN["words"]]
        beyond: FloatVector = self.parts[place] - middle
        return beyond

    @cached_property
    def _values(self) -> FloatVector:
        """[n_shown] the sum of all parts of each, luck included."""
        values: FloatVector = self.parts.sum(axis=1)
        return values

    def place_without(self, place: int, points: float) -> int:
        """Where (from 0) the result at `place` would stand with so many points less."""
        ahead = self._values - (self._values[place] - points)
        tied = np.abs(ahead) <= TIE
        before = np.where(tied, self.by_words < self.by_words[place], ahead > 0)
        before[place] = False
        return int(np.count_nonzero(before))

    @cached_property
    def _ways(self) -> IntVector:
        """[n_shown] whether the ranker alone (no extras, no luck) puts each above (1) or below (-1) its words."""
        scores = self._values - self.parts[:, [_COLUMN[name] for name in self._set_apart]].sum(axis=1)
        places = np.empty_like(self.by_words)
        places[np.lexsort((self.by_words, -np.round(scores / TIE)))] = np.arange(len(places))
        ways: IntVector = np.sign(self.by_words - places)
        return ways

    def pulls(self, place: int) -> FloatVector:
        """[n_parts] `beyond`, but 0 where it does not point the way that the result at `place` (from 0) was moved.

        If the ranker alone would not have moved it that way, its parts are 0: an extra or the lot moved the result, or
        moved others past it.
        """
        way = int(np.sign(self.by_words[place] - place))
        beyond = self.beyond(place)
        pulls: FloatVector = np.where(np.sign(beyond) == way, beyond, 0.0)
        if self._ways[place] != way:
            pulls[[column for name, column in _COLUMN.items() if name not in self._set_apart]] = 0.0
        return pulls

    def causes(self, place: int) -> list[str]:
        """The parts that moved the result at `place` (from 0) to where it is, the strongest first.

        A result placed beside texts would stand there with fewer points, too, so that rule is then its only cause.
        """
        found = []
        for name, points in zip(PARTS, self.pulls(place).tolist(), strict=True):
            if abs(points) >= LEAST and (steps := abs(self.place_without(place, points) - place)):
                found.append((steps, abs(points), name))
        names = [name for _, _, name in sorted(found, reverse=True)]
        return ["beside"] if "beside" in names and place < self.by_words[place] else names

    def words(self, place: int, type_: str) -> str:
        """Why the result at `place` (from 0) stands there, in two to five words; "" where its words alone put it.

        `type_` is the document's. What only repeats the words (that they stand near each other, say) is left out.
        """
        return next((words for name in self.causes(place) if (words := self._told(name, place, type_))), "")

    def _told(self, name: str, place: int, type_: str) -> str:
        candidate = int(self.shown[place])
        if name in self.notes and self.notes[name][candidate]:
            return self.notes[name][candidate]
        raised = bool(self.beyond(place)[_COLUMN[name]] > 0)
        value = {feature: float(self.features[candidate, i]) for i, feature in enumerate(NAMES)}
        if name == "kind":
            return self._of_kind(candidate, raised=raised)
        if name in ("this_query", "chosen"):
            return f"opened {times(self.n_picks(candidate))} for this"
        if name in ("dates", "size", "type", "folder", "type_picks"):
            return self._habit(candidate, name, KINDS.get(type_, type_), raised=raised)
        return _raised(name, value) if raised else _LOWERED.get(name, "")

    def _of_kind(self, candidate: int, *, raised: bool) -> str:
        """Which feature of the page's kind moved a result most, in words; "" for one that only repeats the words."""
        assert self.kind is not None
        points = self.kind.points[candidate] - middle_of(self.kind.points[self.shown])
        most = int(np.argmax(points if raised else -points))
        is_whole = not raised or self.kind.values[candidate, most] > 0.999 or self.kind.features[most].scale == "share"
        return OF_CODE.get((self.kind.features[most].name, raised), "") if is_whole else ""

    def _habit(self, candidate: int, name: str, kind: str, *, raised: bool) -> str:
        """The habit that a part's points come from, in words; "" for points as shipped, and for what others gained."""
        learned = self.contributions[1][candidate, (_COLUMN[name] == _GROUPS)]
        if abs(learned.sum()) < LEAST:
            return ""
        votes, marks = self.learner.habits, self.marks[candidate] if len(self.marks) else ()
        if name == "dates":
            trait, what = NEW, wording(NEW, votes.liking.get(NEW, 0.0))
        elif not raised:
            return ""
        elif name == "size":
            trait = LONG if votes.liking.get(LONG, 0.0) > votes.liking.get(SHORT, 0.0) else SHORT
            what = wording(trait, 1.0)
        elif name == "folder":
            above = [mark for mark in marks if mark.startswith(FOLDER)]
            trait = max(above, key=lambda mark: votes.liking.get(mark, 0.0), default="")
            what = wording(trait, 1.0) if above[:1] == [trait] else "a folder above it"
        else:
            trait, what = next(iter(marks), ""), kind
        return f"you often open {what}" if trait in votes.often else f"you like to open {what}"


def _raised(name: str, value: Mapping[str, float]) -> str:
    if name == "title":
        all_words = "all words in the title" if value["title_coverage"] > 0.999 else ""
        return "exact title" if value["title_exact"] == 1 else all_words
    if name == "opened":
        return "opened recently" if value["opened_recently"] > value["opened"] else "opened often"
    return {
        "name": "exact file name" if value["name_exact"] == 1 else "",
        "similar_query": "opened for similar searches",
        "meaning": "close in meaning",
        "nearest": "texts like it fit, too",
        "group": "ranked higher by your group",
        "alike": "newer of those alike",
        "called": "all words in its name",
        "copy": "its copy fits better",
        "luck": "drawn by lot",
    }.get(name, "")


_LOWERED = {
    "nearest": "texts like it fit less",
    "group": "ranked lower by your group",
    "alike": "older of those alike",
    "written": "not written as you typed it",
    "luck": "drawn by lot",
}
"""what is said of a part that lowered a result"""


def times(n_picks: float) -> str:
    """once, twice, 3 times: what is left of picks is never more than they were."""
    n = max(1, math.ceil(n_picks - 1e-6))
    return {1: "once", 2: "twice"}.get(n, f"{count(n)} times")
