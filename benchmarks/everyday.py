"""Short everyday queries over a person's home: is the file that is meant first?

    python -m benchmarks everyday [--half choose] [--seed 1] [--quiet]

A home of an invented family is made and indexed: bills, statements, minutes and letters in four languages, drafts and
finals, mails, notes, recipes, scans without text, archives, three source trees. Files have the dates that they
mention; a folder that was copied at once has one date. Queries are asked as people type them (everyday.tsv, of ten
kinds); files to ask for by one or two words of their names are drawn at random. Rules were chosen on one half of the
queries; results are reported for the other half, which had never been run before. *First* is the share for which the
first row shows a wanted file, *in ten* the same for ten rows.
"""

from __future__ import annotations

import io
import os
import random
import re
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from app.search.results import Hit, SearchRequest
from app.search.search import Search
from benchmarks.home import WORDS
from benchmarks.known_items import mrr
from benchmarks.named import searching
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine
from indexer.text.analysis import words_of

LINES = [line.split("\t") for line in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()]
"""what the series, versions and other files of the home are, and the queries of both halves"""
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
SENTENCES = {own[1]: [" ".join(one.split()) for one in re.findall(r"[^.]+\.", own[2])]
             for own in LINES if own[0] == "filler"}  # fmt: skip
TREES = {
    "meterbill": ("py", ("electricity bill", "meter reading", "tariff", "invoice", "tax", "report")),
    "heron-web": ("js", ("login form", "photo gallery", "route", "contract", "calendar", "invoice")),
    "tinyfs": ("c", ("inode table", "block cache", "journal", "mount", "archive", "report")),
}
"""folder -> the ending of its files, and what they speak of"""
MODULES = ("parse", "store", "render", "check", "sync", "queue")
SUBJECTS = (
    "Dentist appointment", "Your order has shipped", "Holiday in Norway", "Invoice for the plumbing",
    "Parents' evening", "Choir rehearsal moved", "Electricity tariff", "Birthday of Theo", "Tax adviser",
    "Lunch on Friday", "Broken bicycle", "Concert tickets", "Contract for the flat", "Photos from Lisbon",
    "Football training",
)  # fmt: skip
PEOPLE = ("anna", "felix", "jonas", "dora", "emil")

NAMED = 60
"""files that are asked for by one word of their names, and as many that are by two"""

Made = dict[str, bytes]


def pdf(text: str) -> bytes:
    """A page of text."""
    lines = [line.encode("cp1252", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
             for line in text.splitlines()]  # fmt: skip
    drawn = b"BT /F1 10 Tf 40 800 Td 14 TL " + b" ".join(b"(" + line + b") Tj T*" for line in lines) + b" ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]  # fmt: skip
    body, starts = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    return body + b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table, len(body))  # fmt: skip


def zipped(members: Made) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 1, 12, 0, 0)), content)
    return data.getvalue()


def docx(text: str) -> bytes:
    """A document of paragraphs."""
    space = "http://schemas.openxmlformats.org"
    paragraphs = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in text.splitlines())
    part = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = f'<Override PartName="/word/document.xml" ContentType="{part}"/>'
    return zipped({name: content.encode() for name, content in {
        "[Content_Types].xml": f'<Types xmlns="{space}/package/2006/content-types">{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{space}/package/2006/relationships"><Relationship Id="r1" Type="{space}/'
                       'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{space}/wordprocessingml/2006/main"><w:body>{paragraphs}</w:body>'
                             "</w:document>",
    }.items()})  # fmt: skip


def content(name: str, text: str, rng: random.Random) -> bytes:
    """A file of that name with the text."""
    ending = name.rpartition(".")[2]
    if ending == "jpg":
        return rng.randbytes(900)
    return {"pdf": pdf, "docx": docx}.get(ending, str.encode)(text)


def filled(text: str, code: str, rng: random.Random, n: int = 6) -> str:
    return f"{text}\n\n" + "\n".join(rng.sample(SENTENCES[code], min(n, len(SENTENCES[code])))) + "\n"


Dated = tuple[str, bytes, datetime]


