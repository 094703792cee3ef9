"""Is what the program says about a result true? Each sentence of random pages is checked against the files.

    python -m benchmarks truth [--rows 10000] [--seed 1] [--quiet]

A home is made of mixed files (benchmarks.named) and of families with dates in eleven styles (benchmarks.versions),
and asked for random families, words, names and titles; one page in ten is learned from. For each row the words beside
it, the sentence that explains it, the comparison with its neighbour and what it is said to lack are checked against the
page ordered by words alone, the texts, names and dates of the files, and a list of what was opened. Then the named
cause is removed and the query asked again: the row must move to where its words alone would put it. It prints the
sentences by kind, how many were false, and each false one.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from msgspec import structs

from app.commands.results_text import explanation_lines
from app.learning.picks import Picks
from app.search.page_order import RULES
from app.search.reasons import OF_CODE, PART_OF, Reasons
from app.search.results import Hit, ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import indexed
from benchmarks.home import WORDS
from benchmarks.named import mixed_home
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine
from benchmarks.versions import Sentences, styled
from foltr.arrays import FloatMatrix, FloatVector, IntVector
from indexer.retrieval.dates import MONTHS
from indexer.retrieval.feature_values import Usage, scaled
from indexer.retrieval.features import NAMES
from indexer.retrieval.near_duplicates import Dates, newest_first, version
from indexer.storage.catalogue import Catalogue
from indexer.text.analysis import words_of

_ALIKE = re.compile(r"(newest|newer|older) of ([\d,]+) alike(.*)")
_TIMES = re.compile(r"opened (once|twice|(\d+) times) for this")
_PLACES = re.compile(r"Its words alone would put it at (\d+); it stands at (\d+): (.+)\.")
_DIGITS = re.compile(r"\d+")
USAGE = Picks.usage
ASKING = ("latest", "newest", "last")
"""words that ask for the newest of what the others say"""
ROWS = 100
"""of a page, that are looked at; what they are alike to stands on twice as many"""
SAID_OF_CODE = set(OF_CODE.values())
RULE_OF = {
    "all words in its name": "called",
    "all your words, in no source code": "called",
    "not written as you typed it": "written",
}
"""what is said of a row -> the rule of app.search.page_order that gives it the points"""

Claim = tuple[str, bool]
"""its kind, and whether it is true"""


@dataclass(slots=True)
class Facts:
    """What is known of a home beside what the program says of it."""

    catalogue: Catalogue
    days: dict[str, float]
    """path -> the day that the family's maker gave it"""
    opened: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(query, path) -> openings"""
    classes: IntVector = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """of the candidates of the last page, which are alike"""

    def dealt(self, scores: FloatVector, classes: IntVector, dates: Dates) -> tuple[FloatVector, list[str]]:
        """As `newest_first`, which it stands for."""
        self.classes = classes
        return newest_first(scores, classes, dates)

    def holds(self, hit: Hit, word: str) -> bool:
        """Whether any text of a result has the word as it is."""
        texts = " ".join(text for _, text in self.catalogue.written([hit.doc_id]))
        return word in set(words_of(f"{texts} {hit.author} {hit.part}"))

    def date(self, hit: Hit, how: str) -> object:
        """What tells the age of a result, by what is said to tell it."""
        stem = os.path.splitext(os.path.basename(hit.part or hit.path))[0]
        if how == " by their numbers":
            return tuple(map(int, _DIGITS.findall(stem)))
        if how == " by their versions":
            return version(stem), hit.modified
        return hit.modified if not how else self.days.get(hit.path)


def claims(search: Search, page: ResultPage, by_words: ResultPage, facts: Facts) -> Iterator[tuple[Hit, str, Claim]]:
    """(row, what is said of it, claim) of everything on a page."""
    for hit in page.hits[:ROWS]:
        why, told = search.why(page, hit), search.explain(page, hit)
        if why:
            yield hit, why, reason(page, hit, why, facts)
            if claim := moves(search, page, hit, why, facts.classes):
                yield hit, f"{why}, without it elsewhere", claim
        yield hit, told.summary, summary(page, hit, told.summary, by_words)
        for word in hit.missing_words:
            yield hit, f"lacks {word}", ("lacks a word", not facts.holds(hit, word))
        if told.contrast is not None:
            line = list(explanation_lines(told, width=200))[1]
            yield hit, line, neighbour(page, hit, line)
            total = sum(part.ahead for part in told.contrast.parts)
            yield hit, "parts", ("parts add up", abs(total - told.contrast.ahead) < 1e-6)
        for path in hit.copies:
            yield hit, f"same as {path}", ("copies", hit.part != "" or same(hit.path, path))


def levelled(*parts: str) -> Any:
    """The candidates' features with one value for all in what belongs to these parts of a score: the middle one."""
    columns = [i for i, name in enumerate(NAMES) if PART_OF.get(name) in parts]

    def matrix(raw: FloatMatrix) -> FloatMatrix:
        features = scaled(raw)
        features[:, columns] = np.median(features[:, columns], axis=0)
        return features

    return mock.patch("app.search.page_order.scaled", matrix)


