"""Families of similar files with dates: is the newest first, unless the query names another one?

    python -m benchmarks versions [--seed N] [--collection medline] [--styles]

A person's disk is made at random: bills of firms, minutes of groups, drafts of essays, notes on releases and monthly
reports, a dozen of each family, and hundreds of daily notes, among the documents of a collection, whose dates are
random too. Texts are sentences of the collection within the usual frame of their kind. Each family is asked for by its
name alone (right: the newest is the first result), by its name and the year, month or number of one member (right:
that one is first), and, where members have contents of their own, by three words that only one member has (right:
that one is first). Then the device opens results of other queries, and the families are asked again.

`--styles`: families of bills, minutes and drafts alone, written in random order, whose dates are in their names,
their texts or only in the files, one style after the other: how often is the newest the first result?
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import device, indexed
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict

AIM = 0.95
PICKS = (5, 20)
"""results opened for other queries before the families are asked again"""
DAY = 86_400.0
MEMBERS = 12
DAILY = 400
"""members of a family of daily notes"""
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
FIRMS = ("electricity", "internet", "water", "dentist", "garage", "insurance", "heating", "telephone", "rent", "gym")
GROUPS = ("board", "choir", "parents", "allotment", "council", "library", "workshop", "orchestra", "rowing", "chess")
PRODUCTS = ("Larkspur", "Quillon", "Fernwick", "Ostrava", "Tamarisk", "Bellwether", "Corvid", "Halyard", "Juniper",
            "Merlin")  # fmt: skip
REPORTS = ("sales", "energy", "safety", "traffic", "harvest", "stock", "visitors", "budget", "quality", "training")

_SENTENCE = re.compile(r"[^.!?]{40,300}[.!?]")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a family, the newest last."""

    name: str
    text: str
    named: str
    """what a query says beside the family's name to mean this one"""
    own: str = ""
    """three words that no other file holds; "" where the members differ by numbers alone"""


@dataclass(frozen=True, slots=True)
class Family:
    kind: str
    query: str
    members: tuple[Member, ...]


class Sentences:
    """Random sentences of a collection."""

    def __init__(self, collection: collections.Collection, rng: np.random.Generator) -> None:
        texts = " ".join(document.text for document in collection.documents)
        self._found = [" ".join(s.split()) for s in _SENTENCE.findall(texts)]
        self._rng = rng

    def some(self, n: int) -> list[str]:
        return [self._found[i] for i in self._rng.integers(0, len(self._found), n).tolist()]


def own_words(i: int, rng: np.random.Generator) -> str:
    """Three words that no collection holds, the same in no two members."""
    syllables = ("ba", "ke", "lo", "mu", "ri", "sa", "ti", "vo", "ze", "nu")
    return " ".join("".join(rng.choice(syllables, 4)) + syllables[i % 10] for _ in range(3))


def bills(firm: str, text: Sentences, rng: np.random.Generator) -> Family:
    """Differ by numbers alone."""
    frame = text.some(3)
    members = []
    for i in range(MEMBERS):
        year = 2013 + i
        items = rng.choice(("basic fee", "usage", "meter", "service", "postage", "reminder"), 3, replace=False)
        lines = [
            f"{item} {rng.integers(1, 40)} units at {rng.integers(1, 90)}.{rng.integers(10, 99)}" for item in items
        ]
        members.append(Member(
            f"{firm}-{year}.txt",
            "\n".join((f"Invoice for {firm}, {year}", f"Customer {rng.integers(10**6, 10**7)}, invoice number {year}-"
                       f"{rng.integers(100, 999)}", *lines, f"To be paid by 14 {rng.choice(MONTHS)} {year}.", *frame)),
            str(year),
        ))  # fmt: skip
    return Family("bills", f"invoice {firm}", tuple(members))


