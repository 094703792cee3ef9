"""Traits of documents besides their text, such as age, type and folders; and how far habits move a document.

    held = 1.5 * 2^(-age / half a year)       for `new`
           1 where it is among the longest third of what was found, the shortest third, of this type, lies in this
           folder or below it; else 0

A habit is a liking for such a trait (app.learning.votes). Folders are named by keyed hashes (app.learning.pick_keys).
On pages of source code an assistant's documents are known by two ROLES, their folders and whether they are source code.

Habits move a document on the scale of how likely it is to be what was asked for:

    u(t) = ln sigma(SLOPE (t - best t))    t points of the text; fitted: the log of P(relevant | t)
    s    = u^-1( u(t) + sum over traits of  room * clip(liking, -CAP, CAP) * held )        the score by text and habits
    room = (1 - share)^2, of ROLES 1       share: of all they could, what the best FIRST documents have of the trait

So a habit moves much where both documents are surely relevant, and little where one of them is not. The more of a page
a kind already fills, the less it rises. Of the nested folders that a document lies in, only the one worth most
counts. What all candidates have alike changes nothing. Where its slope has fallen to FLATTEST, u goes on straight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatMatrix, FloatVector

Marks = Sequence[tuple[str, ...]]
"""for each document its type, and its folders, the nearest first: `FOLDER` and a keyed hash"""

FOLDER = "folder "
NEW, LONG, SHORT = "new", "long", "short"
TEST, NO_CODE = "a test", "no source code"
ROLES = (TEST, NO_CODE)
SIGNED = (NEW, *ROLES)
"""traits that may be disliked"""
NEWEST = 1.5
"""`held` of the newest documents for `new`, the one trait that is held by degrees"""
_MEASURED = {NEW: ("recent_year", "newer"), LONG: ("body_length", "longer"), SHORT: ("body_length", "shorter")}
"""trait -> the feature under which its points are listed, and a person's word for it"""
KINDS = {
    "html": "web pages", "pdf": "PDFs", "document": "documents", "presentation": "presentations",
    "spreadsheet": "spreadsheets", "ebook": "e-books", "text": "plain text", "source": "source code",
    "notebook": "notebooks", "calendar": "calendar entries", "archive": "archives",
    "site": "bookmarks and visited pages", "chat": "chats",
}  # fmt: skip
"""type -> what a person calls many files of it"""
SLOPE = 0.714
FLATTEST = 0.2
"""the least slope of u, as a share of SLOPE"""
CAP = 0.87
FIRST = 30

_KNEE = float(np.log((1 - FLATTEST) / FLATTEST))
"""where sigma(-x) is FLATTEST"""
_AT_KNEE = -float(np.log1p(np.exp(-_KNEE)))


class Traits(Struct, frozen=True, eq=False):
    """What the documents of a page have of each trait."""

    names: tuple[str, ...]
    held: FloatMatrix
    """[n_docs, n_traits]"""

    @classmethod
    def of(cls, features: FloatMatrix, feature_names: Sequence[str], marks: Marks = ()) -> Traits:
        """Of documents with these features `[n_docs, n_features]` and, where they are known, marks."""
        measured: dict[str, FloatVector] = {}
        if "recent_year" in feature_names:
            measured[NEW] = NEWEST * features[:, feature_names.index("recent_year")]
        if "body_length" in feature_names and len(features):
            length = features[:, feature_names.index("body_length")]
            ordered, third = np.sort(length), 2 * (len(length) - 1) // 3  # np.quantile loads masked arrays
            measured[LONG] = (length > ordered[third]).astype(np.float64)
            measured[SHORT] = (length < ordered[-1 - third]).astype(np.float64)
        names = list(dict.fromkeys([*measured, *(mark for own in marks for mark in own)]))
        place = {name: column for column, name in enumerate(names)}
        held = np.zeros((len(features), len(names)))
        for name, values in measured.items():
            held[:, place[name]] = values
        rows = np.arange(len(marks)).repeat([len(own) for own in marks])
        held[rows, [place[mark] for own in marks for mark in own]] = 1.0
        return cls(tuple(names), held)


def feature_of(trait: str) -> str:
    """The feature under which the points of a trait are listed: one for each sort of traits."""
    if trait in _MEASURED:
        return _MEASURED[trait][0]
    return "folder_share" if trait.startswith(FOLDER) else "type_share"


def wording(trait: str, liking: float) -> str:
    """What is liked, for a person: "newer files", "PDFs", "this folder"."""
    if trait in _MEASURED:
        return f"{'older' if trait == NEW and liking < 0 else _MEASURED[trait][1]} files"
    return "this folder" if trait.startswith(FOLDER) else KINDS.get(trait, trait)


def scale(text: FloatVector) -> FloatVector:
    """u of the text of all candidates of a page, `[n_docs]` each."""
    x = SLOPE * (text - text.max())
    u: FloatVector = -np.logaddexp(0.0, -x)
    return u


def points_at(u: FloatVector, best: float) -> FloatVector:
    """The inverse of u: the points of the texts with these `u`, on a page whose best text has `best` points."""
    low = np.minimum(u, _AT_KNEE)
    x = low - np.log(-np.expm1(low)) + np.maximum(u - _AT_KNEE, 0.0) / FLATTEST
    return x / SLOPE + best


def raised(traits: Traits, liking: Mapping[str, float], text: FloatVector) -> FloatMatrix:
    """By how much each habit raises each document on the scale of the text, `[n_docs, n_traits]`."""
    worth = np.clip([liking.get(name, 0.0) for name in traits.names], -CAP, CAP)
    best = np.argsort(-text, kind="stable")[:FIRST]
    share = traits.held[best].mean(axis=0) / [NEWEST if name == NEW else 1.0 for name in traits.names]
    room = [1.0 if name in ROLES else own for name, own in zip(traits.names, (1.0 - share) ** 2, strict=True)]
    gained: FloatMatrix = traits.held * worth * room
    folders = [column for column, name in enumerate(traits.names) if name.startswith(FOLDER)]
    if folders:
        nested = gained[:, folders]
        gained[:, folders] = np.where(np.arange(len(folders)) == nested.argmax(axis=1)[:, None], nested, 0.0)
    return gained


def moved(text: FloatVector, gained: FloatMatrix) -> FloatMatrix:
    """What was gained by `raised`, in points `[n_docs, n_traits]`: a row adds up to how far its document moves."""
    total, u = gained.sum(axis=1), scale(text)
    way = points_at(u + total, float(text.max())) - text
    rate = np.divide(way, total, out=np.zeros_like(total), where=np.abs(total) > 1e-9)
    points: FloatMatrix = gained * rate[:, None]
    return points
