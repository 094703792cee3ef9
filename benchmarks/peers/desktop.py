"""Recoll on the same folder: the full index, a rescan, one changed file, queries as whole commands, known titles.

Both programs read every N-th file of a corpus of real documents, with its paths, from an empty index. Everything is a
separate command, measured by the processor time of the command and all its children. Recoll runs as Debian's packages
set it up, with a configuration that names nothing but the folder; which helpers it lacked (pdftotext is in
poppler-utils) is said in a line.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import MeaningSettings, Settings
from benchmarks.peers.pairs import AbsentError, Bench, Sample
from benchmarks.processes import BY_WORDS, PROGRAM, Run, run
from benchmarks.speed import own_folders

NAME = "Recoll"
HOW_TO_GET = "apt-get install recoll"
QUERIES = ("transaction isolation", "regular expression", "socket timeout", "merge conflict", "password file")
NOTHING = "qvxzzyplomtrick"
"""a word that no document holds"""


def recoll() -> None:
    """AbsentError where its commands are not."""
    if not (shutil.which("recollindex") and shutil.which("recollq")):
        raise AbsentError(HOW_TO_GET)


def versions() -> list[str]:
    """As the package manager knows it."""
    if not shutil.which("recollindex"):
        return []
    try:
        found = run(("dpkg-query", "-W", "-f", "${Version}", "recollcmd"), {}, timeout=30).output.strip()
    except Exception:  # another system: the version is not known
        found = ""
    return [f"{NAME} {found}".strip()]


def measure(bench: Bench, corpus: Path | None, *, every: int, titles: Path | None) -> None:
    """All comparisons on every N-th file of the corpus."""
    if not bench.present(NAME, recoll):
        return
    if corpus is None or not corpus.is_dir():
        bench.give_up(NAME, "no folder to index: --corpus DIR, a folder of real documents")
        return
    with tempfile.TemporaryDirectory(prefix="foltr-peers-") as temporary:
        sides = Sides(bench, Path(temporary))
        n, size = copy_part(corpus, sides.files, every)
        work = f"{n:,} files, {size / 1e6:.0f} MB"
        bench.compare(f"full index of {work}", sides.our_index, {NAME: sides.their_index})
        lacking = sides.recoll / "missing"
        if lacking.exists() and lacking.read_text().strip():
            bench.remarks.append(f"{NAME} could not read what needs {' '.join(lacking.read_text().split())}")
        bench.compare("rescan, nothing changed", sides.our_rescan, {NAME: sides.their_rescan})
        bench.compare("one file changed, the next run", sides.our_change, {NAME: sides.their_change})
        bench.compare("a query, the whole command", sides.our_queries, {NAME: sides.their_queries})
        bench.compare("a query without an answer, the whole command", sides.our_nothing, {NAME: sides.their_nothing})
        if titles is not None and titles.exists():
            items = sides.known(titles)
            work = f"{len(items)} titles as queries, all words wanted"
            ours, theirs = lambda: sides.our_mrr(items), lambda: sides.their_mrr(items)
            bench.compare(work, ours, {NAME: theirs}, runs=1)


def copy_part(corpus: Path, folder: Path, every: int) -> tuple[int, int]:
    """Copy every N-th file in the order of the paths; (files, bytes)."""
    files = sorted(path for path in corpus.rglob("*") if path.is_file())[::every]
    for path in files:
        target = folder / path.relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return len(files), sum(path.stat().st_size for path in files)


@dataclass(slots=True)
class Sides:
    """Both programs' folders, and one method for each measurement of each."""

    bench: Bench
    folder: Path
    files: Path = field(init=False)
    data: Path = field(init=False)
    recoll: Path = field(init=False)

    def __post_init__(self) -> None:
        self.files, self.data, self.recoll = (self.folder / name for name in ("files", "data", "recoll"))

    def our_index(self) -> Sample:
        shutil.rmtree(self.data, ignore_errors=True)
        return self._built(self._ours("index", "--quiet", str(self.files)), self.data)

    def their_index(self) -> Sample:
        shutil.rmtree(self.recoll, ignore_errors=True)
        self.recoll.mkdir()
        (self.recoll / "recoll.conf").write_text(f"topdirs = {self.files}\n")
        return self._built(self._theirs("recollindex"), self.recoll)

    def our_rescan(self) -> Sample:
        return _cpu(self._ours("index", "--quiet"))

    def their_rescan(self) -> Sample:
        return _cpu(self._theirs("recollindex"))

    def our_change(self) -> Sample:
        self._change()
        return _cpu(self._ours("index", "--quiet"))

    def their_change(self) -> Sample:
        self._change()
        return _cpu(self._theirs("recollindex"))

    def our_queries(self) -> Sample:
        return _mean([self._ours("search", "--limit", "10", query) for query in QUERIES])

    def their_queries(self) -> Sample:
        return _mean([self._theirs("recollq", "-a", "-n", "10", query) for query in QUERIES])

    def our_nothing(self) -> Sample:
        return _cpu(self._ours("search", NOTHING))

    def their_nothing(self) -> Sample:
        return _cpu(self._theirs("recollq", "-a", "-n", "10", NOTHING))

    def known(self, titles: Path) -> list[tuple[str, frozenset[str]]]:
        """(title, the page and its exact copies) of those titles whose page is in the part that was copied."""
        twins: dict[bytes, set[str]] = {}
        names: dict[str, bytes] = {}
        for path in (path for path in self.files.rglob("*") if path.is_file()):
            digest = hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
            twins.setdefault(digest, set()).add(str(path))
            names[str(path)] = digest
        rows = ((title, str(self.files / page)) for title, page in json.loads(titles.read_text()))
        return [(title, frozenset(twins[names[page]])) for title, page in rows if page in names]

    def our_mrr(self, items: Sequence[tuple[str, frozenset[str]]]) -> Sample:
        search = Search(Settings(meaning=MeaningSettings(enabled=False)), Paths(self.folder / "config", self.data))
        try:
            pages = [search.search(SearchRequest(title, explore=False)).hits[:10] for title, _ in items]
        finally:
            search.close()
        return mrr([[set(hit.paths) for hit in hits] for hits in pages], items)

    def their_mrr(self, items: Sequence[tuple[str, frozenset[str]]]) -> Sample:
        pages = [self._theirs("recollq", "-a", "-b", "-n", "10", title).output for title, _ in items]
        return mrr([[{path} for path in paths_in(page)] for page in pages], items)

    def _ours(self, *arguments: str) -> Run:
        env = own_folders(self.folder)[1] | BY_WORDS
        # 1: nothing was found
        return run((*PROGRAM, *arguments), env, timeout=self.bench.patience(), fine=(0, 1))

    def _theirs(self, command: str, *arguments: str) -> Run:
        return run((command, "-c", str(self.recoll), *arguments), {}, timeout=self.bench.patience(), fine=(0, 1))

    def _built(self, done: Run, index: Path) -> Sample:
        size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
        return {"CPU-s": done.cpu, "peak memory, MB": done.peak_mb, "on disk, MB": size / 1e6}

    def _change(self) -> None:
        (self.files / "changed.txt").write_text(f"changed at {time.time_ns()}\n")


def _cpu(done: Run) -> Sample:
    return {"CPU-s": done.cpu}


def _mean(done: Sequence[Run]) -> Sample:
    return {"CPU-s": sum(each.cpu for each in done) / len(done)}


def mrr(pages: Sequence[Sequence[set[str]]], items: Sequence[tuple[str, frozenset[str]]]) -> Sample:
    """Mean reciprocal rank within the first ten; a result stands for all its copies."""
    shares = [
        next((1 / rank for rank, paths in enumerate(page[:10], start=1) if paths & wanted), 0.0)
        for page, (_, wanted) in zip(pages, items, strict=True)
    ]
    return {"MRR@10": sum(shares) / max(len(shares), 1)}


def paths_in(output: str) -> list[str]:
    """The files in the lines of `recollq -b`."""
    return [unquote(line.strip().removeprefix("file://")) for line in output.splitlines() if line.startswith("file://")]
