"""The open text collections: read from the shared folder, and laid out as real files that the program indexes.

Each document becomes one file, in turn Markdown, HTML and plain text, with its title where that format has one.
"""

from __future__ import annotations

import html
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

NAMES = ("cranfield", "cisi", "medline", "time", "adi")
"""the classic ones: four of scientific abstracts and records, one of news"""
NEWER = ("scifact", "locomo-chats", "handbook", "founder-files", "manpages", "xquad-9-languages")
"""of other kinds: claims, chats, long pages, one person's files, commands, nine languages"""
ALL = (*NAMES, *NEWER)


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """One test collection."""

    name: str
    documents: tuple[Document, ...]
    queries: dict[str, str]
    """query id -> its text, made plain"""
    grades: dict[str, dict[str, int]]
    """query id -> document id -> grade, relevant documents only; binary collections have grade 1"""

    @property
    def top_grade(self) -> int:
        """The highest grade: 1 where judgements are binary."""
        return max(grade for judged in self.grades.values() for grade in judged.values())


def shared_folder() -> Path:
    """FOLTR_SHARED, else the folder `shared` beside the repository; FileNotFoundError when it is not there."""
    named = os.environ.get("FOLTR_SHARED", "")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        raise FileNotFoundError(f"no folder {folder / 'data'}; set FOLTR_SHARED to where the shared data is")
    return folder


def read(name: str) -> Collection:
    """A collection in data/text, or a folder in the same form; queries without a relevant document are left out."""
    folder = shared_folder() / "data" / "text" / name
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}: wanted one of {', '.join(ALL)}, or one in the same form")
    documents = tuple(
        Document(row["id"], " ".join(row["title"].split()), row["text"])
        for row in map(json.loads, (folder / "documents.jsonl").read_text().splitlines())
    )
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, document, grade = line.split()
        if int(grade) > 0:
            grades.setdefault(query, {})[document] = int(grade)
    rows = (line.split("\t", 1) for line in (folder / "queries.tsv").read_text().splitlines())
    queries = {query: plain(text) for query, text in rows if query in grades}
    return Collection(folder.name, documents, queries, {query: grades[query] for query in queries})


def sampled(collection: Collection, n: int) -> Collection:
    """The collection with at most `n` of its queries, by a lot that is always the same."""
    names = list(collection.queries)
    chosen = np.random.default_rng(0).permutation(len(names))[:n]
    return replace(collection, queries={names[i]: collection.queries[names[i]] for i in sorted(chosen.tolist())})


def plain(text: str) -> str:
    """`text` as words only, in lower case: a sentence has no operators, quotes or fields."""
    words = re.sub(r"[^\w\s.'-]", " ", text.lower()).split()
    return " ".join(stripped for word in words if (stripped := word.strip("-.'")))


FORMATS = (".md", ".html", ".txt")


def file_text(document: Document, ending: str) -> str:
    """The file of one document; a text that begins with its own title does not repeat it."""
    text = document.text
    found = re.match(r"\s*" + r"\s+".join(map(re.escape, document.title.split())), text) if document.title else None
    body = text[found.end() :] if found else text
    if ending == ".html":
        paragraphs = "".join(f"<p>{html.escape(part)}</p>\n" for part in body.split("\n\n"))
        title = html.escape(document.title)
        heading = f"<h1>{title}</h1>\n" if title else ""
        head = f"<title>{title}</title>" if title else ""
        return f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>\n{heading}{paragraphs}</body></html>\n"
    if not document.title:
        return body
    return f"# {document.title}\n\n{body}\n" if ending == ".md" else f"{document.title}\n{'=' * 72}\n\n{body}\n"


def write_files(collection: Collection, folder: Path, *, formats: tuple[str, ...] = FORMATS) -> dict[str, str]:
    """Write one file per document below `folder`; gives path -> document id.

    Titles longer than a line of plain text can underline go to the first of `formats`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, str] = {}
    for i, document in enumerate(collection.documents):
        ending = formats[i % len(formats)]
        if ending == ".txt" and len(document.title) > 140:
            ending = formats[0]
        path = folder / f"{i // 100:02d}" / f"document-{i:05d}{ending}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(file_text(document, ending), encoding="utf-8")
        paths[str(path)] = document.id
    return paths