def unpicked(picks: Picks, *given: Any, **named: Any) -> Usage:
    """What is known of the candidates' use, but for what was opened for this query."""
    usage = USAGE(picks, *given, **named)
    return structs.replace(usage, same_query=np.zeros_like(usage.same_query))


def given(points: Mapping[str, FloatVector]) -> Any:
    """These rules give these points [n_docs], whatever they see."""
    rules = {rule: structs.replace(RULES[rule], moves=lambda _, own=own: (own, ())) for rule, own in points.items()}
    return mock.patch.dict(RULES, rules)


def without(why: str, reasons: Reasons, classes: IntVector, candidate: int) -> contextlib.ExitStack | None:
    """In this the cause that is named does nothing for a candidate, or for the class of those alike that it is in.

    None for words that no cause is known of, as of an order by age that was asked for, in which the others move too.
    """
    away = contextlib.ExitStack()
    others = np.arange(len(reasons.scores)) != candidate
    if _ALIKE.fullmatch(why):
        away.enter_context(given({"alike": reasons.extra["alike"] * (classes != classes[candidate])}))
    elif _TIMES.fullmatch(why):
        away.enter_context(mock.patch.object(Picks, "usage", unpicked))
    elif why in ("exact title", "exact file name", "all words in the title"):
        away.enter_context(levelled("title", "name"))
        away.enter_context(given({"named": np.zeros(others.size)}))
    elif rule := RULE_OF.get(why):
        away.enter_context(given({**reasons.extra, rule: reasons.extra[rule] * others}))
    elif why.startswith(("you often open", "you like to open")):
        away.enter_context(mock.patch("app.learning.learner.raised", lambda traits, *_: np.zeros_like(traits.held)))
    else:
        return None
    return away


def moves(search: Search, page: ResultPage, hit: Hit, why: str, classes: IntVector) -> Claim | None:
    """Whether a row stands nearer to where its words alone put it once the cause of its place is taken away."""
    assert page.reasons is not None
    if hit.copies or hit.twins:  # another of the same content may have the row then, at its own place
        return None
    away = without(why, page.reasons, classes, int(page.reasons.shown[hit.rank - 1]))
    if away is None:
        return None
    with away:
        again = search.search(page.request)
    places = [other.rank for other in again.hits if hit.path in other.paths and hit.part == other.part]
    place = places[0] if places else len(again.hits) + 1  # behind the last
    return "cause taken away", bool(np.sign(place - hit.rank) == np.sign(hit.bm25_rank - hit.rank))


def wanted(query: str) -> str:
    """What picks are remembered under: the words of a query, in any order, without their commonest endings."""
    return " ".join(sorted(re.sub(r"(ed|s)$", "", word) for word in words_of(query)))


def same(one: str, other: str) -> bool:
    """Whether two files hold the same."""
    return Path(one).read_bytes() == Path(other).read_bytes()


