"""Other programs on the same work as ours, in turns in the same minutes; Markdown tables of medians and ratios.

    python -m benchmarks peers [--repositories DIR] [--data DIR] [--corpus DIR] [--only letor,recoll] [--runs 5]
                               [--minutes 25]

What is compared, each where it is present; what is not is one line that says how to get it:

    pdgd, fpdgd, foltr-es   the published programs, --repositories DIR        benchmarks/peers/published.py: its layout
    letor                   scikit-learn's load_svmlight_file                 pip install scikit-learn
    recoll                  Recoll over every N-th file of --corpus           apt-get install recoll poppler-utils
    fts5, tantivy, bm25s    engines over short text files cut from --corpus   pip install tantivy bm25s PyStemmer

Times are seconds of processor time, user and system, children included. A turn measures ours, then each peer; a number
is the median over the turns, a ratio the median of the ratios of each turn. Below 1 is good for seconds and megabytes,
above 1 for interactions a second. No turn begins after --minutes, and nothing runs much longer.

The corpus is any folder of real documents; docs/benchmarks.md used 12,228 files of Debian's documentation. The queries
are those of the shared folder's corpus/queries.tsv and the titles in corpus/known_items.json, where they are.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from simulation.cli import one_thread_each

one_thread_each()  # before numpy is loaded

from benchmarks import load  # noqa: E402
from benchmarks.collections import shared_folder  # noqa: E402
from benchmarks.peers import desktop, engines, letor, published  # noqa: E402
from benchmarks.peers.pairs import Bench  # noqa: E402
from benchmarks.running import Option, arguments  # noqa: E402
from benchmarks.speed import read_queries  # noqa: E402
from benchmarks.tables import machine  # noqa: E402
from simulation.data.known_datasets import data_folder  # noqa: E402

PEERS = (*published.CHECKOUTS, "letor", "recoll", *engines.NAMES)
QUERIES = ("transaction", "regular expression", "how to configure a network interface", "merge conflict")
"""where the shared folder has none"""


def chosen(text: str) -> set[str]:
    """The peers named in "letor,recoll"; ArgumentTypeError for others."""
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = names - set(PEERS)
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(PEERS)}")
    return names


def main() -> None:
    """Measure and print."""
    options = arguments(
        __doc__,
        repositories=Option(help="checkouts and the venv they run in", kind=Path),
        data=Option(help="the folder of data sets; else FOLTR_DATASETS", kind=str),
        corpus=Option(help="a folder of real documents", kind=Path),
        only=Option(set(PEERS), "compare with these alone", kind=chosen),
        runs=Option(5, "turns of each comparison"),
        minutes=Option(25.0, "no turn begins later than this"),
        every=Option(5, "Recoll: take every N-th file of the corpus"),
        documents=Option(10_000, "engines: number of text files"),
        megabytes=Option(letor.MEGABYTES, "letor: the size of the file"),
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends, too
    print(machine() + "\n")
    start = load.moment()
    until = time.monotonic() + 60 * options.minutes
    for title, measure in families(options).items():
        bench = Bench(runs=options.runs, deadline=until, tell=partial(print, file=sys.stderr, flush=True))
        measure(bench)
        print(f"{title}\n")
        if bench.table.rows:
            print(f"{bench.table}\n")
        for remark in bench.remarks:
            print(f"* {remark}", flush=True)
        if bench.remarks:
            print()
    print("Versions: " + "; ".join(versions(options)))
    print(load.since(start))


def families(options: argparse.Namespace) -> dict[str, Callable[[Bench], None]]:
    """Title -> what fills its table, for the peers that were asked for."""
    names: set[str] = options.only
    titles, tsv = shared_lists()
    found: dict[str, Callable[[Bench], None]] = {}
    if names & set(published.CHECKOUTS):
        data = data_folder(options.data, os.environ)
        found["The laboratory and the published programs"] = lambda bench: published.measure(
            bench, names, repositories=options.repositories, data=data
        )
    if "letor" in names:
        found["Reading LETOR text"] = lambda bench: letor.measure(bench, megabytes=options.megabytes)
    if "recoll" in names:
        found["Files of a folder"] = lambda bench: desktop.measure(
            bench, options.corpus, every=options.every, titles=titles
        )
    if names & set(engines.NAMES):
        queries = read_queries(tsv, titles) or list(QUERIES)
        found["Plain text"] = lambda bench: engines.measure(
            bench, names, options.corpus, n_documents=options.documents, queries=queries
        )
    return found


def shared_lists() -> tuple[Path | None, Path | None]:
    """(known titles, queries) of the shared folder, None where they are not."""
    try:
        corpus = shared_folder() / "corpus"
    except FileNotFoundError:
        return None, None
    files = corpus / "known_items.json", corpus / "queries.tsv"
    return files[0] if files[0].exists() else None, files[1] if files[1].exists() else None


def versions(options: argparse.Namespace) -> list[str]:
    """Of everything that was asked for and is there."""
    names: set[str] = options.only
    found = published.versions(options.repositories) if names & set(published.CHECKOUTS) else []
    found += letor.versions() if "letor" in names else []
    found += desktop.versions() if "recoll" in names else []
    return found + engines.versions(names)


if __name__ == "__main__":
    main()
