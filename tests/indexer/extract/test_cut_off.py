"""Files of which the end is missing, as after a download that broke off or on a disk that was full."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from indexer.errors import ExtractionError
from tests.indexer.extract.office.compound_parts import message, workbook
from tests.indexer.extract.office.test_pdf import pdf
from tests.indexer.extract.test_archives import tar

WORDS = [f"carp{n} heron{n} pond{n}" for n in range(400)]
TEXT = "\n".join(WORDS)


def _mail(encoding: str) -> bytes:
    mail = EmailMessage()
    mail["Subject"] = "Ponds"
    mail.set_content(TEXT, cte=encoding)
    return mail.as_bytes()


def _entries(kind: str, entry: str, *fields: str, before: str = "") -> str:
    parts = [f"BEGIN:{entry}\n{fields[0]}:a\n{fields[1]}:{words}\nEND:{entry}\n" for words in WORDS[:50]]
    whole = "".join((before, *parts))
    return whole if kind == entry else f"BEGIN:{kind}\n{whole}END:{kind}\n"


CELLS = [{"cell_type": "markdown", "source": [words]} for words in WORDS]
ZONES = "BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE\n" * 200
MADE: dict[str, Callable[[], bytes | str]] = {
    "base64.eml": lambda: _mail("base64"),
    "quoted.eml": lambda: _mail("quoted-printable"),
    "a.ics": lambda: _entries("VCALENDAR", "VEVENT", "SUMMARY", "DESCRIPTION"),
    "late.ics": lambda: _entries("VCALENDAR", "VEVENT", "SUMMARY", "DESCRIPTION", before=ZONES),
    "a.vcf": lambda: _entries("VCARD", "VCARD", "FN", "NOTE"),
    "photo.vcf": lambda: f"BEGIN:VCARD\nPHOTO;ENCODING=b:{'A' * 9000}\nFN:Anna Berg\nEND:VCARD\n",
    "a.tar": lambda: tar({f"{n}.txt": words.encode() for n, words in enumerate(WORDS[:18])}),
    "a.tar.gz": lambda: tar({f"{n}.txt": words.encode() for n, words in enumerate(WORDS[:18])}, "w:gz"),
    "a.ipynb": lambda: json.dumps({"cells": CELLS, "nbformat": 4}),
    "a.json": lambda: json.dumps(WORDS),
    "a.toml": lambda: "".join(f'k{n} = "{words}"\n' for n, words in enumerate(WORDS)),
    "a.csv": lambda: "".join(f"{n},{words}\n" for n, words in enumerate(WORDS)),
    "hugo.md": lambda: json.dumps({"title": "Ponds", "tags": ["carp"]}) + "\n\n" + TEXT,
    "toml.md": lambda: f'+++\ntitle = "Ponds"\nabout = """{TEXT}"""\n+++\n{TEXT}',
    "a.html": lambda: "<html><body>" + "".join(f"<p>{words}</p>" for words in WORDS),
    "a.rtf": lambda: r"{\rtf1\ansi " + TEXT.replace("\n", r"\par ") + "}",
    "a.mbox": lambda: "".join(f"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\n{words}\n\n" for words in WORDS),
    "a.msg": lambda: message({"0037": "Ponds", "1000": TEXT}),
    "a.xls": lambda: workbook({"a": [[words] for words in WORDS]}),
    "a.pdf": lambda: pdf(*WORDS[:20]),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_missing_is_never_missing_silently(extract, name: str) -> None:
    """Half of the words that are left are read at least, or a note or a failure says why."""
    made = MADE[name]()
    whole = made.encode() if isinstance(made, str) else made
    n_words = _count(extract(name, whole))
    assert extract(name, whole).notes == ()
    for percent in (25, 50, 75):
        for more in range(4):  # base64 stands in groups of four letters
            cut = whole[: len(whole) * percent // 100 + more]
            try:
                found = extract(name, cut)
            except ExtractionError:
                continue
            assert found.notes or _count(found) > n_words * percent / 200, (percent, more)


def _count(found) -> int:
    return sum(len(document.text.split()) for document in found.documents)