def reason(page: ResultPage, hit: Hit, why: str, facts: Facts) -> Claim:
    """The few words beside a row."""
    query, asked = page.request.text, set(words_of(page.request.text))
    if match := _ALIKE.fullmatch(why):
        return "newest first", is_so_old(page, hit, match, facts)
    if match := _TIMES.fullmatch(why):
        n = int(match[2]) if match[2] else {"once": 1, "twice": 2}[match[1]]
        return "opened for this", 0 < n <= facts.opened[wanted(query), hit.path]
    if why == "exact title":
        return why, words_of(hit.title) == words_of(query) or set(words_of(hit.title)) == asked
    if why == "exact file name":
        ends = [end for name in (os.path.basename(hit.path), hit.part) for end in (name, os.path.splitext(name)[0])]
        return why, any(words_of(end) == words_of(query.split("/")[-1]) or set(words_of(end)) == asked for end in ends)
    if why == "all words in the title":
        return why, all(any(word[:4] == other[:4] for other in words_of(hit.title)) for word in asked)
    if why in ("all words in its name", "newest first, as asked"):
        called, passed_over = words_of(f"{hit.title} {hit.path} {hit.part}"), set[str]()
        if why == "newest first, as asked":
            passed_over = set(ASKING) & set(words_of(query)[:1])
        is_asked = passed_over or why == "all words in its name"
        return why, bool(is_asked) and is_called(asked - passed_over, called)
    if why in ("as you typed it", "all your words, in no source code"):
        text = "\n".join(text for _, text in facts.catalogue.written([hit.doc_id]))
        in_a_row = " ".join(words_of(query)) in " ".join(words_of(text))
        return why, in_a_row or is_called(asked, words_of(f"{text} {hit.part}"))
    if why == "not written as you typed it":
        return why, not any(re.search(rf"(?<!\w){re.escape(query.lower())}(?!\w)", text.lower())
                            for _, text in facts.catalogue.written([hit.doc_id]))  # fmt: skip
    if why in SAID_OF_CODE:
        return why, is_true_of_code(why, hit, asked)
    if why.startswith(("you often open", "you seldom open", "opened")):
        return "opened before", any(facts.opened.values())
    return f"unknown: {why}", False


def is_called(asked: set[str], called: Sequence[str]) -> bool:
    """Whether each word that was asked for is there by its beginning, or as a number stands for it."""
    return all(word in MONTHS or any(word[:4] == other[:4] for other in called) for word in asked)


def is_true_of_code(why: str, hit: Hit, asked: set[str]) -> bool:
    """What is said of a file of source code, against its path."""
    beginnings = [word[:4] for word in asked]
    path = hit.path.lower()
    if why == "a test":
        return re.search("test|spec|bench|fixture|mock", path) is not None
    if why == "an example, or about the code":
        return re.search("example|sample|demo|doc|tutorial|site|playground", path) is not None
    if why == "all words in its path":
        return all(beginning in path for beginning in beginnings)
    return any(beginning in os.path.basename(path) for beginning in beginnings)


def is_so_old(page: ResultPage, hit: Hit, match: re.Match[str], facts: Facts) -> bool:
    """Whether the rows that it is alike to stand around one as it is said."""
    assert page.reasons is not None
    way, n, how = match.groups()
    classes = facts.classes[page.reasons.shown].tolist()
    own = classes[hit.rank - 1]
    others = [other for other, of in zip(page.hits, classes, strict=False) if of == own and other is not hit]
    mine = facts.date(hit, how)
    if mine is None or int(n.replace(",", "")) != np.count_nonzero(facts.classes == own):
        return False
    if way == "newest":
        return all(facts.date(other, how) < mine for other in others)  # type: ignore[operator]
    above = way == "older"
    return any(
        (other.rank < hit.rank) == above and (facts.date(other, how) > mine) == above  # type: ignore[operator]
        for other in others
    )