def minutes(group: str, text: Sentences, rng: np.random.Generator) -> Family:
    """Much different text in each, under the same headings."""
    members = []
    for i in range(MEMBERS):
        year, month, own = 2023 + i // 6, MONTHS[(2 * i) % 12], own_words(i, rng)
        points = [f"## Point {n}\n{' '.join(text.some(int(rng.integers(1, 5))))}" for n in range(1, 4)]
        members.append(Member(
            f"{year}-{1 + (2 * i) % 12:02d} {group} minutes.md",
            "\n".join((f"# Minutes of the {group}, {month} {year}", "Present: all members. Apologies: none.", *points,
                       f"## Any other business\n{own}.", "The meeting closed at nine.")),
            f"{month.lower()} {year}", own,
        ))  # fmt: skip
    return Family("minutes", f"{group} minutes", tuple(members))


def drafts(product: str, text: Sentences, rng: np.random.Generator) -> Family:
    """One text that changes a little from draft to draft, and grows."""
    lines, members = text.some(20), []
    for i in range(MEMBERS):
        for place in rng.integers(0, len(lines), 2).tolist():
            lines[place] = text.some(1)[0]
        lines.extend(text.some(int(rng.integers(0, 2))))
        members.append(Member(f"essay on {product.lower()} draft {i + 1}.md", f"# Essay on {product}\n\n" +
                              "\n".join(lines), f"draft {i + 1}"))  # fmt: skip
    return Family("drafts", f"essay {product.lower()}", tuple(members))


def releases(product: str, text: Sentences, rng: np.random.Generator) -> Family:
    """Lists of their own under one title."""
    members = []
    for i in range(MEMBERS):
        version, own = f"{1 + i // 6}.{i % 6}", own_words(i, rng)
        points = "".join(f"<li>{line}</li>" for line in (*text.some(int(rng.integers(2, 9))), own))
        title = f"{product} {version} release notes"
        members.append(Member(
            f"{product.lower()}-{version}.html",
            f"<html><head><title>{title}</title></head><body><h1>{title}</h1><ul>{points}</ul></body></html>",
            version, own,
        ))  # fmt: skip
    return Family("releases", f"{product.lower()} release notes", tuple(members))


def reports(subject: str, text: Sentences, rng: np.random.Generator) -> Family:
    """Half frame, half contents."""
    frame, members = text.some(5), []
    for i in range(MEMBERS):
        year, month, own = 2024 + i // 12, MONTHS[i % 12], own_words(i, rng)
        members.append(Member(
            f"{subject}-report-{year}-{1 + i % 12:02d}.txt",
            "\n".join((f"Monthly report: {subject}, {month} {year}", *frame, *text.some(int(rng.integers(3, 7))), own)),
            f"{month.lower()} {year}", own,
        ))  # fmt: skip
    return Family("reports", f"{subject} report", tuple(members))


def logs(group: str, text: Sentences, rng: np.random.Generator) -> Family:
    """Hundreds, a day apart, more than any page ranks."""
    members = []
    for i in range(DAILY):
        day = f"{2023 + i // 336}-{1 + i // 28 % 12:02d}-{1 + i % 28:02d}"
        lines = "\n".join(f"- {line}" for line in text.some(int(rng.integers(1, 6))))
        members.append(Member(f"{day} {group} log.md", f"# Log of the {group}, {day}\n\n{lines}\n", day))
    return Family("logs", f"log {group}", tuple(members))


def families(collection: collections.Collection, rng: np.random.Generator) -> list[Family]:
    """All families of one disk."""
    text = Sentences(collection, rng)
    kinds = ((bills, FIRMS), (minutes, GROUPS), (drafts, PRODUCTS), (releases, PRODUCTS), (reports, REPORTS),
             (logs, GROUPS[:4]))  # fmt: skip
    return [kind(name, text, rng) for kind, names in kinds for name in names]


