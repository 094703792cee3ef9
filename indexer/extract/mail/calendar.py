"""iCalendar and vCard: each event, to-do and journal entry a document, dated by its start, and each card."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import decode
from indexer.extract.markup.html import one_line
from indexer.extract.markup.texts import read_text
from indexer.extract.source import Gathered, Limits, Source, cut

_PARTS = {"VEVENT": "event", "VTODO": "to-do", "VJOURNAL": "entry", "VCARD": "card"}
_LINE = re.compile(r'^(?:[\w-]+\.)?([A-Za-z0-9-]+)((?:;[^":;]*(?:"[^"]*"[^":;]*)*)*):(.*)$', re.S)
_NAME = re.compile(r';CN="?([^";:]+)', re.IGNORECASE)
_ZONE = re.compile(r';TZID="?([^";:]+)', re.IGNORECASE)
_MAIL = re.compile(r"^mailto:", re.IGNORECASE)
_ESCAPE = re.compile(r"\\([\\;,nN])")
_QUOTED = re.compile(r"^(?=[^:\n]*QUOTED-PRINTABLE)[^:\n]*+:(?:[^\n]*=\n)*", re.I | re.M)
_CHARSET = re.compile(r"CHARSET=([\w-]+)", re.I)
_OF_A_CARD = {
    "FN": "", "N": "", "NICKNAME": "", "ORG": "", "TITLE": "", "ROLE": "", "TEL": "Phone: ", "EMAIL": "Email: ",
    "ADR": "Address: ", "BDAY": "Birthday: ", "URL": "", "CATEGORIES": "", "NOTE": "",
}  # fmt: skip
"""what of a card is text, and what stands before it; no pictures, sounds and keys"""

Property = tuple[str, str, str]
"""(name in capitals, parameters as ";A=b", value with escapes undone)"""


def extract(source: Source, limits: Limits, wanted: str = "VCALENDAR") -> Extraction:
    """One document per entry, titled by SUMMARY or name; raises "malformed" where nothing of the kind `wanted` is."""
    text, truncated = read_text(source, limits)
    if f"BEGIN:{wanted}" not in text[:10_000].upper():
        raise ExtractionError("malformed", f"BEGIN:{wanted} is missing")
    gathered = Gathered(limits)
    for number, (kind, properties) in enumerate(_entries(text), 1):
        if number > limits.max_messages:
            gathered.note(f"only the first {limits.max_messages} entries")
            break
        gathered.read(f"{_PARTS[kind]} {number}", partial(_card if kind == "VCARD" else _event, properties, limits))
        if gathered.full:
            break
    if truncated:
        gathered.note(f"only the {truncated} of the file")
    elif text.upper().rfind(f"BEGIN:{wanted}") > text.upper().rfind(f"END:{wanted}"):
        gathered.note("the file is cut off within its entries")
    return gathered.extraction()


extract_cards = partial(extract, wanted="VCARD")


def _entries(text: str) -> Iterator[tuple[str, list[Property]]]:
    """Each entry with its properties; those of alarms inside it are left out."""
    kind, inside, found = "", 0, list[Property]()
    text = _QUOTED.sub(lambda found: found[0].replace("=\n", ""), text)
    for line in re.sub(r"\n[ \t]", "", text).split("\n"):
        if not (match := _LINE.match(line)):
            continue
        name, value = match[1].upper(), match[3].strip()
        if name == "BEGIN":
            if kind:
                inside += 1
            elif value.upper() in _PARTS:
                kind, found = value.upper(), []
        elif name == "END":
            if kind and not inside:
                yield kind, found
                kind = ""
            inside = max(inside - 1, 0)
        elif kind and not inside:
            if "QUOTED-PRINTABLE" in match[2].upper():
                charset = _CHARSET.search(match[2])
                value = decode(quopri.decodestring(value.encode()), declared=charset[1] if charset else "")
            found.append((name, match[2], _ESCAPE.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value)))
    if kind and found:
        yield kind, found


def _event(properties: list[Property], limits: Limits) -> Extraction:
    first = {name: (parameters, value) for name, parameters, value in reversed(properties)}
    lines = [first[name][1] for name in ("SUMMARY", "DESCRIPTION", "COMMENT", "URL") if name in first]
    lines += [f"Location: {first['LOCATION'][1]}"] if "LOCATION" in first else []
    lines += [f"Categories: {value}" for name, _, value in properties if name == "CATEGORIES"]
    lines += [f"{name[2:].title()}: {_shown_date(first[name][1])}" for name in ("DTSTART", "DTEND") if name in first]
    text, truncated = cut("\n".join(lines), limits.max_text_bytes)
    return ExtractedDocument(
        text=text,
        type="calendar",
        title=one_line(first.get("SUMMARY", ("", ""))[1]),
        author="; ".join(_person(*rest) for name, *rest in properties if name == "ORGANIZER"),
        recipients="; ".join(_person(*rest) for name, *rest in properties if name == "ATTENDEE"),
        modified=next((_seconds(*first[name]) for name in ("DTSTART", "DUE", "DTSTAMP") if name in first), None),
        truncated=truncated,
    ).alone()


def _card(properties: list[Property], limits: Limits) -> Extraction:
    said = [(name, value) for wanted in _OF_A_CARD for name, _, value in properties if name == wanted]
    lines = [_OF_A_CARD[name] + " ".join(value.replace(";", " ").split()) for name, value in said]
    text, truncated = cut("\n".join(lines), limits.max_text_bytes)
    title = one_line(lines[0]) if lines else ""
    return ExtractedDocument(text=text, type="text", title=title, truncated=truncated).alone()


def _person(parameters: str, value: str) -> str:
    """ "Anna Berg <anna@example.org>" """
    name = _NAME.search(parameters)
    address = _MAIL.sub("", value)
    return one_line(f"{name[1]} <{address}>" if name else address)


def _shown_date(value: str) -> str:
    """20240501T120000Z as 2024-05-01 12:00."""
    found = re.match(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d))?", value)
    if not found:
        return value
    return f"{found[1]}-{found[2]}-{found[3]}" + (f" {found[4]}:{found[5]}" if found[4] else "")


def _seconds(parameters: str, value: str) -> float | None:
    """Seconds since the epoch; a day, and a time without a zone, are those of this computer."""
    zone: tzinfo | None = None
    if named := _ZONE.search(parameters):
        with suppress(OSError, ValueError, KeyError):
            zone = ZoneInfo(named[1])
    for form in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            return datetime.strptime(value, form).replace(tzinfo=UTC if form.endswith("Z") else zone).timestamp()
        except (ValueError, OverflowError):
            continue
    return None
