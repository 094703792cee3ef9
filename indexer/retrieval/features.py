"""The manifest: every feature of a query and a document, by name, with what it means and how it is scaled.

The order and meaning of these features are the meaning of theta. `MANIFEST_HASH` identifies both: two devices
that agree on it may exchange rankers, and a stored model with another hash is carried over by name. The features
say nothing about which words, folders or people are meant.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

MEANING = 3
"""raise it when a feature's value changes its meaning under the same name"""

SCALES = {
    "absolute": "already in [0, 1]",
    "share": "divided by the largest value among the candidates",
    "range": "moved and stretched so that the candidates span [0, 1]; 0 when all are equal",
}


class Feature(Struct, frozen=True):
    """One column of a feature matrix."""

    name: str
    scale: str
    """one of SCALES"""
    description: str
    """what it tells a person about a result; its value says how much of that there is"""


def _field_features(field: str, label: str) -> tuple[Feature, ...]:
    return (
        Feature(f"{field}_bm25", "share", f"its words in the {label}"),
        Feature(f"{field}_tf_idf_sum", "share", f"how often its {label} says the words, rare ones counting more"),
        Feature(f"{field}_tf_idf_max", "share", f"how often its {label} says one of the words"),
        Feature(f"{field}_tf_idf_mean", "share", f"how much of its {label} the words are"),
        Feature(f"{field}_coverage", "absolute", f"the share of the words in its {label}, rare ones counting more"),
        Feature(f"{field}_language_model", "range", f"how likely its {label} is about the words"),
        Feature(f"{field}_tf", "share", f"how often its {label} says the words"),
        Feature(f"{field}_length", "range", f"how long its {label} is among the results"),
    )


FEATURES: tuple[Feature, ...] = (
    Feature("bm25f", "share", "its words over title, text and names"),
    *_field_features("title", "title"),
    *_field_features("body", "text"),
    *_field_features("name", "file name"),
    Feature("path_coverage", "absolute", "the words in the names of its folders"),
    Feature("author_coverage", "absolute", "the words in its author or sender"),
    Feature("any_coverage", "absolute", "the share of the words that it has anywhere"),
    Feature("least_tf", "share", "how often it says the word that it says least"),
    Feature("surface_share", "absolute", "how many of its words are as they were typed"),
    Feature("body_phrase", "absolute", "the words next to each other in its text"),
    Feature("body_ordered", "absolute", "the words close together and in order in its text"),
    Feature("body_near", "absolute", "the words close together in its text"),
    Feature("body_early", "absolute", "how early its text speaks of the words"),
    Feature("title_phrase", "absolute", "the words next to each other in its title"),
    Feature("title_ordered", "absolute", "the words in order in its title"),
    Feature("meaning", "absolute", "how close it is in meaning"),
    Feature("title_exact", "absolute", "a title of exactly the words"),
    Feature("title_share", "absolute", "how little else its title says"),
    Feature("name_exact", "absolute", "a file name of exactly the words"),
    Feature("name_share", "absolute", "how little else its file name says"),
    Feature("recent_week", "absolute", "how lately it was changed, in days"),
    Feature("recent_year", "absolute", "how lately it was changed, in months"),
    Feature("newer", "range", "how new it is among the results"),
    Feature("size", "range", "how large its file is among the results"),
    Feature("depth", "range", "how deep it lies in the folders, among the results"),
    Feature("is_text", "absolute", "plain text or markup"),
    Feature("is_source", "absolute", "source code or data"),
    Feature("is_html", "absolute", "a web page"),
    Feature("is_document", "absolute", "a PDF, an e-book or an office document"),
    Feature("is_mail", "absolute", "a mail or a calendar entry"),
    Feature("opened", "absolute", "how often you opened it"),
    Feature("opened_recently", "absolute", "how lately you opened it"),
    Feature("same_query", "absolute", "how often you opened it for this search"),
    Feature("similar_query", "absolute", "how often you opened it for similar searches"),
    Feature("folder_share", "absolute", "how much you like to open files near it"),
    Feature("type_share", "absolute", "how much you like to open files of its type"),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in FEATURES)
USAGE_NAMES = ("opened", "opened_recently", "same_query", "similar_query", "folder_share", "type_share")
"""the features made from the user's own picks: the only ones that change when nothing on the disk does"""

MANIFEST_HASH: str = hashlib.blake2b(
    "\n".join([str(MEANING), *(f"{f.name} {f.scale}" for f in FEATURES)]).encode(), digest_size=16
).hexdigest()
