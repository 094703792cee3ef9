"""The result pages of people whose files are of five kinds: a collection filed at random and searched once.

Every document becomes a file of one of KINDS in a folder of random depth, a quarter of them changed in the last two
months. Each query is asked once through app.search by a device that has learned nothing; its ranking, with the
features of each candidate, is all that a simulated person needs.
"""

from __future__ import annotations

import html
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.search.results import SearchRequest
from app.settings import Settings
from benchmarks import collections
from benchmarks.collections import Collection, Document
from benchmarks.devices import device, indexed
from benchmarks.preferences import OLDEST_DAYS, RECENT_DAYS
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector

KINDS = (".md", ".py", ".html", ".rtf", ".eml")
"""one for each feature of the kind of file: text, source, web page, document, mail"""
RECENT_SHARE = 0.25
DEEPEST = 4
MOST_QUERIES = 240
"""queries taken from a larger collection, at random"""


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """What some documents are, one entry for each."""

    grades: IntVector
    """[n] by the judgement of the text alone"""
    kinds: IntVector
    """[n] indices into KINDS"""
    is_recent: BoolVector
    """[n]"""


@dataclass(frozen=True, slots=True, eq=False)
class AskedQuery:
    """One query's candidates, and all documents that were judged relevant to it, found or not."""

    name: str
    features: FloatMatrix
    """[n_docs, n_features]"""
    found: Files
    judged: Files

    @property
    def marks(self) -> list[tuple[str]]:
        """The type of each candidate, as the device's own learning sees it."""
        return [(KINDS[kind],) for kind in self.found.kinds]


def file_text(document: Document, ending: str) -> str:
    """The document as a file of this kind."""
    if ending in collections.FORMATS:
        return collections.file_text(document, ending)
    plain = collections.file_text(document, ".md").removeprefix("# ")
    if ending == ".eml":
        subject = " ".join(document.title.split()) or "note"
        head = f"From: a@example.org\nTo: b@example.org\nSubject: {subject}\nMIME-Version: 1.0\n"
        return f"{head}Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{document.text}\n"
    if ending == ".rtf":
        escaped = "".join(c if ord(c) < 128 else f"\\u{ord(c) if ord(c) < 32768 else 63}?" for c in plain)
        return "{\\rtf1\\ansi " + escaped.replace("\n", "\\par\n") + "}"
    return '"""' + html.unescape(plain).replace('"""', "'''").replace("\\", "/") + '"""\n'


def filed(collection: Collection, folder: Path, rng: np.random.Generator) -> dict[str, tuple[str, int, bool]]:
    """Write the collection below `folder`, at random; path -> (document's id, kind, whether it is recent)."""
    now, found = time.time(), {}
    for i, document in enumerate(collection.documents):
        kind, depth = int(rng.integers(len(KINDS))), int(rng.integers(1, DEEPEST + 1))
        path = folder.joinpath(*(f"level-{level}" for level in range(depth)), f"document-{i:05d}{KINDS[kind]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file_text(document, KINDS[kind]), encoding="utf-8")
        is_recent = bool(rng.random() < RECENT_SHARE)
        age = rng.uniform(0, RECENT_DAYS) if is_recent else rng.uniform(RECENT_DAYS * 2, OLDEST_DAYS)
        os.utime(path, (now - age * 86400, now - age * 86400))
        found[str(path)] = (document.id, kind, is_recent)
    return found


def ask(name: str, lot: int) -> list[AskedQuery]:
    """Every query of a collection, over the files of one lot."""
    collection, rng = collections.sampled(collections.read(name), MOST_QUERIES), np.random.default_rng([lot, 7])
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        files = filed(collection, Path(folder) / "files", rng)
        paths = indexed(Path(folder) / "files", Path(folder), settings)
        what = {document: (kind, recent) for document, kind, recent in files.values()}
        asked = []
        with device(paths, settings) as search:
            for query, text in collection.queries.items():
                page = search.search(SearchRequest(text, explore=False))
                grades = collection.grades[query]
                documents = [files[hit.path][0] for hit in page.hits]
                asked.append(
                    AskedQuery(
                        f"{name} {query}", page.features.astype(np.float64), _files(documents, grades, what),
                        _files(list(grades), grades, what),
                    )
                )  # fmt: skip
    return asked


def _files(documents: list[str], grades: dict[str, int], what: dict[str, tuple[int, bool]]) -> Files:
    known = [what[document] for document in documents]
    return Files(
        np.array([grades.get(document, 0) for document in documents], dtype=np.intp),
        np.array([kind for kind, _ in known], dtype=np.intp),
        np.array([recent for _, recent in known], dtype=np.bool_),
    )


def save(asked: list[AskedQuery], path: Path) -> None:
    """As one file of arrays; `load` reads it."""
    judged: dict[str, Any] = {
        f"{side}_{field}": np.concatenate([getattr(getattr(one, side), field) for one in asked])
        for side in ("found", "judged")
        for field in ("grades", "kinds", "is_recent")
    }
    np.savez_compressed(
        path,
        names=np.array([one.name for one in asked]),
        features=np.concatenate([one.features for one in asked]).astype(np.float32),
        n_found=np.array([len(one.features) for one in asked]),
        n_judged=np.array([len(one.judged.grades) for one in asked]),
        **judged,
    )


def load(path: Path) -> list[AskedQuery]:
    """What `save` wrote."""
    with np.load(path) as kept:
        ends = {"found": np.cumsum(kept["n_found"])[:-1], "judged": np.cumsum(kept["n_judged"])[:-1]}
        parts = {
            side: [np.split(kept[f"{side}_{field}"], ends[side]) for field in ("grades", "kinds", "is_recent")]
            for side in ends
        }
        features = np.split(kept["features"].astype(np.float64), ends["found"])
        return [
            AskedQuery(
                str(name), features[i], Files(*(part[i] for part in parts["found"])),
                Files(*(part[i] for part in parts["judged"])),
            )
            for i, name in enumerate(kept["names"])
        ]  # fmt: skip


def pages_of(names: tuple[str, ...], n_lots: int, cache: Path) -> dict[str, list[list[AskedQuery]]]:
    """By collection one list of queries for each lot, from `cache` where they were asked before."""
    cache.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[list[AskedQuery]]] = {}
    for name in names:
        for lot in range(n_lots):
            path = cache / f"{name}-{lot}.npz"
            if not path.exists():
                save(ask(name, lot), path)
            found.setdefault(name, []).append(load(path))
    return found


def gains(files: Files, wanted: BoolVector) -> FloatVector:
    """2^grade - 1 of the files that are wanted, else 0 `[n]`."""
    return np.where(wanted, np.exp2(files.grades) - 1.0, 0.0)