def file(folder: Path, made: Sequence[Family], collection: collections.Collection, rng: np.random.Generator) -> None:
    """Write the disk: each family in a folder of its own, a month or more between its members."""
    now = time.time()
    collections.write_files(collection, folder / "papers")
    for path in sorted((folder / "papers").rglob("*")):
        if path.is_file():
            _date(path, now - float(rng.uniform(0, 1500)) * DAY)
    for family in made:
        age = float(rng.uniform(5, 200))
        place = folder / family.kind / family.query.replace(" ", "-")
        place.mkdir(parents=True)
        for member in reversed(family.members):
            path = place / member.name
            path.write_text(member.text, encoding="utf-8")
            _date(path, now - age * DAY)
            age += float(rng.uniform(20, 60)) if len(family.members) < DAILY else 1.0


def _date(path: Path, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


@dataclass(slots=True)
class Found:
    """How often what was wanted stood first."""

    first: Counter[tuple[str, str]]
    asked: Counter[tuple[str, str]]

    def share(self, kind: str, what: str) -> float:
        """Of the families (or members) of a kind; of all kinds for ""."""
        keys = [key for key in self.asked if key[1] == what and kind in ("", key[0])]
        asked = sum(self.asked[key] for key in keys)
        return sum(self.first[key] for key in keys) / asked if asked else float("nan")


def ask(search: Search, made: Sequence[Family]) -> Found:
    """Ask for all families, by name, by number and by content."""
    found = Found(Counter(), Counter())
    for family in made:
        for what, query, wanted in questions(family):
            hits = search.search(SearchRequest(query, limit=10, explore=False)).hits
            found.asked[family.kind, what] += 1
            found.first[family.kind, what] += bool(hits) and os.path.basename(hits[0].path) == wanted
    return found


def questions(family: Family) -> Iterator[tuple[str, str, str]]:
    """(what is asked, query, name of the file that should be first)."""
    yield "family", family.query, family.members[-1].name
    for member in family.members[:: max(3, len(family.members) // 10)]:
        yield "named", f"{family.query} {member.named}", member.name
        if member.own:
            yield "content", f"{family.query} {member.own.split()[0]}", member.name


PLACES = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel", "ivory", "jade", "kelp")
STYLES: dict[str, tuple[str, str, str]] = {
    "the file's date alone": ("{family} {letter}.txt", "", "own"),
    "2024-03-15": ("{family} {day:%Y-%m-%d}.txt", "", "at once"),
    "20240315": ("{family}_{day:%Y%m%d}.txt", "", "at once"),
    "2024-03": ("{day:%Y-%m} {family}.txt", "", "at once"),
    "15.03.2024": ("{family} {day:%d.%m.%Y}.txt", "", "at once"),
    "15mar24": ("{family} {small}.txt", "", "at once"),
    "March 2024": ("{family} {day:%B %Y}.txt", "", "at once"),
    "03-2024": ("{day:%m-%Y} {family}.txt", "", "at once"),
    "in the text": ("{family} {letter}.txt", "Date: {day:%d %B %Y}\n", "at once"),
    "2024-03-15, edited since": ("{family} {day:%Y-%m-%d}.txt", "", "by lot"),
    "15.03.2024, copied over two hours": ("{family} {day:%d.%m.%Y}.txt", "", "two hours"),
}
"""how a family is dated: the form of its names, a line of its texts, and when the files were written"""


Styled = tuple[str, str, str, list[tuple[str, float]]]
"""style, query, name of the newest, and (path, seconds) of each member"""


def styled(folder: Path, text: Sentences, rng: np.random.Generator, *, n_names: int = 4) -> list[Styled]:
    """Write `n_names` families of bills, minutes and drafts each, in each style."""
    asked, now = list[Styled](), time.time()
    for number, (style, (form, line, written)) in enumerate(STYLES.items()):
        for kind, names in (("invoice", FIRMS), ("minutes", GROUPS), ("draft", PRODUCTS)):
            for name in names[:n_names]:
                family, frame = f"{kind} {name} {PLACES[number]}", text.some(6)
                ages = np.cumsum(rng.uniform(32, 60, MEMBERS)) + 5
                members: list[tuple[str, float]] = []
                for n in rng.permutation(MEMBERS).tolist():
                    day = datetime.fromtimestamp(now - float(ages[n]) * DAY, tz=UTC)
                    letter = "".join(rng.choice(list("abcdefghkmnp"), 6))
                    made = form.format(family=family, day=day, letter=letter, small=f"{day:%d%b%y}".lower())
                    path = folder / family / made
                    path.parent.mkdir(parents=True, exist_ok=True)
                    own = " ".join(text.some(int(rng.integers(1, 4))))
                    path.write_text(f"{family}\n\n{line.format(day=day)}{' '.join(frame)}\n{own}\n", encoding="utf-8")
                    spread = {
                        "own": ages[n] * DAY,
                        "by lot": rng.uniform(0, 900) * DAY,
                        "two hours": rng.uniform(0, 7200),
                    }
                    _date(path, now - float(spread.get(written, rng.uniform(0, 60))))
                    members.append((str(path), day.timestamp()))
                newest = max(members, key=lambda member: member[1])[0]
                asked.append((style, family, os.path.basename(newest), members))
    return asked


def ask_styles(collection: collections.Collection, settings: Settings, rng: np.random.Generator) -> Table:
    """How often the newest of a family is the first result, by style."""
    first: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory(prefix="foltr-versions-") as folder:
        files = Path(folder) / "files"
        asked = styled(files, Sentences(collection, rng), rng)
        with device(indexed(files, Path(folder), settings), settings) as search:
            for style, query, newest, _ in asked:
                hits = search.search(SearchRequest(query, limit=10, explore=False)).hits
                first.setdefault(style, []).append(bool(hits) and os.path.basename(hits[0].path) == newest)
    table = Table(("where the date stands", "families", "newest first", f"aim >= {AIM}"))
    for style, own in first.items():
        table.add(style, len(own), float(np.mean(own)), verdict(bool(np.mean(own) >= AIM)))
    return table


def open_others(search: Search, collection: collections.Collection, n: int, rng: np.random.Generator) -> None:
    """Open, for `n` queries of the collection, any of the first five results."""
    queries = rng.permutation(list(collection.queries))[:n].tolist()
    for query in queries:
        page = search.search(SearchRequest(collection.queries[query]))
        if page.hits:
            search.opened(page, page.hits[int(rng.integers(0, min(5, len(page.hits))))])
            search.leave(page)


def report(made: Sequence[Family], stages: dict[str, Found]) -> Table:
    """The share that is right, by kind, before and after openings for other queries."""
    whats = ("family", "named", "content")
    table = Table(("files", *(f"{what}, {stage}" for what in whats for stage in stages)))
    for kind in (*dict.fromkeys(family.kind for family in made), ""):
        table.add(kind or "all", *(found.share(kind, what) for what in whats for found in stages.values()))
    met = [found.share("", what) >= AIM for what in whats for found in stages.values()]
    table.add("aim >= .95", *(verdict(m) for m in met))
    return table


def main() -> None:
    """Print the table."""
    wanted = arguments(
        __doc__,
        seed=2,
        collection=Option("medline", choices=(*collections.NAMES, *collections.NEWER)),
        styles=Option(False, "ask for families by the style of their dates instead"),
    )
    settings = Settings()
    collection, rng = collections.read(wanted.collection), np.random.default_rng(wanted.seed)
    if wanted.styles:
        print(machine(), ask_styles(collection, settings, rng), sep="\n\n")
        return
    made = families(collection, rng)
    with tempfile.TemporaryDirectory(prefix="foltr-versions-") as folder:
        files, stages = Path(folder) / "files", dict[str, Found]()
        file(files, made, collection, rng)
        with device(indexed(files, Path(folder), settings), settings) as search:
            stages["at first"], opened = ask(search, made), 0
            for n in PICKS:
                open_others(search, collection, n - opened, rng)
                stages[f"after {n} picks"], opened = ask(search, made), n
        print(machine(), report(made, stages), sep="\n\n")
