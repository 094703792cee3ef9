"""What an assistant sees in answers of a given length: which of the wanted documents, and how much of each.

    python -m benchmarks assistants [--collection NAME ...] [--queries 150]
    python -m benchmarks assistants --folder FOLDER             source code, FOLDER as `benchmarks code` has it

Each query of a judged collection is asked as `mcp` asks it. *Recall* is the share of the relevant documents of which
the answer has a passage; *words* is the share of the query's words (by stems) in the passages of these documents, of
those in their whole texts. For comparison *whole texts*: the first documents one after the other until the tokens
are used up, as for an assistant that is given whole files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import numpy as np

from app.assistants.granted import Granted
from app.settings import MeaningSettings, Settings
from benchmarks import collections
from benchmarks.code import Repository, repositories
from benchmarks.devices import Library, libraries
from benchmarks.tables import Table, machine
from indexer.text.analysis import words_of
from indexer.text.language import stem

COLLECTIONS = ("manpages", "handbook", "time", "locomo-chats", "cisi")
TOKENS = (500, 1_000, 2_000, 4_000)
SEEN = tuple[float, float]
"""recall, words"""


def stems(text: str) -> set[str]:
    """The words of a text without their endings."""
    return {stem(word, "en") for word in words_of(text)}


def seen(texts: dict[str, str], wanted: dict[str, str], query: str) -> SEEN:
    """Of the `wanted` documents, id -> whole text, those of which `texts`, id -> text, has any."""
    shown = [name for name in wanted if texts.get(name)]
    asked = stems(query)
    held = [len(asked & stems(wanted[name])) for name in shown]
    told = [len(asked & stems(texts[name])) for name in shown]
    return len(shown) / len(wanted), sum(told) / max(sum(held), 1) if shown else 0.0


def by_passages(granted: Granted, query: str, tokens: int) -> dict[str, str]:
    """The documents of an answer, each with its passage."""
    results = granted.search(query[:1_000], limit=min(50, max(1, tokens // 200)), tokens=tokens)["results"]
    return {one["id"]: one["text"] for one in results}


def by_whole_texts(granted: Granted, query: str, tokens: int) -> dict[str, str]:
    """The first documents, whole, until the tokens are used up."""
    ids = [one["id"] for one in granted.search(query[:1_000], limit=10, tokens=2_000)["results"]]
    texts, room = {}, tokens
    for id in ids:
        for document in granted.fetch([id], tokens=max(room, 100))["documents"]:
            texts[id] = document["text"]
            room -= len(str(document)) // 3
        if room < 100:
            break
    return texts


Question = tuple[str, dict[str, str]]
"""a query, and the whole texts of what is wanted, by path"""


def of_collection(library: Library) -> list[Question]:
    """Its judged queries."""
    whole = {document.id: document.text for document in library.collection.documents}
    path_of = {id: path for path, id in library.files.items()}
    grades = library.collection.grades
    return [(text, {path_of[id]: whole[id] for id in grades[query]})
            for query, text in library.collection.queries.items()]  # fmt: skip


def of_repository(repository: Repository) -> list[Question]:
    """The same of source code."""
    paths = [str(path) for path in repository.root.rglob("*") if path.is_file()]
    return [
        (query.text, {path: Path(path).read_text(encoding="utf-8", errors="replace")
                      for path in paths for end in query.relevant if path.endswith(f"/{end}")})
        for query in repository.queries
    ]  # fmt: skip


def values(granted: Granted, questions: Sequence[Question], tokens: int) -> Iterator[tuple[float, ...]]:
    """Of each question recall and words, by passages and by whole texts."""
    for text, wanted in questions:
        if wanted:
            ways = [way(granted, text, tokens) for way in (by_passages, by_whole_texts)]
            yield tuple(value for texts in ways for value in seen(texts, wanted, text))


def measure(homes: Sequence[tuple[Granted, Sequence[Question]]], name: str, table: Table) -> None:
    """A row for each number of tokens."""
    for tokens in TOKENS:
        rows = [row for granted, questions in homes for row in values(granted, questions, tokens)]
        table.add(name, f"{tokens:,}", *(f"{share:.3f}" for share in np.mean(rows, axis=0)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", action="append", choices=collections.ALL)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--folder", help="source code in place of collections, as `benchmarks code` has it")
    given = parser.parse_args()
    settings = msgspec.structs.replace(Settings(), meaning=MeaningSettings(enabled=False))
    table = Table(("collection", "tokens", "recall", "words", "whole texts: recall", "words"))
    with ExitStack() as opened:
        if given.folder:
            found = list(repositories(Path(given.folder), settings))
            homes = [
                (Granted(settings, one.paths, [str(one.root)]), of_repository(one)[: given.queries]) for one in found
            ]
            measure(homes, f"{len(found)} repositories", table)
        else:
            names = tuple(given.collection or COLLECTIONS)
            for library in opened.enter_context(libraries(settings, names, n_queries=given.queries)).values():
                granted = Granted(settings, library.paths, [str(library.paths.data_dir.parent / "files")])
                measure(
                    [(opened.enter_context(closing(granted)), of_collection(library))], library.collection.name, table
                )
    print(machine(), table, sep="\n\n")
