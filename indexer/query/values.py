"""The values behind a filter's colon: dates, sizes, types, endings and languages.

Dates are local calendar time. A date is a period: 2024 is a year, 2024-01 a month, 2024-01-15 a day; `>` and `<`
mean outside it, `>=` and `<=` include it. 7d is a moment, the beginning of the day seven days ago.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from indexer.documents import TYPES
from indexer.properties import DATE_FIELDS, PROPERTIES, mark
from indexer.query.nodes import FilterValue, Range
from indexer.text.spelling import nearest

TYPE_ALIASES = {
    "mail": "mail", "email": "mail", "e-mail": "mail", "message": "mail", "messages": "mail", "mails": "mail",
    "doc": "document", "docs": "document", "documents": "document", "word": "document", "docx": "document",
    "slide": "presentation", "slides": "presentation", "presentations": "presentation", "powerpoint": "presentation",
    "odt": "document", "rtf": "document", "ppt": "presentation", "pptx": "presentation", "odp": "presentation",
    "xls": "spreadsheet", "xlsx": "spreadsheet", "ods": "spreadsheet",
    "sheet": "spreadsheet", "sheets": "spreadsheet", "spreadsheets": "spreadsheet", "excel": "spreadsheet",
    "table": "spreadsheet", "code": "source", "program": "source", "script": "source", "sources": "source",
    "txt": "text", "plain": "text", "md": "markdown", "web": "html", "webpage": "html", "htm": "html",
    "book": "ebook", "books": "ebook", "epub": "ebook", "ipynb": "notebook", "jupyter": "notebook",
    "notebooks": "notebook", "ics": "calendar", "event": "calendar", "events": "calendar",
    "zip": "archive", "tar": "archive", "archives": "archive", "csv": "data", "json": "data", "pdfs": "pdf",
    "picture": "image", "pictures": "image", "photo": "image", "photos": "image", "images": "image", "jpg": "image",
    "png": "image", "music": "audio", "song": "audio", "songs": "audio", "recording": "audio", "sound": "audio",
    "mp3": "audio", "movie": "video", "movies": "video", "film": "video", "films": "video", "videos": "video",
    "binary": "other", "unknown": "other", "sites": "site", "bookmark": "site", "bookmarks": "site",
    "chats": "chat", "conversation": "chat",
}  # fmt: skip
"""Other words -> the member of TYPES that they mean."""

LANGUAGES = {
    "arabic": "ar", "chinese": "zh", "czech": "cs", "danish": "da", "dansk": "da", "deutsch": "de", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "français": "fr", "german": "de", "greek": "el",
    "hebrew": "he", "hungarian": "hu", "italian": "it", "italiano": "it", "japanese": "ja", "korean": "ko",
    "nederlands": "nl", "norwegian": "no", "polish": "pl", "portuguese": "pt", "português": "pt", "romanian": "ro",
    "russian": "ru", "spanish": "es", "español": "es", "svenska": "sv", "swedish": "sv", "thai": "th", "turkish": "tr",
}  # fmt: skip
"""Names of languages -> their codes (ISO 639-1)."""

_SOURCES = "bash cpp css dart go java js lua php py r rb rs scala sh sql swift ts zig"
PROGRAMMING = {
    "c": "c", "c#": "cs", "c++": "cpp", "csharp": "cs", "golang": "go", "haskell": "hs", "javascript": "js",
    "kotlin": "kt", "perl": "pl", "python": "py", "ruby": "rb", "rust": "rs", "shell": "sh", "typescript": "ts",
    **{ending: ending for ending in _SOURCES.split()},
}  # fmt: skip
"""Names of programming languages -> the ending of their files; none is also the code of a natural language."""

YEARS = range(1900, 3000)
LARGEST_SIZE = 2**62
"""bytes; fits a 64-bit integer, with room for additions"""

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"(?P<whole>[0-9]{1,30})(?:\.(?P<part>[0-9]{1,9}))?(?P<unit>[bkmgt]?)(?:i?b)?", re.IGNORECASE)
_COMPARED = re.compile(r"\s*(?P<op>>=|<=|>|<|=|)\s*(?P<value>.*)", re.DOTALL)
_DAY = re.compile(
    r"(?P<y>[0-9]{4})(?:[-/](?P<m>[0-9]{1,2})(?:[-/](?P<d>[0-9]{1,2})"
    r"(?:[T ](?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2}))?)?)?)?",
    re.IGNORECASE,
)
_DOTTED_DAY = re.compile(r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\.(?P<y>[0-9]{4})")
_AGO = re.compile(r"(?P<n>[0-9]{1,6})(?P<unit>[hdwmy])", re.IGNORECASE)
_MOMENT = re.compile(r"@(?P<seconds>-?[0-9]{1,12})")


class NotUnderstoodError(ValueError):
    """A filter's value is not understood; the message says what would be."""


