"""A home of mixed files: is each file found by its name, and what does that cost?

    python -m benchmarks home [--files 3000] [--seed 1]

Makes a home in a temporary folder (notes, papers, mails, tables, source code, photos with EXIF, songs with tags, films,
archives, programs, fonts, databases, broken and protected files, odd names), indexes it with the program itself,
searches for each file by its name, and prints the cost of the files that are not read.
"""

from __future__ import annotations

import os
import random
import re
import resource
import struct
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import IndexSettings, Settings
from benchmarks.running import Option, arguments

WORDS = re.findall(
    r"\w+",
    """
    boat harbour invoice garden tomato soup kitchen budget summer winter letter contract meeting report travel
    ticket hotel lisbon berlin bicycle repair manual warranty insurance doctor school teacher music guitar recipe
    bread yeast photo album birthday wedding tax return salary bank account loan rent flat house roof window
    heating energy water bill phone number address list project plan draft final version notes idea reading book
    author chapter
    """,
)
ODD = ("請求書　2024.txt", "می‌خواهم.txt", "Übergrößenträger.md", "été à la plage.jpg", "名前.mp3", "a b (copy) [2].pdf",
       "C++ primer #2.zip", "100% sure?.mov", "it's \"quoted\".txt", "-dash.bin", "NOT.dat", "x" * 200 + ".iso",
       "👩‍👩‍👧 family.png", "two\nlines.txt", "résumé.DOC", "don't panic!.ttf", "50€.odd", ".dotless", "a.tar.xyz",
       "IMG_2026.JPG", "dir:x.txt", "type:mail.txt", "size.exe", "né́.txt")  # fmt: skip
Make = Callable[[random.Random, Path], None]


def text(rng: random.Random, n: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n))


def _write(content: Callable[[random.Random], bytes]) -> Make:
    def write(rng: random.Random, path: Path) -> None:
        path.write_bytes(content(rng))

    return write


def _note(rng: random.Random) -> bytes:
    return f"# {text(rng, 4).title()}\n\n{text(rng, rng.randint(20, 400))}\n".encode()


def _mail(rng: random.Random) -> bytes:
    return f"From: Ann <ann@x.org>\nTo: bob@x.org\nSubject: {text(rng, 3)}\n\n{text(rng, 80)}\n".encode()


def _photo(rng: random.Random) -> bytes:
    """A JPEG file with the camera and the date in its EXIF."""
    values = {0x10F: b"Canon\0", 0x110: b"Canon EOS 5D\0", 0x132: b"2026:%02d:01 10:00:00\0" % rng.randint(1, 12)}
    at, tags, blob = 8 + 2 + 12 * len(values) + 4, b"", b""
    for number, value in values.items():
        tags += struct.pack("<HHII", number, 2, len(value), at + len(blob))
        blob += value
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, len(values)) + tags + bytes(4) + blob
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, 3000, 4000, 1) + bytes(3)
    head = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    return head + frame + b"\xff\xda" + rng.randbytes(2_000) + b"\xff\xd9"


