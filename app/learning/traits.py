"""What a document is known by beside its text: how new it is, whether it is long, its type, the folders it lies in.

    held = 1.5 * 2^(-age / half a year)       for `new`
           1 where it is among the longest third of what was found, the shortest third, of this type, lies in this
           folder or below it; else 0

A habit is a liking for such a trait (app.learning.votes). Folders are named by keyed hashes (app.learning.pick_keys).
On pages of source code an assistant's documents are known by two ROLES more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatMatrix, FloatVector

Marks = Sequence[tuple[str, ...]]
"""of each document its type, and its folders, the nearest first: `FOLDER` and a keyed hash"""

FOLDER = "folder "
NEW, LONG, SHORT = "new", "long", "short"
TEST, NO_CODE = "a test", "no source code"
ROLES = (TEST, NO_CODE)
SIGNED = (NEW, *ROLES)
"""traits that may be disliked"""
NEWEST = 1.5
"""what the newest documents have of `new`, the one trait of which a document has more or less"""
_MEASURED = {NEW: ("recent_year", "newer"), LONG: ("body_length", "longer"), SHORT: ("body_length", "shorter")}
"""the feature under which its points are told, and how a person calls it"""
KINDS = {
    "html": "web pages", "pdf": "PDFs", "document": "documents", "presentation": "presentations",
    "spreadsheet": "spreadsheets", "ebook": "e-books", "text": "plain text", "source": "source code",
    "notebook": "notebooks", "calendar": "calendar entries", "archive": "archives",
    "site": "bookmarks and visited pages", "chat": "chats",
}  # fmt: skip
"""types as a person calls many of them"""


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
    """The feature under which the points of a trait are told: one for each sort of traits."""
    if trait in _MEASURED:
        return _MEASURED[trait][0]
    return "folder_share" if trait.startswith(FOLDER) else "type_share"


def wording(trait: str, liking: float) -> str:
    """What is liked, for a person: "newer files", "PDFs", "this folder"."""
    if trait in _MEASURED:
        return f"{'older' if trait == NEW and liking < 0 else _MEASURED[trait][1]} files"
    return "this folder" if trait.startswith(FOLDER) else KINDS.get(trait, trait)