def rows(kind: str) -> Iterator[list[str]]:
    """The lines of one kind, line ends written out."""
    yield from ([cell.replace("\\n", "\n") for cell in own[1:]] for own in LINES if own[0] == kind)


def series(rng: random.Random) -> Iterator[Dated]:
    for code, form, years, months, text in rows("series"):
        for year, month in product(map(int, years.split()), map(int, months.split())):
            day = rng.randint(2, 27)
            values = {"y": year, "m": month, "d": day, "q": (month + 2) // 3, "n": rng.randint(40, 900),
                      "month": MONTHS[code].split()[month - 1]}  # fmt: skip
            name = form.format(**values)
            written = datetime(2025, 12, 30, 12) if "Bank" in name else datetime(year, month, day, 12) + timedelta(3)
            yield name, content(name, filled(text.format(**values), code, rng) if text else "", rng), written


def versions(rng: random.Random) -> Iterator[Dated]:
    """Of each the first was opened and saved again after the last."""
    for form, endings, text in rows("versions"):
        for year in (2023, 2024, 2025) if "{y}" in form else (2025,):
            lines = filled(text.format(y=year), "de" if "Steuer" in form else "en", rng, 9).splitlines()
            for number, ending in enumerate(endings.split("|")):
                name = form.format(y=year, v=ending)
                lines[-1] = rng.choice(SENTENCES["en"])
                day = datetime(year, 6, 2 + 3 * (number or 4), 12)
                yield name, content(name, "\n".join(lines), rng), day


def others(rng: random.Random) -> Iterator[Dated]:
    def moment() -> datetime:
        return datetime(2023, 1, 5, 12) + timedelta(rng.randint(0, 1050))

    for name, text in rows("file"):
        code = "de" if re.search("[äöü]|Dokumente|Klassen|Arzt", name + text) else "fr" if "France" in name else "en"
        yield name, content(name, filled(text, code, rng, 5), rng), moment()
    for number in range(100):
        about, day = rng.choice(SUBJECTS), moment()
        head = f"From: {rng.choice(PEOPLE)}@home.example\nTo: mara@home.example\nSubject: {about}\nDate: "
        text = filled(f"{head}{day:%a, %d %b %Y %H:%M:%S} +0000\n\nDear Mara,", "en", rng)
        yield f"Mail/2024/{number:03} {about}.eml", text.encode(), day
    for number in range(90):
        day = moment()
        text = filled(f"# {day:%A}\n\n{' '.join(rng.choice(WORDS) for _ in range(25))}.", "en", rng, 7)
        yield f"Notes/diary/{day:%Y-%m-%d} {number}.md", text.encode(), day
    for number in range(50):
        yield f"Pictures/IMG_{4100 + number}.jpg", rng.randbytes(900), moment()
    for folder, content_of in (("", archives), ("code/", sources)):
        yield from ((folder + name, data, moment()) for name, data in content_of(rng))


CODE = {
    "py": ("# {}\n", "def {}(path):\n    return path\n\n"),
    "js": ("// {}\n", "export function {}(a) {{ return a }}\n"),
    "c": ("/* {} */\n", "int {}(int a) {{ return a; }}\n"),
}
"""ending -> a comment and a function"""