def _song(rng: random.Random) -> bytes:
    frames = {b"TIT2": text(rng, 2).title(), b"TPE1": "Nina Simone", b"TALB": "Pastel Blues"}
    body = b"".join(
        name + struct.pack(">IH", len(value) + 1, 0) + b"\0" + value.encode() for name, value in frames.items()
    )
    size = bytes(len(body) >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\3\0\0" + size + body + (b"\xff\xfb\x90\0" + bytes(413)) * 10


def _noise(rng: random.Random) -> bytes:
    return rng.randbytes(rng.randint(100, 3_000))


def _zip(rng: random.Random, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{rng.choice(WORDS)}.txt", text(rng, 30))


KINDS: tuple[tuple[float, str, str, Make], ...] = (
    (0.16, "notes/{a}", "{a} {b} {n}.md", _write(_note)),
    (0.10, "Documents/{a}/{b}", "{a}-{b}-{n}.txt", _write(_note)),
    (0.06, "Mail/{a}/cur", "{n}.M{n}P{n}.host.eml", _write(_mail)),
    (0.04, "Documents/tables", "{a}_{n}.csv", _write(lambda rng: text(rng, 60).replace(" ", ",").encode())),
    (0.08, "code/{a}/src", "{a}{b}{n}.py", _write(lambda rng: f"def {rng.choice(WORDS)}():\n    return 1\n".encode())),
    (0.03, "Downloads", "{a}-{n}.zip", _zip),
    (0.16, "Pictures/2026/{a}", "IMG_2026{m}{d}_{n}.jpg", _write(_photo)),
    (0.06, "Pictures/Screenshots", "Screenshot from 2026-{m}-{d} {n}.png", _write(_noise)),
    (0.08, "Music/Nina Simone/{a}", "{k} - {a} {b} {n}.mp3", _write(_song)),
    (0.03, "Videos", "{a} {b} {n}.mkv", _write(_noise)),
    (0.04, "Downloads", "{a}_{n}.exe", _write(_noise)),
    (0.04, "fonts", "{a}{n}-Regular.ttf", _write(_noise)),
    (0.03, "Downloads", "{a}.{n}.iso", _write(_noise)),
    (0.03, "data/{a}", "{b}{n}.sqlite", _write(_noise)),
    (0.03, "data", "{a} {n}.qqq", _write(_noise)),
    (0.03, "Documents/broken", "{a} {n}.pdf", _write(lambda rng: b"%PDF-1.7\n" + rng.randbytes(500))),
)
"""share, folder, name, what is in it"""


def make_home(home: Path, n_files: int, seed: int) -> list[Path]:
    """Write the files; returns their paths."""
    rng, made = random.Random(seed), list[Path]()
    (home / "odd").mkdir(parents=True)
    for name in ODD:
        made.append(home / "odd" / name.lstrip("."))
        made[-1].write_bytes(_note(rng))
    for share, folder, name, write in KINDS:
        for number in range(round(share * (n_files - len(ODD)))):
            words = {"a": rng.choice(WORDS), "b": rng.choice(WORDS), "n": f"{number:04}", "k": f"{number % 20:02}",
                     "m": f"{rng.randint(1, 12):02}", "d": f"{rng.randint(1, 28):02}"}  # fmt: skip
            path = home / folder.format(**words) / name.format(**words)
            path.parent.mkdir(parents=True, exist_ok=True)
            write(rng, path)
            made.append(path)
    return sorted(set(made))


def not_found(search: Search, paths: list[Path]) -> Iterator[Path]:
    """The files that a search for their own name does not show among the first hundred."""
    for path in paths:
        if not shows(search, path.name, path):
            yield path


def shows(search: Search, text: str, path: Path) -> bool:
    """Whether `path` is among the first hundred results for `text`."""
    page = search.search(SearchRequest(text=text, as_typed=True))
    return str(path) in {one for hit in page.hits for one in hit.paths}


def _cpu() -> float:
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))  # fmt: skip


def names_alone(base: Path, n_files: int) -> tuple[float, float]:
    """CPU seconds to index `n_files` of which nothing is read, and to look at them again."""
    home, settings, paths = base / "names", Settings(), Paths(base / "config2", base / "data2")
    for number in range(n_files):
        path = home / f"folder {number // 100}" / f"setup_{number:06}.exe"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    costs = []
    for _ in range(2):
        began = _cpu()
        update_index(settings, paths, roots=[str(home)])
        costs.append(_cpu() - began)
    return costs[0], costs[1]


def main() -> None:
    options = arguments(
        __doc__, files=3_000, names=Option(10_000, "how many files of which nothing is read, besides"), seed=1
    )
    with tempfile.TemporaryDirectory(prefix="foltr-home-") as folder:
        base = Path(folder)
        made = make_home(base / "home", options.files, options.seed)
        settings = Settings(index=IndexSettings(roots=[str(base / "home")]))
        paths, began = Paths(base / "config", base / "data"), _cpu()
        summary = update_index(settings, paths)
        print(
            f"indexed: {len(made):,} files, {summary.n_documents:,} documents,"
            f" {summary.n_failed:,} could not be read, {_cpu() - began:.1f} CPU-s"
        )  # fmt: skip
        search, started, wall = Search(settings, paths), _cpu(), time.monotonic()
        missing = list(not_found(search, made))
        seconds, asked = _cpu() - started, time.monotonic() - wall
        print(f"found by name: {len(made) - len(missing):,} of {len(made):,} files"
              f" ({seconds / len(made) * 1e3:.1f} ms CPU a query, {asked:.0f} s by the clock)")  # fmt: skip
        quoted = [path for path in missing if not shows(search, f'"{path.name}"', path)]
        print(f"  {len(missing) - len(quoted)} more in quotes, for their names mean something in the query language")
        for path in quoted[:20]:
            print(f"  not found: {os.path.relpath(path, base / 'home')!r}")
        search.close()
        first, again = names_alone(base, options.names)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        each, look = first / options.names * 1e3, again / options.names * 1e3
        print(f"names alone: {each:.2f} CPU-s a thousand files, {look:.3f} to look again; peak {peak:.0f} MB")
