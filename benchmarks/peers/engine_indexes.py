"""Three other engines over a folder of plain text files: building an index that holds the texts, and asking it.

    python -m benchmarks peers.engine_indexes ENGINE FILES INDEX      builds; ENGINE: fts5, tantivy or bm25s

Each is set up as its own documentation does it, with an English stemmer: SQLite's FTS5 with `porter unicode61` and the
text as its content, tantivy with `en_stem` and the text stored, bm25s with Snowball's stems and the corpus saved.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import ordinary_bm25
from benchmarks.peers.pairs import AbsentError

LIMIT = 100
"""results asked for; as many as this program ranks"""

Ask = Callable[[str], int]
"""a query to the number of results"""


def fts5_there() -> None:
    """AbsentError where Python's SQLite was built without it."""
    with sqlite3.connect(":memory:") as database:
        try:
            database.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        except sqlite3.OperationalError as error:
            raise AbsentError("a Python whose SQLite has FTS5") from error


def tantivy() -> Any:
    """The package; AbsentError where it is not."""
    try:
        return importlib.import_module("tantivy")
    except ModuleNotFoundError as missing:
        raise AbsentError("pip install tantivy") from missing


def bm25s() -> Any:
    """The package; AbsentError where it is not."""
    try:
        return ordinary_bm25.bm25s()
    except ModuleNotFoundError as missing:
        raise AbsentError(ordinary_bm25.HOW_TO_GET) from missing


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """(path below the folder, text) of each file, in order."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield str(path.relative_to(folder)), path.read_text(errors="replace")


def build_fts5(files: Path, index: Path) -> None:
    with sqlite3.connect(index / "fts5.db") as database:
        database.execute(
            "CREATE VIRTUAL TABLE documents USING fts5(path UNINDEXED, body, tokenize = 'porter unicode61')"
        )
        database.executemany("INSERT INTO documents VALUES (?, ?)", texts(files))


def build_tantivy(files: Path, index: Path) -> None:
    package = tantivy()
    schema = package.SchemaBuilder()
    schema.add_text_field("path", stored=True, tokenizer_name="raw")
    schema.add_text_field("body", stored=True, tokenizer_name="en_stem")
    opened = package.Index(schema.build(), path=str(index))
    writer = opened.writer()
    for path, text in texts(files):
        writer.add_document(package.Document(path=path, body=text))
    writer.commit()
    writer.wait_merging_threads()


def build_bm25s(files: Path, index: Path) -> None:
    package, rows = bm25s(), list(texts(files))
    words = package.tokenize([text for _, text in rows], stopwords="en", stemmer=_stem(), show_progress=False)
    made = package.BM25(method="lucene", k1=ordinary_bm25.K1, b=ordinary_bm25.B)
    made.index(words, show_progress=False)
    made.save(str(index), corpus=[{"path": path, "text": text} for path, text in rows], show_progress=False)


@contextmanager
def open_fts5(index: Path, *, every_word: bool) -> Iterator[Ask]:
    """FTS5's own ranking by BM25."""
    database = sqlite3.connect(index / "fts5.db")
    joint = " " if every_word else " OR "

    def ask(text: str) -> int:
        expression = joint.join(f'"{word}"' for word in _words(text))
        rows = database.execute(
            "SELECT path FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT ?", (expression, LIMIT)
        )
        return len(rows.fetchall())

    try:
        yield ask
    finally:
        database.close()


@contextmanager
def open_tantivy(index: Path, *, every_word: bool) -> Iterator[Ask]:
    """Its BM25 over the one field; the answers are document numbers."""
    opened = tantivy().Index.open(str(index))
    searcher = opened.searcher()

    def ask(text: str) -> int:
        query = opened.parse_query(" ".join(_words(text)).lower(), ["body"], conjunction_by_default=every_word)
        return len(searcher.search(query, LIMIT).hits)

    yield ask


@contextmanager
def open_bm25s(index: Path) -> Iterator[Ask]:
    """Any word; the answers are document numbers."""
    package, stem = bm25s(), _stem()
    opened = package.BM25.load(str(index), load_corpus=False)
    limit = min(LIMIT, opened.scores["num_docs"])  # it refuses to give more than there are

    def ask(text: str) -> int:
        asked = package.tokenize([text], stopwords="en", stemmer=stem, return_ids=False, show_progress=False)
        return len(opened.retrieve(asked, k=limit, show_progress=False)[0][0]) if asked[0] else 0

    yield ask


BUILD = {"fts5": build_fts5, "tantivy": build_tantivy, "bm25s": build_bm25s}


def _words(text: str) -> list[str]:
    """Words alone: no engine is to read its operators into a title."""
    return re.findall(r"\w+", text) or ["nothing"]


def _stem() -> Any:
    return importlib.import_module("Stemmer").Stemmer("english")


def main() -> None:
    """Build one index."""
    _, engine, files, index = sys.argv
    Path(index).mkdir(parents=True)
    BUILD[engine](Path(files), Path(index))


if __name__ == "__main__":
    main()
