"""What is typed or pasted as a name, the end of a path or a title: is that file first?

    python -m benchmarks named [--files 1500] [--notes 600] [--seed 1] [--quiet]

Three homes are made and indexed: mixed files with odd names, copies of one file and packages whose modules have the
same names; this project's own checkout; a vault of notes that name each other in their links. Every file is asked for,
raw: by its name, by the last two parts of its path, by the titles of its documents, by its whole path as a shell
completes it (backslashes), as a shell quotes it, as a file manager copies it (file://), and from ~ on. *First* is the
share for which the first row shows that file; where several have the very name (or end of a path, or title) that was
asked for, any of them will do. *In ten* is the same for the first ten rows.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import numpy as np

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import Hit, SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, Settings
from benchmarks.home import WORDS, make_home, text
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict

FIRST, IN_TEN = 0.99, 1.0
"""the aims"""
SPECIAL = " \t\n\\'\"`$&;()[]{}<>|*?!#~"
PACKAGES = ("app", "web", "core", "online", "jobs")
MODULES = ("__init__.py", "settings.py", "search.py", "keys.py", "pdgd.py", "README.md")
COVERS = (
    "{a}-(see-cover)-{b}.txt", "{a} [{b}] (final).md", "{a}'s {b}.txt", "Re: {a} - NOT {b}.txt",
    "{a}, {b} & more.md", "C++ {a} #{n}.txt", "{a}={b}; {n}%.csv", "--{a}.{b}.txt",
)  # fmt: skip

Question = tuple[str, Callable[[Hit], bool]]
"""what is typed, and whether a row answers it"""


def mixed_home(home: Path, n_files: int, seed: int) -> None:
    """Files of all kinds, names with signs of the query language, copies, packages of namesakes, lists of names."""
    make_home(home, n_files, seed)
    rng = random.Random(seed)
    for n in range(n_files // 10):
        form = rng.choice(COVERS)
        name = form.format(a=rng.choice(WORDS), b=rng.choice(WORDS), n=n)
        write(home / "covers" / name, f"{text(rng, 60)}\n")
    write(home / "Taxes/2024/tax-return-2024.txt", "Tax return for 2024\n\nIncome and expenses.\n")
    for n in range(1, 61):
        write(home / "Copies" / f"tax-return-2024 (copy {n}).txt", "Tax return for 2024\n\nIncome and expenses.\n")
    for package in PACKAGES:
        for module in MODULES:
            source = f'"""{text(rng, 5)}."""\n\n{rng.choice(WORDS)} = {rng.randint(1, 99)}\n'
            write(home / "src" / package / module, source)
    listed = " ".join(f"{package}/{module}" for package in PACKAGES for module in MODULES)
    for n in range(80):
        write(home / "reviews" / f"review {n:02}.md", f"# Review {n:02}\n\nChanged: {listed}\n\n{text(rng, 40)}\n")


def checkout(home: Path, root: Path) -> None:
    """A copy of the files that git knows of."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    for name in os.fsdecode(listed).split("\0"):
        if name and (root / name).is_file():
            target = home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / name).read_bytes())


def vault(home: Path, n_notes: int, seed: int) -> None:
    """Notes in folders, each named in the links of some others, most often by its title."""
    rng = random.Random(seed)
    titles = list(dict.fromkeys(text(rng, rng.randint(1, 4)).capitalize() for _ in range(n_notes)))
    for n, title in enumerate(titles):
        others = "\n".join(f"- [[{rng.choice(titles)}]], {rng.choice(titles)}.md" for _ in range(8))
        head = (
            f"# {title}\n\n"
            if n % 3
            else f"---\ntitle: {title} of {2000 + n % 25}\ntags: [{rng.choice(WORDS)}]\n---\n\n"
        )
        folder = home / rng.choice(("Areas", "Projects/2026", "Daily", "Books")) / rng.choice(WORDS)
        write(folder / f"{title}.{'org' if n % 7 == 0 else 'md'}", f"{head}{text(rng, 80)}\n\n{others}\n")


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def escaped(path: str) -> str:
    """As a shell completes it."""
    return "".join("\\" + sign if sign in SPECIAL else sign for sign in path)


