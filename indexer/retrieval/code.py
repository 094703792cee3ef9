"""Features that tell the wanted file of source code from others: a passage, its definitions, its name.

All of it comes from the index: the places of each query word, with the parts of an identifier at the place of the
whole. A passage is PASSAGE words in a row; a word is defined where it follows a keyword with which languages define.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from indexer.postings import Floats, Ints
from indexer.retrieval.adjacency import among
from indexer.retrieval.candidates import Candidates, idf
from indexer.retrieval.concepts import Concept
from indexer.retrieval.feature_values import places_of
from indexer.retrieval.features import Feature
from indexer.storage.snapshot import PLACE_BITS, Snapshot
from indexer.text.analysis import raw_terms, raw_tokens

CODE_FEATURES = (
    Feature("bm25f", "share", "its words over title, text and names"),
    Feature("passage", "share", "how much one passage of it speaks of the words"),
    Feature("defines_types", "share", "the words behind such as class, struct and module"),
    Feature("defines_names", "share", "the words behind such as def, func and static"),
    Feature("named_after", "absolute", "a name of nothing but the words"),
    Feature("path_words", "absolute", "the share of the words in its name and folders"),
    Feature("is_test", "absolute", "a test"),
    Feature("is_example", "absolute", "an example, or about the code"),
    Feature("is_entrance", "absolute", "a file that mostly names what others hold"),
)
CODE_NAMES = tuple(feature.name for feature in CODE_FEATURES)
_IS_SHARE = np.array([feature.scale == "share" for feature in CODE_FEATURES])

PASSAGE = 200
"""words, some 50 lines"""
K1 = 1.2
"""saturation: how soon further occurrences in one passage stop counting"""
MOST_CONCEPTS = 12
"""only the first concepts of a long query are looked at"""
TYPES_ARE_DEFINED_BY = (
    "class", "struct", "enum", "interface", "trait", "protocol", "module", "type", "typedef", "union", "record",
    "object", "namespace", "extension", "impl", "data", "newtype", "defmodule", "defprotocol", "mod", "actor",
)  # fmt: skip
NAMES_ARE_DEFINED_BY = (
    "def", "func", "fn", "function", "fun", "sub", "defp", "defmacro", "macro", "define", "local", "const", "let",
    "var", "val", "static", "void", "async", "public", "private", "protected", "internal", "export", "pub", "final",
    "abstract", "override", "inline", "int", "bool", "string",
)  # fmt: skip
REACH = 3
"""words after the keyword within which the name of a type may stand: `type Decoder`, `impl Read for Decoder`"""

ASKED_BY = {
    "is_test": ("test", "tests"),
    "is_example": ("example", "examples", "tutorial", "tutorials", "docs", "documentation"),
}
"""feature -> the words that ask for such files; spec, mock and the like as often mean the thing itself"""

_TEST = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|__tests__|testing|benchmarks?|bench|fixtures?|mocks?)(?:[/_.-]|$)"
    r"|(?<=[a-z0-9])(?:Tests?|Spec|TestCase|Mock|Benchmark)\.[a-z]+$"
)
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs?|documentation|tutorials?|playground|site)/", re.IGNORECASE
)
_ENTRANCE = re.compile(
    r"(?:^|/)(?:__init__\.py|mod\.rs|lib\.rs|index\.[jt]sx?|main\.[a-z]+|init\.lua|package-info\.java|Package\.swift)$"
)


class _Called(Struct, frozen=True):
    """What a path tells about its file."""

    stem: tuple[frozenset[str], ...]
    """for each position of its name without ending, the parts in camel case, or else the word itself"""
    wholes: tuple[str, ...]
    words: frozenset[str]
    """all words of its name and folders"""
    marks: tuple[float, float, float]
    """is_test, is_example, is_entrance"""


def code_counts(snapshot: Snapshot, candidates: Candidates, docs: Ints) -> Floats:
    """Passage, defines_types and defines_names [n_docs, 3] of the documents `docs` [n_docs], all of them candidates."""
    concepts, weights = candidates.concepts[:MOST_CONCEPTS], _weights(snapshot, candidates)
    ascending = np.sort(docs)
    rows = ascending.searchsorted(docs)
    places = places_of(snapshot, concepts, ("body",), ascending)
    of_types = snapshot.all_places([("body", TYPES_ARE_DEFINED_BY)], ascending, by_row=True)[0]
    of_names = snapshot.all_places([("body", NAMES_ARE_DEFINED_BY)], ascending, by_row=True)[0]
    lengths = snapshot.documents["n_body"][ascending].astype(np.int64)
    return np.array([
        best_passage(places, lengths, weights)[rows],
        _defined(places, of_types, REACH, weights, docs.size)[rows],
        _defined(places, of_names, 1, weights, docs.size)[rows],
    ]).T  # fmt: skip


def _weights(snapshot: Snapshot, candidates: Candidates) -> Floats:
    return idf(snapshot.n_documents, candidates.any_df[:MOST_CONCEPTS])


def code_values(
    snapshot: Snapshot, candidates: Candidates, counts: Floats, bm25f: Floats, paths: Sequence[str]
) -> Floats:
    """The features of documents with these `counts` [n_docs, 3], at `paths`: [n_docs, n_code] in [0, 1]."""
    forms = [{run[0] for run in concept.forms} for concept in candidates.concepts[:MOST_CONCEPTS]]
    by_path = _by_path(forms, _weights(snapshot, candidates), below_common(paths))
    values = np.array([bm25f, *counts.T, *by_path]).T
    values[:, _IS_SHARE] /= np.maximum(values[:, _IS_SHARE].max(axis=0, initial=0.0), 1e-9)
    return values


def as_asked(concepts: Sequence[Concept]) -> Floats:
    """[n_code] -1 for a feature that the query asks for, else 1: if asked for, tests rise as much as they else fall."""
    words = {run[0] for concept in concepts[:MOST_CONCEPTS] for run in concept.forms}
    return np.array([1.0 if words.isdisjoint(ASKED_BY.get(name, ())) else -1.0 for name in CODE_NAMES])


def best_passage(places: Sequence[Ints], lengths: Ints, weights: Floats) -> Floats:
    """sum_t weight_t (k1 + 1) tf / (k1 + tf) of the best passage of each document, [n_docs].

    `places` [n_concepts] are place keys by row, `lengths` [n_docs] words. Each document is cut into passages twice, the
    second time half a passage earlier, so that no short run of words is cut both times.
    """
    best = np.zeros(lengths.size)
    for shift in (0, PASSAGE // 2):
        n_passages = (lengths + shift) // PASSAGE + 1
        firsts = np.cumsum(n_passages) - n_passages
        points = np.zeros(int(n_passages.sum()))
        for own, weight in zip(places, weights.tolist(), strict=True):
            passages = firsts[own >> PLACE_BITS] + ((own & (1 << PLACE_BITS) - 1) + shift) // PASSAGE
            tf = np.bincount(passages, minlength=points.size)
            points += weight * (K1 + 1) * tf / (K1 + tf)
        best = np.maximum(best, np.maximum.reduceat(points, firsts)) if points.size else best
    return best


def _defined(places: Sequence[Ints], keywords: Ints, reach: int, weights: Floats, n_docs: int) -> Floats:
    """sum_t weight_t ln(1 + how often t stands at most `reach` words after one of the `keywords`), [n_docs]."""
    behind = np.sort(np.concatenate([keywords + step for step in range(1, reach + 1)]))
    points = np.zeros(n_docs)
    for own, weight in zip(places, weights.tolist(), strict=True):
        points += weight * np.log1p(np.bincount(own[among(own, behind)] >> PLACE_BITS, minlength=n_docs))
    return points


def _by_path(forms: Sequence[set[str]], weights: Floats, paths: Sequence[str]) -> Floats:
    """named_after, path_words, is_test, is_example and is_entrance, [5, n_docs]."""
    every = set().union(*forms)
    total = max(float(weights.sum()), 1e-9)
    found = np.zeros((5, len(paths)))
    for i, called in enumerate(map(_called, paths)):
        parts = zip(called.wholes, called.stem, strict=True)
        found[0, i] = bool(called.stem) and all(whole in every or own <= every for whole, own in parts)
        held = (weight for own, weight in zip(forms, weights.tolist(), strict=True) if not own.isdisjoint(called.words))
        found[1, i] = sum(held) / total
        found[2:, i] = called.marks
    return found


def below_common(paths: Sequence[str]) -> list[str]:
    """Each path below the folder common to all, which cannot tell them apart."""
    folders = [os.path.dirname(path) for path in paths if path]  # a document that is gone has none
    common = os.path.commonpath(folders) if folders else ""
    return [path[len(common) :].lstrip(os.sep) for path in paths]


@lru_cache(maxsize=10_000)
def _called(path: str) -> _Called:
    *folders, name = path.split(os.sep)
    words = _words_at(os.path.splitext(name)[0])
    every = {word for folder in (*folders, name) for own in _words_at(folder) for word in own}
    stem = tuple(frozenset(own[1:] or own) for own in words)
    marks = tuple(float(bool(mark.search(path))) for mark in (_TEST, _EXAMPLE, _ENTRANCE))
    return _Called(stem, tuple(own[0] for own in words), frozenset(every), (marks[0], marks[1], marks[2]))


def _words_at(name: str) -> list[list[str]]:
    """The word at each position of a name, followed by its parts if it is in camel case."""
    found = []
    for terms, width in map(raw_terms, raw_tokens(name)):
        found += [[term for term, offset in terms if offset == i and term.isalnum()] for i in range(width)]
    return [own for own in found if own]