def size_range(text: str) -> tuple[str, Range]:
    """The comparison and the (smallest, largest) bytes, both included, of `>1mb`, `10kb..2mb` or `10kb`.

    1 kb is 1,024 bytes. Without a comparison a size is as coarse as it is written: 10kb goes to just below 11 kb.
    """
    if (match := _SIZE.fullmatch(text)) is not None:
        smallest = _bytes(text)
        resolution = _unit(match) // int("1" + "0" * len(match["part"] or ""))
        return "", (smallest, max(smallest, smallest + resolution - 1))
    op, (start, end) = _compared(text, lambda part: (_bytes(part), _bytes(part) + 1))
    if end == 0:
        raise NotUnderstoodError("no file is smaller than 0 bytes")
    return op, (start, None if end is None else end - 1)


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise NotUnderstoodError(f"no size {text!r}: write 500, 10kb, >1mb or 10kb..2mb")
    factor = _unit(match)
    part = match["part"] or "0"
    return min(LARGEST_SIZE, int(match["whole"]) * factor + round(int(part) * factor / int("1" + "0" * len(part))))


def _unit(match: re.Match[str]) -> int:
    return _UNITS[match["unit"].lower()]


def date_range(text: str, now: datetime) -> tuple[str, Range]:
    """The comparison and the half-open [start, end) in seconds since the epoch of `>2024-01`, `last-week` or `7d`."""
    return _compared(text, lambda part: _period(part, now))


def _compared(text: str, period: Callable[[str], tuple[int, int]]) -> tuple[str, Range]:
    """The half-open range of a comparison; a moment without one, as 7d, is open towards the future."""
    if ".." in text:
        first, last = text.split("..", 1)
        return "..", _between(first, last, period)
    match = _COMPARED.fullmatch(text)
    assert match is not None, "every text matches"
    op = match["op"]
    start, end = period(match["value"])
    ranges: dict[str, Range] = {">": (end, None), ">=": (start, None), "<": (None, start), "<=": (None, end)}
    whole = (start, end if end > start else None)
    return ("" if op == "=" else op), ranges.get(op, whole)


def _between(first: str, last: str, period: Callable[[str], tuple[int, int]]) -> Range:
    first, last = first.strip(" *"), last.strip(" *")
    if not first and not last:
        raise NotUnderstoodError("a range needs a beginning or an end")
    if not first:
        return None, period(last)[1]
    if not last:
        return period(first)[0], None
    one, other = period(first), period(last)
    earlier, later = (other, one) if one[0] >= other[1] else (one, other)
    return earlier[0], later[1]


def _period(text: str, now: datetime) -> tuple[int, int]:
    """[start, end) of one date; start equals end for a moment."""
    text = text.strip()
    try:
        if (match := _DAY.fullmatch(text) or _DOTTED_DAY.fullmatch(text)) is not None:
            return _calendar(match)
        if (match := _AGO.fullmatch(text)) is not None:
            moment = _ago(int(match["n"]), match["unit"].lower(), now)
            return moment, moment
        if (match := _MOMENT.fullmatch(text)) is not None:
            return int(match["seconds"]), int(match["seconds"])
        if (word := re.sub(r"[-_\s]", "", text.lower())) in _NAMED:
            first, last = _NAMED[word](now.date())
            return _seconds(first), _seconds(last)
    except (ValueError, OverflowError, OSError):
        pass  # the 30th of February, 99999y: reported below
    raise NotUnderstoodError(f"no date {text!r}: write 2024, 2024-01, 2024-01-15, today, last-week, 7d, >2024 or a..b")


def _calendar(match: re.Match[str]) -> tuple[int, int]:
    fields = {name: int(number) for name, number in match.groupdict().items() if number is not None}
    year, month, day = fields["y"], fields.get("m"), fields.get("d")
    if year not in YEARS:
        raise ValueError(year)
    if month is None:
        return _seconds(date(year, 1, 1)), _seconds(date(year + 1, 1, 1))
    if day is None:
        return _seconds(date(year, month, 1)), _seconds(_months_later(date(year, month, 1), 1))
    if "H" not in fields:
        return _seconds(date(year, month, day)), _seconds(date(year, month, day) + timedelta(1))
    start = int(datetime(year, month, day, fields["H"], fields["M"], fields.get("S", 0)).timestamp())
    return start, start + (1 if "S" in fields else 60)