def sources(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for folder, (ending, subjects) in TREES.items():
        comment, function = CODE[ending]
        for module, subject in product(MODULES, subjects):
            name = f"{module}_{subject.replace(' ', '_')}"
            said = comment.format(f"{module.capitalize()} the {subject}: {subject} in, {subject} out.")
            body = "".join(function.format(f"{name}_{n}") for n in range(4))
            yield f"{folder}/src/{name}.{ending}", f"{said}{body}".encode()
        yield f"{folder}/README.md", f"# {folder}\n\nHandles {', '.join(subjects)}.\n".encode()


def archives(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """And the plans that have the name of a member of one."""
    plan = filled("# Plan\n\nWhere the heron breeds.", "en", rng).encode()
    letters = {f"backup/letters/{to}.txt": filled(f"Dear {to}", "en", rng).encode() for to in ("aunt", "uncle", "bank")}
    photos = {"photos-export/readme.txt": b"Photos of the summer.", "photos-export/a.jpg": b"x"}
    yield "Downloads/heron.zip", zipped({"heron/plan.md": plan, "heron/sightings.csv": b"day,place\n1,river\n2,pond"})
    yield "Backups/backup-2024.zip", zipped(letters)
    yield "Downloads/photos-export.zip", zipped(photos)
    yield "Downloads/church.zip", zipped({"church.doc/notes.md": b"# Bells\n\nThey ring at noon."})
    for project in ("boat", "shed"):
        text = filled(f"# Plan\n\nWood for the {project}.", "en", rng)
        yield f"Documents/Projects/{project}/plan.md", text.encode()


def make_home(home: Path, seed: int) -> list[str]:
    """Write the files; returns their paths below it."""
    rng, made = random.Random(seed), list[str]()
    for name, data, day in (*series(rng), *versions(rng), *others(rng)):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (day.timestamp(), day.timestamp()))
        made.append(name)
    return made


Question = tuple[str, str, tuple[str, ...]]
"""kind, what is typed, and patterns of which one fits the path of a file that is wanted"""


def questions(files: list[str], half: str, seed: int) -> list[Question]:
    """Those of one half, and files by one and two words of their names."""
    asked = [(kind, typed, tuple(wanted.split("|"))) for kind, typed, wanted in rows(half)]
    rng = random.Random(seed)
    names = [name for name in sorted(files) if not name.startswith(("code/", "Notes/diary", "Pictures", "Mail"))]
    rng.shuffle(names)
    for place, name in enumerate(names[(half == "quote") :: 2][: 2 * NAMED]):
        words = [word for word in words_of(Path(name).stem) if len(word) > 2 or word.isdecimal()]
        chosen = sorted(rng.sample(range(len(words)), min(1 + place % 2, len(words))))
        typed = [words[i] for i in chosen]
        holders = tuple(other for other in files if set(typed) <= set(words_of(Path(other).name)))
        asked.append((f"{('one word', 'two words')[place % 2]} of its name", " ".join(typed), holders))
    return asked


def answers(hit: Hit, home: Path, wanted: tuple[str, ...]) -> bool:
    shown = {os.path.relpath(path, home) + (f"#{hit.part}" if hit.part else "") for path in hit.paths}
    return any(name == pattern or fnmatchcase("/" + name, pattern) for name in shown for pattern in wanted)


def ranks(search: Search, home: Path, asked: list[Question]) -> Iterator[tuple[Question, int, str]]:
    """Each question with the rank of the first wanted row among ten, 0 for none, and what stands first."""
    for question in asked:
        hits = search.search(SearchRequest(question[1], explore=False)).hits[:10]
        rank = next((hit.rank for hit in hits if answers(hit, home, question[2])), 0)
        yield question, rank, f"{os.path.relpath(hits[0].path, home)}#{hits[0].part}" if hits else "nothing"


def main() -> None:
    """Print the table, and each query that was not answered first."""
    half, quiet = Option("quote", choices=("choose", "quote")), Option(False, "do not list what fell short")
    wanted = arguments(__doc__, half=half, seed=1, quiet=quiet)
    found, failures = dict[str, list[int]](), list[str]()
    with tempfile.TemporaryDirectory(prefix="foltr-everyday-") as folder:
        home = Path(folder) / "home"
        files = make_home(home, wanted.seed)
        asked = questions(files, wanted.half, wanted.seed)
        with searching(home, Path(folder)) as search:
            for (kind, typed, _), rank, first in ranks(search, home, asked):
                found.setdefault(kind, []).append(rank)
                if rank != 1:
                    failures.append(f"{rank or '-':>2} {kind}: {typed!r} shows {first}")
    table = Table(("asked by", "queries", "first", "in ten", "MRR"))
    for kind, own in (*found.items(), ("all", sum(found.values(), list[int]()))):
        table.add(kind, len(own), own.count(1) / len(own), 1 - own.count(0) / len(own), mrr(own))
    print(machine(), f"{len(files)} files", table, "" if wanted.quiet else "\n".join(failures), sep="\n\n")