def summary(page: ResultPage, hit: Hit, text: str, by_words: ResultPage) -> Claim:
    """The sentence over the points."""
    places = [other.rank for other in by_words.hits if set(other.paths) & set(hit.paths)]
    if match := _PLACES.fullmatch(text):
        if "most of all" in match[3] or "others" in match[3]:
            return "several things", int(match[2]) == hit.rank and match[3] != "small things together"
        return "two places", int(match[2]) == hit.rank and (not places or int(match[1]) in places)
    if text == f"It stands at {hit.rank}, where its words alone would put it.":
        return "one place", not places or hit.rank in places
    return "by meaning", hit.by_meaning


def neighbour(page: ResultPage, hit: Hit, line: str) -> Claim:
    """The comparison with the row above, of the first with the one below."""
    assert page.reasons is not None
    other = page.hits[hit.rank - 2 if hit.rank > 1 else 1]
    ahead = hit.score - other.score
    if "level with" in line:
        in_order = "in the order of their words" not in line or (
            (hit.bm25_rank < other.bm25_rank) == (hit.rank < other.rank)
        )
        return "level", abs(ahead) < 0.001 and f"result {other.rank}" in line and in_order
    return "ahead or behind", abs(float(line.split()[0]) - ahead) < 0.001 and f"result {other.rank}" in line


def queries(rng: random.Random, families: list[str], paths: list[str], titles: list[str]) -> Iterator[str]:
    """What is asked, without an end."""
    while True:
        yield rng.choice(families)
        yield " ".join(rng.sample(WORDS, rng.randint(1, 3)))
        yield os.path.basename(rng.choice(paths))
        yield rng.choice(WORDS) + rng.choice(("", "s", "ed", " report", " 2024"))
        yield rng.choice(titles)


def measure(base: Path, *, n_rows: int, seed: int, n_files: int = 400, n_names: int = 4) -> tuple[Table, list[str]]:
    """A row for each kind of sentence, and a line for each false one; `n_names` as in `styled`."""
    rng, home = random.Random(seed), base / "home"
    mixed_home(home, n_files, seed)
    lot = np.random.default_rng(seed)
    asked = styled(home / "families", Sentences(collections.read("adi"), lot), lot, n_names=n_names)
    settings = Settings()
    paths = indexed(home, base, settings)
    catalogue = Catalogue.open(paths.catalogue)
    rows = list(catalogue.documents(catalogue.doc_ids()).values())
    facts = Facts(catalogue, {path: day for _, _, _, made in asked for path, day in made})
    titles = [row.title for row in rows if row.title.strip()]
    search, said, false = Search(settings, paths), Counter[str](), list[str]()
    wrong, n_seen = Counter[str](), 0
    for number, text in enumerate(queries(rng, [query for _, query, _, _ in asked], catalogue.paths(), titles)):
        by_words = search.search(SearchRequest(text, order="bm25", limit=2 * ROWS))
        with mock.patch("indexer.retrieval.near_duplicates.newest_first", facts.dealt):
            page = search.search(SearchRequest(text, limit=2 * ROWS, explore=False))
        n_seen += len(page.hits[:ROWS])
        for hit, sentence, (kind, is_true) in claims(search, page, by_words, facts) if page.reasons else ():
            said[kind] += 1
            if not is_true:
                wrong[kind] += 1
                false.append(f"{kind}: {text!r}, row {hit.rank} {hit.path}: {sentence}")
        if number % 10 == 0 and page.hits:
            hit = rng.choice(page.hits[:5])
            search.opened(page, hit)
            search.leave(page)
            facts.opened[wanted(text), hit.path] += 1
        if n_seen >= n_rows:
            break
    search.close()
    catalogue.close()
    table = Table(("what is said", "sentences", "false"))
    for kind, n in sorted(said.items()):
        table.add(kind, n, wrong[kind])
    table.add(f"all, {n_seen:,} rows", sum(said.values()), sum(wrong.values()))
    return table, false


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, rows=10_000, seed=1, quiet=Option(False, "do not list what was false"))
    with tempfile.TemporaryDirectory(prefix="foltr-truth-") as folder:
        table, false = measure(Path(folder), n_rows=wanted.rows, seed=wanted.seed)
    print(machine(), table, "" if wanted.quiet else "\n".join(false), sep="\n\n")