def questions(path: str, titles: list[str], home: str) -> Iterator[tuple[str, Question]]:
    """(how it is asked, what is typed and what answers it)."""
    name, end = os.path.basename(path), "/".join(path.split(os.sep)[-2:])
    yield "name", (name, lambda hit: os.path.basename(hit.path) == name)
    yield "end of path", (end, lambda hit: hit.path.endswith("/" + end))
    for title in titles:
        if any(sign.isalnum() for sign in title):
            yield "title", (title, partial(is_titled, title))
    if "\n" not in path:
        yield "completed", (escaped(path), lambda hit: hit.path == path)
        yield "quoted", (shlex.quote(path), lambda hit: hit.path == path)
        yield "file://", ("file://" + quote(path), lambda hit: hit.path == path)
        yield "from ~", ("~" + path.removeprefix(home), lambda hit: hit.path == path)


def is_titled(title: str, hit: Hit) -> bool:
    """Whether a row has that title; a file may be called as another one is titled."""
    return title in (hit.title, os.path.basename(hit.path))


@contextmanager
def searching(home: Path, base: Path) -> Iterator[Search]:
    """A search over the home, without a click; ~ is the home."""
    settings = Settings(index=IndexSettings(roots=[str(home)]))
    paths = Paths(base / "config", base / "data")
    update_index(settings, paths, optimize=True)
    search = Search(settings, paths)
    with mock.patch.dict(os.environ, {"HOME": str(home)}):
        yield search
    search.close()


def ask(search: Search, home: Path, *, most: int) -> tuple[dict[str, list[tuple[bool, bool]]], list[str]]:
    """how -> (first, in ten) of each question; and a line for each that was not answered first."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    failures: list[str] = []
    titles: dict[str, list[str]] = {}
    for row in search.catalogue.documents(search.catalogue.doc_ids()).values():
        titles.setdefault(row.path, []).append(row.title)
    chosen = sorted(titles)
    if most:
        chosen = sorted(random.Random(0).sample(chosen, min(most, len(chosen))))
    for path in chosen:
        for how, (typed, answers) in questions(path, list(dict.fromkeys(titles[path]))[:5], str(home)):
            hits = search.search(SearchRequest(typed, explore=False)).hits[:10]
            is_first = bool(hits) and answers(hits[0])
            found.setdefault(how, []).append((is_first, any(map(answers, hits))))
            if not is_first:
                failures.append(f"{how}: {typed!r} shows {hits[0].path if hits else 'nothing'}")
    return found, failures


def main() -> None:
    """Print the table and every question that was not answered by the first row."""
    most = Option(0, "number of files of each home to ask for, drawn at random; 0 for all")
    quiet = Option(False, "do not list what fell short")
    wanted = arguments(__doc__, files=1500, notes=600, seed=1, most=most, quiet=quiet)
    root = Path(__file__).resolve().parents[1]
    homes: dict[str, Callable[[Path], None]] = {
        "mixed": lambda home: mixed_home(home, wanted.files, wanted.seed),
        "checkout": lambda home: checkout(home, root),
        "vault": lambda home: vault(home, wanted.notes, wanted.seed),
    }
    table, every = Table(("home", "asked by", "questions", "first", "in ten")), list[str]()
    with tempfile.TemporaryDirectory(prefix="foltr-named-") as folder:
        for name, make in homes.items():
            base = Path(folder) / name
            make(base / "home")
            with searching(base / "home", base) as search:
                found, failures = ask(search, base / "home", most=wanted.most)
            every += [f"{name}: {line}" for line in failures]
            for how, own in found.items():
                table.add(name, how, len(own), *np.mean(own, axis=0).tolist())
            first, in_ten = np.mean([one for own in found.values() for one in own], axis=0).tolist()
            table.add(name, "all", sum(map(len, found.values())), first, in_ten)
    shares = np.array([[float(row[3]), float(row[4])] for row in table.rows])
    met = [verdict(bool(column.min() >= aim)) for column, aim in zip(shares.T, (FIRST, IN_TEN), strict=True)]
    table.add("each", f"aim >= {FIRST}, {IN_TEN}", "", *met)
    print(machine(), table, "" if wanted.quiet else "\n".join(every), sep="\n\n")