def _ago(n: int, unit: str, now: datetime) -> int:
    if unit == "h":
        return int(now.timestamp()) - 3600 * n
    today = now.date()
    if unit in "dw":
        return _seconds(today - timedelta(n * (7 if unit == "w" else 1)))
    return _seconds(_months_later(today, -n * (12 if unit == "y" else 1)))


def _months_later(day: date, n: int) -> date:
    """The same day `n` months later, or the last of that month when it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + n, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(1)).day))


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day).timestamp())


def _week(today: date, weeks: int) -> tuple[date, date]:
    monday = today - timedelta(today.weekday()) + timedelta(7 * weeks)
    return monday, monday + timedelta(7)


def _month(today: date, months: int) -> tuple[date, date]:
    first = _months_later(today.replace(day=1), months)
    return first, _months_later(first, 1)


_NAMED: dict[str, Callable[[date], tuple[date, date]]] = {
    "today": lambda today: (today, today + timedelta(1)),
    "yesterday": lambda today: (today - timedelta(1), today),
    "thisweek": lambda today: _week(today, 0),
    "lastweek": lambda today: _week(today, -1),
    "thismonth": lambda today: _month(today, 0),
    "lastmonth": lambda today: _month(today, -1),
    "thisyear": lambda today: (date(today.year, 1, 1), date(today.year + 1, 1, 1)),
    "lastyear": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}


def document_type(text: str) -> str:
    """The member of TYPES that `text` names, itself or by an alias."""
    word = text.strip().lower()
    known = {name: name for name in TYPES} | TYPE_ALIASES
    if word in known:
        return known[word]
    if word in PROGRAMMING:
        hint = f"ext:{PROGRAMMING[word]} finds such files"
    else:
        close = nearest(word, known)
        hint = f"did you mean {close}?" if close else f"there are {', '.join(TYPES)}"
    raise NotUnderstoodError(f"no type {text!r}: {hint}")


def extension(text: str) -> str:
    """A file name's ending in lower case without its dot; `*.pdf`, `.pdf` and `PDF` are pdf."""
    ending = re.sub(r"^[\s*.]+", "", text).strip().lower()
    if not ending:
        raise NotUnderstoodError("ext: needs an ending such as pdf")
    return ending


def language(text: str) -> str:
    """The two- or three-letter code of a language given by code, code and region, or name."""
    word = text.strip().lower()
    if word in LANGUAGES:
        return LANGUAGES[word]
    if word in PROGRAMMING:
        raise NotUnderstoodError(f"no language {text!r} that people speak: ext:{PROGRAMMING[word]} finds such files")
    match = re.fullmatch(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*", word)
    if match is None:
        close = nearest(word, LANGUAGES)
        raise NotUnderstoodError(f"no language {text!r}: {f'did you mean {close}?' if close else 'write en, de, fr'}")
    from indexer.text.language import LANGUAGES as TOLD  # imports the stemmers, which no other query needs here

    if match[1] not in TOLD:
        codes = ", ".join(sorted(filter(None, TOLD)))
        raise NotUnderstoodError(f"no text is known to be in {text!r}, only in {codes}")
    return match[1]


def folder(text: str) -> str:
    """A folder's name or path, without its closing slash."""
    name = text.strip()
    if not name:
        raise NotUnderstoodError("dir: needs a folder's name or path")
    return name.rstrip("/" + os.sep) or os.sep


NEEDED = {
    "ext": "an ending such as pdf", "type": "a type such as mail", "dir": "a folder", "lang": "a language such as en",
    "modified": "a date such as 2024-01 or last-week", "size": "a size such as >1mb",
    "thread": "the id of a message", "links": 'the name of a note, as links:"Okapi BM25"',
    **{name: f"a value, as in {one.example}" for name, one in PROPERTIES.items() if one.kind != "text"},
}  # fmt: skip
"""kind of filter -> what must stand after its colon"""


def meaning(kind: str, text: str, now: datetime) -> tuple[str, FilterValue]:
    """The comparison and the value of `text` after the colon of a filter of that kind."""
    if kind == "modified" or kind in DATE_FIELDS:
        return date_range(text, now)
    if kind == "size":
        return size_range(text)
    if kind in PROPERTIES:
        value = mark(kind, text)
        if value is None:
            raise NotUnderstoodError(f"{kind}: {NEEDED[kind]} is wanted")
        return "", value
    if kind in ("thread", "links"):
        return "", " ".join(text.split())
    return "", {"ext": extension, "type": document_type, "lang": language, "dir": folder}[kind](text)
