"""The manifest: every feature of a query and a document, by name, with what it means and how it is scaled.

The order and meaning of these features are the meaning of theta. `MANIFEST_HASH` identifies both: two devices
that agree on it may exchange rankers, and a stored model with another hash is carried over by name. The features
say nothing about which words, folders or people are meant.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

MEANING = 2
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
    """completes "this result ..." for a person"""


def _field_features(field: str, label: str) -> tuple[Feature, ...]:
    return (
        Feature(f"{field}_bm25", "share", f"matches the words in its {label} (BM25)"),
        Feature(f"{field}_tf_idf_sum", "share", f"says the words often in its {label}, rare words counting more"),
        Feature(f"{field}_tf_idf_max", "share", f"says one word very often in its {label}"),
        Feature(f"{field}_tf_idf_mean", "share", f"says the words often in its {label}, on average over the words"),
        Feature(
            f"{field}_coverage", "absolute", f"has this share of the words in its {label}, rare ones counting more"
        ),
        Feature(f"{field}_language_model", "range", f"would likely be about these words, by its {label} (Dirichlet)"),
        Feature(f"{field}_tf", "share", f"says the words often in its {label}"),
        Feature(f"{field}_length", "range", f"has a long {label}"),
    )


FEATURES: tuple[Feature, ...] = (
    Feature("bm25f", "share", "matches the words over all its fields (BM25F)"),
    *_field_features("title", "title"),
    *_field_features("body", "text"),
    *_field_features("name", "file name"),
    Feature("path_coverage", "absolute", "has the words in the names of its folders"),
    Feature("author_coverage", "absolute", "has the words in its author or sender"),
    Feature("any_coverage", "absolute", "has this share of the words anywhere"),
    Feature("least_tf", "share", "says even the rarest of the words often"),
    Feature("surface_share", "absolute", "has the words in the very form that was typed"),
    Feature("body_phrase", "absolute", "has the words next to each other in its text"),
    Feature("body_ordered", "absolute", "has the words close together and in order in its text"),
    Feature("body_near", "absolute", "has the words close together in its text"),
    Feature("body_early", "absolute", "speaks of the words near its beginning"),
    Feature("title_phrase", "absolute", "has the words next to each other in its title"),
    Feature("title_ordered", "absolute", "has the words in order in its title"),
    Feature("meaning", "absolute", "is close to the query in meaning"),
    Feature("title_exact", "absolute", "has exactly the words as its title"),
    Feature("title_share", "absolute", "has a title made of these words and little else"),
    Feature("name_exact", "absolute", "has exactly the words as its file name"),
    Feature("name_share", "absolute", "has a file name made of these words and little else"),
    Feature("recent_week", "absolute", "was changed in the last days (half after a week)"),
    Feature("recent_year", "absolute", "was changed in the last months (half after half a year)"),
    Feature("newer", "range", "is newer than the other results"),
    Feature("size", "range", "is a large file"),
    Feature("depth", "range", "lies deep in the folders"),
    Feature("is_text", "absolute", "is plain text or markup"),
    Feature("is_source", "absolute", "is source code or data"),
    Feature("is_html", "absolute", "is a web page"),
    Feature("is_document", "absolute", "is a PDF, an e-book or an office document"),
    Feature("is_mail", "absolute", "is a mail or a calendar entry"),
    Feature("opened", "absolute", "was opened often"),
    Feature("opened_recently", "absolute", "was opened recently"),
    Feature("same_query", "absolute", "was picked for this very query before"),
    Feature("similar_query", "absolute", "was picked for a similar query before"),
    Feature("folder_share", "absolute", "lies in a folder you like to open"),
    Feature("type_share", "absolute", "is of a type you like to open"),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in FEATURES)
USAGE_NAMES = ("opened", "opened_recently", "same_query", "similar_query", "folder_share", "type_share")
"""the features made from the user's own picks: the only ones that change when nothing on the disk does"""

MANIFEST_HASH: str = hashlib.blake2b(
    "\n".join([str(MEANING), *(f"{f.name} {f.scale}" for f in FEATURES)]).encode(), digest_size=16
).hexdigest()
