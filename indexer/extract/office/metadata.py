"""Title, author and properties that an office file or PDF states besides its text.

Programs write much of it unasked; a title or a name that only a program can have meant is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Struct

from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line
from indexer.extract.markup.xml import End, Start
from indexer.properties import Properties

_JUNK_TITLE = re.compile(
    r"^(?:(?:untitled|unbenannt(?:es)?|naamloos|sans titre|sin título|senza titolo|sem título|bez (?:tytułu|názvu)"
    r"|без (?:названия|имени)|無題|无标题)(?: do[ck]ument\w*)?|unknown|(?:do[ck]ument\w?|документ|文書|文档) ?\d*|title"
    r"|(?:book|mappe|classeur|libro|cartel) ?\d+|(?:slide|folie) 1|none|null|layout 1|\(.*\)|.{0,2}"
    r"|(?=.*powerpoint)(?=.*(?:pr[aäeé][sz]ent|презентация|プレゼン|演示文稿|簡報|프레젠테이션))(?:\w+[ -]?){2,4})$"
    r"|\.(?:docx?|xlsx?|pptx?|pdf|indd|qxd|qxp|tex|dvi|fm|odt|rtf|wpd|eps|ps|html?)$|^[\W\d_]+$",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:microsoft (?:word|powerpoint|excel|office)|presentation)\s*-\s*", re.IGNORECASE)
_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?)?")
MAX_TAGS = 50


class Parts(Protocol):
    """A package of XML."""

    def parse(self, name: str, start: Start, *handlers: End, **options: Any) -> None:
        """One part, see `indexer.extract.markup.xml.parse`."""


class Facts(Struct, frozen=True):
    title: str = ""
    author: str = ""
    properties: Properties = ()
    """see indexer.properties"""


def facts(
    title: str, author: str, *, subject: str = "", keywords: Iterable[str] = (), created: str = "", editor: str = "",
    company: str = "", producers: Iterable[str] = (),
) -> Facts:  # fmt: skip
    """The facts of one document, each a line; `keywords` may hold several, with commas or semicolons between."""
    author, editor = one_line(author), one_line(editor)
    tags = [one_line(tag) for line in keywords for tag in re.split(r"[;,\n]", line)][:MAX_TAGS]
    pairs = [
        ("subject", real_title(clean(subject))),
        *(("tag", tag) for tag in tags),
        ("created", created),
        ("editor", "" if editor == author else editor),
        ("company", one_line(company)),
        *(("producer", one_line(producer)) for producer in producers),
    ]
    return Facts(real_title(clean(title)), author, tuple(dict.fromkeys(pair for pair in pairs if pair[1])))


def real_title(title: str) -> str:
    """`title` as one line, "" when a program left it there: "Microsoft Word - report.doc", "untitled", "Dokument1"."""
    shown = _PREFIX.sub("", " ".join(title.split())[:300])
    return "" if _JUNK_TITLE.search(shown) else shown


def pdf_date(text: str) -> str:
    """A PDF's date as ISO 8601: "D:20240115103000+01'00'" is 2024-01-15T10:30:00+01:00; "" for what is none."""
    match = _PDF_DATE.match(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, utc, ahead, rest = match.groups()
    zone = "Z" if utc else f"{ahead}:{rest or '00'}" if ahead else ""
    return f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second or '00'}{zone}" if hour else "")


def elements(parts: Parts, name: str, wanted: Collection[str], **options: Any) -> dict[str, list[str]]:
    """The texts of the elements `wanted` in one part of a package; none of a part that is missing or damaged.

    They are a gift: the text is what counts, and its own reader says what is wrong.
    """
    found: dict[str, list[str]] = {}
    current: list[str] = []

    def start(element: str, attributes: dict[str, str]) -> None:
        current.append(element)
        if element in wanted:
            found.setdefault(element, []).append("")

    def end(element: str) -> None:
        current.pop()

    def text(characters: str) -> None:
        if current and current[-1] in found:
            found[current[-1]][-1] += characters

    with suppress(ExtractionError, KeyError, IndexError):
        parts.parse(name, start, end, text, **options)
    return found


def first(found: dict[str, list[str]], *names: str) -> str:
    """The first text that is there of the elements called so."""
    return next((text for name in names for text in found.get(name, ()) if text.strip()), "")
