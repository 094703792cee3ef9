"""What may be typed, pasted or sent: random queries over a large index, with what each costs.

    python -m benchmarks odd_queries --data FOLDER [--n 20000] [--seed 1] [--most 1.0] [--minutes 60]
    python -m benchmarks odd_queries --corpus FOLDER [--documents 50000] [...]

Quotes, operators, fields, dates, stars, patterns, scripts without blanks, combining marks, emoji, long words, control
characters, thousands of brackets, pieces that repeat, soups of all of them. Each query is searched for as the command
does it, and its first snippets are made. Without a data folder one is made of texts from CORPUS, as benchmarks.large
does. Exit code 1 if one raised an error, or took more processor seconds than `--most`. Ends after `--minutes`.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks.large import indexing, write_pieces
from benchmarks.running import arguments
from benchmarks.speed import own_folders
from benchmarks.tables import Table, machine
from indexer.query.parse import FILTER_NAMES, TEXT_NAMES
from indexer.storage.catalogue import Catalogue

FIELDS = (*TEXT_NAMES, *FILTER_NAMES, "is", "has", "no")
VALUES = ("2024", "2024-01..2024-03", ">1mb", "<=7d", "mail", "pdf,docx,", "last-week", "..", "9" * 40, "unread",
          "en", "@-99", "~/x", "/", "*", "0b", "31.2.2024", "attachment")  # fmt: skip
SIGNS = ("é", "鱻", "中文", "日本語の本", "한국어", "ไทย", "हिन्दी", "שָׁלוֹם", "né́", "\u0301", "ß", "ﬁ", "İ", "ℂ",
         "👩‍👩‍👧", "🏳️‍🌈", "\u202e", "\u200b", "\0", "\x1b[31m", "\ud800", "\udcff", "\U0001f600", "C++", "C#", "3.2.20",
         "--no-ff", "foo_bar", "/etc/fstab", "http://example.org/a?b=c", "getFile", "e1000e", "user's", "@tax", "~5",
         ";", "--", "…", "。", "１２", "Ⅷ", "½")  # fmt: skip
GLUE = (" ", "", ";", "_", ".", "-", "'", "/", "@", " OR ", " AND ", " NOT ", " -", " NEAR ", "\t", ",", ":", "::")
PAIRS = tuple(map(tuple, ('""', "“”", "«»", "()", "（）", "„“", '"(', ')"')))
PATTERNS = ("/trains?.*/", "tr*n", "t?r", "[a-z]+", "*a*", "\\w+", "(?:a+)+$", "a~2", "word*", "*", "=*", "*.tar.gz")
LONGEST = 12_000
"""characters; a little more than is read of a query"""
SNIPPETS = 3
MANY = (1, 2, 2, 3, 5, 12, 110)
"""things in a query; more than a hundred are cut"""

Words = Sequence[str]


def odd_query(rng: random.Random, words: Words) -> str:
    """One query; `words` are some that the documents hold."""
    return rng.choice(KINDS)(rng, words)[:LONGEST]


def _piece(rng: random.Random, words: Words) -> str:
    """One thing that a query is made of."""
    chance = rng.random()
    if chance < 0.45:
        word = rng.choice(words)
        other = rng.choice(words)
        return rng.choice((word, word, word, word.upper(), word[:3] + "*", "=" + word, word[:-1], word + other))
    if chance < 0.6:
        return f"{rng.choice(FIELDS)}:{rng.choice((*VALUES, *SIGNS, rng.choice(words)))}"
    return rng.choice(rng.choice((SIGNS, PATTERNS, VALUES, SIGNS)))


def _soup(rng: random.Random, words: Words) -> str:
    parts = [_piece(rng, words) + rng.choice(GLUE) for _ in range(rng.choice((1, 2, 3, 5, 8, 20, 60)))]
    return "".join(parts)


def _ordinary(rng: random.Random, words: Words) -> str:
    return " ".join(rng.choice(words) for _ in range(rng.randint(1, 6)))


def _phrase(rng: random.Random, words: Words) -> str:
    few = [rng.choice(words) for _ in range(rng.choice((1, 2, 3, 10, 1000)))]
    text = " ".join(rng.choice(few) for _ in range(rng.choice((2, 5, 300, 2500))))
    return f'{rng.choice(("", "=", "title:", "-"))}"{text}"'


def _repeated(rng: random.Random, words: Words) -> str:
    """One piece so often that nothing more is read."""
    piece = rng.choice((_piece(rng, words), rng.choice(words)[:2], "a", "the", "of")) + rng.choice((*GLUE, "_", "."))
    text = piece * rng.choice((10, 200, LONGEST // len(piece)))
    return rng.choice(('"{}"', "{}", "title:({})", "={}", "{}*", "-({})")).replace("{}", text)


def _nested(rng: random.Random, words: Words) -> str:
    """Brackets or quotes within each other, closed or not."""
    opening, closing = rng.choice(PAIRS)
    depth = rng.choice((3, 19, 21, 300, 5000))
    joint = rng.choice(("", "NOT ", "-", "a OR ", "title:", "="))
    return (joint + opening) * depth + _soup(rng, words) + closing * rng.choice((0, depth, depth + 3))


def _operators(rng: random.Random, words: Words) -> str:
    signs = ("OR", "AND", "NOT", "-", "--", "(", ")", '"', "=", "*", ":", rng.choice(words), rng.choice(words) + "*")
    return " ".join(rng.choice(signs) for _ in range(rng.choice((3, 10, 100, 3000))))


def _prefixes(rng: random.Random, words: Words) -> str:
    n = rng.choice((1, 2, 3))
    return rng.choice((" ", " OR ", "_", ".")).join(rng.choice(words)[:n] + "*" for _ in range(rng.choice(MANY)))


def _joined_words(rng: random.Random, words: Words) -> str:
    """Many words that are looked for as they are written."""
    joint = rng.choice(("_", ".", "-", "/", "@", "::", "->"))
    n = rng.choice((2, 3, 4, 50))
    return " ".join(joint.join(rng.choice(words) for _ in range(n)) for _ in range(rng.choice(MANY)))


def _misspelt(rng: random.Random, words: Words) -> str:
    def typo(word: str) -> str:
        at = rng.randrange(len(word))
        return word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + rng.choice((0, 1)) :]

    return " ".join(typo(rng.choice(words)) for _ in range(rng.choice(MANY)))


def _filters(rng: random.Random, words: Words) -> str:
    some = (f"{rng.choice(FIELDS)}:{rng.choice((*VALUES, rng.choice(words)))}" for _ in range(rng.choice(MANY)))
    return rng.choice((" ", " OR ", " -")).join(some)


def _signs(rng: random.Random, words: Words) -> str:
    return "".join(rng.choice(SIGNS) + rng.choice(GLUE[:9]) for _ in range(rng.choice((1, 2, 3, 50, 2000))))


def _noise(rng: random.Random, words: Words) -> str:
    ranges = ((0, 0x80), (0, 0x250), (0x300, 0x370), (0x4E00, 0x9FFF), (0, 0x110000), (0xD800, 0xE000))
    first, last = rng.choice(ranges)
    return "".join(chr(rng.randrange(first, last)) for _ in range(rng.choice((1, 5, 40, 3000))))


KINDS: tuple[Callable[[random.Random, Words], str], ...] = (
    _soup, _soup, _ordinary, _phrase, _repeated, _nested, _operators, _prefixes, _joined_words, _misspelt, _filters,
    _signs, _noise,
)  # fmt: skip


def vocabulary(paths: Paths, n: int = 20_000) -> list[str]:
    """Words of some of the documents; common ones come again and again, as they do in texts."""
    catalogue = Catalogue.open(paths.catalogue)
    try:
        ids = sorted(catalogue.doc_ids())
        texts = [text for _, text in catalogue.written(random.Random(0).sample(ids, k=min(400, len(ids))))]
    finally:
        catalogue.close()
    counts = Counter(word for text in texts for word in re.findall(r"[^\W\d_]{2,}", text))
    return [word for word, count in counts.most_common(n) for _ in range(1 + count.bit_length())]


def ask(search: Search, text: str) -> float:
    """Seconds of the processor that one query takes, its first snippets included."""
    started = time.process_time()
    page = search.search(SearchRequest(text))
    for hit in page.hits[:SNIPPETS]:
        search.snippet(page, hit)
    return time.process_time() - started


def run(search: Search, words: Words, *, n: int, seed: int, most: float, minutes: float = 60.0) -> bool:
    """Ask `n` queries, or as many as these minutes allow, and print what they cost; whether all was well."""
    rng, until = random.Random(seed), time.monotonic() + minutes * 60
    taken: list[float] = []
    n_raised = n_slow = 0
    while len(taken) < n and time.monotonic() < until:
        query = odd_query(rng, words)
        try:
            taken.append(ask(search, query))
        except Exception as error:
            n_raised += 1
            print(f"{type(error).__name__} on {len(query)} characters: {query[:80]!r}", flush=True)
            continue
        if taken[-1] > most:
            n_slow += 1
            print(f"{taken[-1]:.2f} CPU-s on {len(query)} characters: {query[:80]!r}", flush=True)
    table = Table(("queries", "exceptions", "CPU ms p50", "p95", "p99", "most", f"above {most:g} CPU-s"))
    costs = (f"{value * 1e3:.1f}" for value in (*np.percentile(taken, (50, 95, 99)), max(taken)))
    table.add(f"{len(taken) + n_raised:,}", n_raised, *costs, n_slow)
    print(table)
    return not n_raised and not n_slow


def main() -> int:
    """Ask and print."""
    options = arguments(__doc__, data=None, corpus=None, documents=50_000, n=20_000, seed=1, most=1.0, minutes=60.0)
    if not options.data and not options.corpus:
        sys.exit("wanted --data or --corpus, got none")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="foltr-odd-queries-") as temporary:
        paths = Paths(Path(temporary), options.data) if options.data else Paths(Path(temporary), Path(temporary))
        if options.corpus:
            files, (paths, env) = Path(temporary) / "files", own_folders(Path(temporary))
            indexing(files, env, write_pieces(options.corpus, files, options.documents))
        search = Search(Settings(), paths)
        try:
            is_well = run(
                search, vocabulary(paths), n=options.n, seed=options.seed, most=options.most, minutes=options.minutes
            )  # fmt: skip
            return 0 if is_well else 1
        finally:
            search.close()
