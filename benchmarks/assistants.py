"""What an assistant sees in answers of so many tokens: which of the wanted documents, and how much of each.

    python -m benchmarks assistants [--collection NAME ...] [--queries 150]

Each query of a judged collection is asked as `mcp` asks it. *Recall* is the share of the relevant documents of which
a passage stands in the answer; *words* is the share of the query's words (by stems) that the passages of these hold, of
those that their whole texts hold. Beside it *whole texts*: the first documents one after the other until the tokens
are used up, as an assistant reads that is given whole files.
"""

from __future__ import annotations

import argparse
from contextlib import closing

import msgspec
import numpy as np

from app.search.granted import Granted
from app.settings import MeaningSettings, Settings
from benchmarks import collections
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


def by_passages(granted: Granted, library: Library, query: str, tokens: int) -> dict[str, str]:
    """The document ids of an answer, each with its passage."""
    results = granted.search(query[:1_000], limit=min(50, max(1, tokens // 200)), tokens=tokens)["results"]
    return {library.files[one["id"]]: one["text"] for one in results}


def by_whole_texts(granted: Granted, library: Library, query: str, tokens: int) -> dict[str, str]:
    """The first documents, whole, until the tokens are used up."""
    ids = [one["id"] for one in granted.search(query[:1_000], limit=10, tokens=2_000)["results"]]
    texts, room = {}, tokens
    for id in ids:
        (document,) = granted.fetch([id], tokens=max(room, 100))["documents"]
        texts[library.files[id]] = document["text"]
        room -= len(str(document)) // 3
        if room < 100:
            break
    return texts


def measure(library: Library, settings: Settings, table: Table) -> None:
    """A row for each number of tokens."""
    whole = {document.id: document.text for document in library.collection.documents}
    asked, grades = library.collection.queries, library.collection.grades
    with closing(Granted(settings, library.paths, [str(library.paths.data_dir.parent / "files")])) as granted:
        for tokens in TOKENS:
            cells = [library.collection.name, f"{tokens:,}"]
            for way in (by_passages, by_whole_texts):
                values = np.array([
                    seen(way(granted, library, text, tokens), {name: whole[name] for name in grades[query]}, text)
                    for query, text in asked.items()
                ])  # fmt: skip
                cells += [f"{share:.3f}" for share in values.mean(axis=0)]
            table.add(*cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", action="append", choices=collections.ALL)
    parser.add_argument("--queries", type=int, default=150)
    given = parser.parse_args()
    settings = msgspec.structs.replace(Settings(), meaning=MeaningSettings(enabled=False))
    table = Table(("collection", "tokens", "recall", "words", "whole texts: recall", "words"))
    with libraries(settings, tuple(given.collection or COLLECTIONS), n_queries=given.queries) as found:
        for library in found.values():
            measure(library, settings, table)
    print(machine(), table, sep="\n\n")


if __name__ == "__main__":
    main()
