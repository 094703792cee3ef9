"""Answers over 100,000 documents: the corpus is cut into as many short files, indexed, and searched.

    python -m benchmarks.large CORPUS [--n 100000] [--queries FILE.tsv] [--titles known_items.json]

Needs about 1 GB of temporary disk, which it frees.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import load
from benchmarks.processes import run
from benchmarks.speed import PROGRAM, answering, command, heading, own_folders, read_queries, row

WORDS = 150
"""words of each short file, about a long paragraph"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--titles", type=Path)
    options, start = parser.parse_args(), load.moment()
    heading()
    with tempfile.TemporaryDirectory(prefix="foltr-large-") as temporary:
        files = Path(temporary) / "files"
        n = write_pieces(options.corpus, files, options.n)
        paths, env = own_folders(Path(temporary))
        full = run((*PROGRAM, "index", str(files)), env)
        row("documents", f"{n:,}")
        row("full index, CPU-s", f"{full.cpu:.0f}")
        row("peak memory of all processes, MB", f"{full.peak_mb:.0f}")
        row("rescan of the unchanged tree, the whole command, CPU-s", f"{run((*PROGRAM, 'index'), env).cpu:.2f}")
        queries = read_queries(options.queries, options.titles)
        answering(paths, queries)
        row("peak memory of this process, with Whoosh's index open too, MB", f"{_peak_mb():.0f}")
        command(env, queries[0] if queries else "test", runs=5)
    print(f"\n{load.since(start)}")


def write_pieces(corpus: Path, folder: Path, n: int) -> int:
    """Cut the corpus into `n` files of WORDS words (fewer when it ends before), a thousand a folder."""
    written = 0
    for written, piece in enumerate(itertools.islice(pieces(corpus), n), start=1):
        target = folder / f"{written // 1000:03d}"
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{written:06d}.txt").write_text(piece)
    return written


def pieces(corpus: Path) -> Iterator[str]:
    """Runs of words of each file, markup taken out; files that hold no text are passed over."""
    for root, _, names in sorted(os.walk(corpus)):
        for name in sorted(names):
            text = (Path(root) / name).read_text(errors="replace")
            if text.startswith("%PDF") or "\0" in text:
                continue
            words = re.sub(r"<[^>]*>", " ", text).split()
            for i in range(0, len(words), WORDS):
                yield " ".join(words[i : i + WORDS])


def _peak_mb() -> float:
    factor = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * factor / 1e6


if __name__ == "__main__":
    main()
