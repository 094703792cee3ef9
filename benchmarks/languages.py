"""What the extra `languages` is worth: English questions to a home where half of the articles are not English.

    python -m benchmarks languages [--others de es ru zh] [--questions 120]

The articles and questions are those of xquad (Artetxe et al., ACL 2020), each article in one language alone. How often
the wanted paragraph is the first, in ten and in a hundred, without the extra and with it; for questions that are
answered in their own language, how many pages have the same ten English paragraphs first in the same order.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from threading import Event

import numpy as np

from app.following.indexing import make_vectors
from app.paths import Paths
from app.search.results import Hit, SearchRequest
from app.settings import MeaningSettings, Settings
from benchmarks.collections import shared_folder
from benchmarks.devices import device, indexed
from benchmarks.running import arguments
from benchmarks.tables import Table, machine
from indexer.meaning import multilingual


def lines_of(name: str) -> list[str]:
    """Of a file of the collection."""
    return (shared_folder() / "data/text/xquad-9-languages" / name).read_text(encoding="utf-8").splitlines()


def home(folder: Path, other: str, settings: Settings) -> Paths:
    """Every second article in English, the others in `other`; read for meaning."""
    (folder / "files").mkdir(parents=True)
    for line in lines_of("documents.jsonl"):
        document = json.loads(line)
        language, article, _ = document["id"].split("-")
        if language == (other if int(article) % 2 else "en"):
            (folder / "files" / document["id"]).with_suffix(".txt").write_text(document["text"], encoding="utf-8")
    paths = indexed(folder / "files", folder, settings)
    make_vectors(settings, paths, on_progress=lambda _: None, stop=Event(), most_long=None)
    return paths


def questions(limit: int) -> list[tuple[str, str]]:
    """(article-paragraph, text) of the first English ones."""
    found = [line.split("\t") for line in lines_of("queries.tsv") if line.startswith("en-")]
    return [("-".join(name.split("-")[1:3]), text) for name, text in found[:limit]]


def pages(paths: Paths, settings: Settings, texts: list[str]) -> tuple[list[tuple[Hit, ...]], float]:
    """The hits of each, and the CPU milliseconds of one."""
    with device(paths, settings) as search:
        search.search(SearchRequest("warm up"))
        began = time.process_time()
        found = [search.search(SearchRequest(text)).hits for text in texts]
        return found, 1000 * (time.process_time() - began) / len(texts)


def places(found: list[tuple[Hit, ...]], wanted: list[str]) -> list[str]:
    """How often the wanted paragraph is first, in ten, in a hundred."""
    at = np.array([
        next((hit.rank for hit in hits if Path(hit.path).stem[3:] == name), 10**6)
        for hits, name in zip(found, wanted, strict=True)
    ])  # fmt: skip
    return [f"{float(np.mean(at <= limit)):.2f}" for limit in (1, 10, 100)]


def own(hits: tuple[Hit, ...]) -> list[int]:
    """The first ten English paragraphs of a page."""
    return [hit.doc_id for hit in hits if Path(hit.path).name.startswith("en-")][:10]


def main() -> None:
    """Print the table."""
    asked = arguments(__doc__, others=("de", "es", "ru", "zh"), questions=240)
    if why := multilingual.why_none():
        raise SystemExit(why)
    off, on = (Settings(meaning=MeaningSettings(pause_on_battery=False, languages=is_on)) for is_on in (False, True))
    table = Table((
        "other language", "answered in", "questions", "first", "in ten", "in a hundred", "first with", "in ten with",
        "in a hundred with", "own pages alike", "CPU ms a query, without", "with",
    ))  # fmt: skip
    for other in asked.others:
        with tempfile.TemporaryDirectory(prefix="foltr-languages-") as folder:
            paths = home(Path(folder) / "home", other, on)
            for language, odd in (("en", 0), (other, 1)):
                chosen = [(name, text) for name, text in questions(asked.questions) if int(name[:2]) % 2 == odd]
                wanted, texts = [name for name, _ in chosen], [text for _, text in chosen]
                (before, cpu), (after, cpu_with) = (pages(paths, settings, texts) for settings in (off, on))
                alike = [own(a) == own(b) for a, b in zip(after, before, strict=True)]
                table.add(
                    other, language, len(texts), *places(before, wanted), *places(after, wanted),
                    "" if odd else f"{sum(alike)} of {len(alike)}", f"{cpu:.0f}", f"{cpu_with:.0f}",
                )  # fmt: skip
    print(machine(), table, sep="\n\n")
