"""The wording of paths, dates, sizes and counts on screen and command line, and fitting text into columns."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from console.printable import between_letters, display_path, letters_of

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def count(number: int, noun: str = "") -> str:
    """1 file, 2 files, 12,228 files; without a noun the number alone."""
    return f"{number:,} {noun}{'s' * (number != 1)}" if noun else f"{number:,}"


def rows_in_words(found: Mapping[str, int]) -> str:
    """Rows by table: "2 updates, 1 member, 1 roster row"; "nothing" for none."""
    tables = {table.replace("depots", "depot keys"): n for table, n in found.items() if n}  # one depot had several
    return ", ".join(count(n, t[:-1] if t.endswith("s") else f"{t} row") for t, n in tables.items()) or "nothing"


def also_as(paths: Sequence[str]) -> str:
    """The other formats of one text: "also as pdf, txt"; "" for none."""
    endings = sorted({Path(path).suffix.removeprefix(".").lower() or Path(path).name for path in paths})
    return display_path(f"also as {', '.join(endings)}") if endings else ""


def in_thread(n_messages: int) -> str:
    """How many mails a row stands for: "5 in this thread"; "" for a mail that nobody answered."""
    return f"{count(n_messages)} in this thread" if n_messages > 1 else ""


def day(seconds: float, now: float | None = None) -> str:
    """The time of a change: 14:02 today, 3 Mar this year, 3 Mar 2023 before; "" when unknown or absurd."""
    try:
        then, today = time.localtime(seconds), time.localtime(now)
    except (OverflowError, ValueError, OSError):
        return ""
    if seconds <= 0:
        return ""
    if then[:3] == today[:3]:
        return f"{then.tm_hour}:{then.tm_min:02}"
    date = f"{then.tm_mday} {MONTHS[then.tm_mon - 1]}"
    return date if then.tm_year == today.tm_year else f"{date} {then.tm_year}"


def iso_day(seconds: float) -> str:
    """A date for lists and scripts: "2024-05-17"; "" for one that no calendar has."""
    return iso_minute(seconds)[:10]


def iso_minute(seconds: float) -> str:
    """A date with its time of day: "2024-05-17 14:02"; "" for one that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):
        return ""


FIRST_DATED = 10**9
"""least number of a lineage that a restore began: it is the time of the restore, in seconds since the epoch"""


def lineage_label(lineage: int) -> str:
    """ "3", or where a restore began it "2026-11-23T10:33:55Z"; `lineage_labelled` reads it."""
    return str(lineage) if lineage < FIRST_DATED else f"{datetime.fromtimestamp(lineage, UTC):%Y-%m-%dT%H:%M:%SZ}"


def lineage_labelled(label: str) -> int | None:
    """The lineage of a label or a number; None for anything else."""
    if label.isdecimal():
        return int(label[:18])  # no lineage has more digits
    try:
        return int(datetime.fromisoformat(label).timestamp()) if label.endswith("Z") else None
    except ValueError:
        return None


def round_label(lineage: int, round: int) -> str:
    """ "3.2": round 2 of lineage 3."""
    return f"{lineage_label(lineage)}.{round}"


def minute_of(moment: str) -> str:
    """2026-05-01T10:00:00, the form in properties, as 2026-05-01 10:00."""
    return moment.replace("T", " ")[:16]


def size(n_bytes: int) -> str:
    """812 bytes, 4 KB, 1.5 MB; decimal units."""
    if n_bytes < 1000:
        return count(n_bytes, "byte")
    value = float(n_bytes)
    for unit in ("KB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 9.95 and unit != "KB" else f"{value:.0f} {unit}"
    return f"{value / 1000:.1f} TB"


def short_path(path: str) -> str:
    """A path that can be printed, with ~ for the home folder."""
    home = os.path.expanduser("~")
    inside = path == home or path.startswith(home.rstrip(os.sep) + os.sep)
    return display_path("~" + path[len(home) :] if inside and home != os.sep else path)


def columns(text: str) -> int:
    """The columns of a terminal that `text` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # the widths of the screen's layout; not loaded for ASCII

    count_vowel_signs()
    return cell_len(text)


@cache
def count_vowel_signs() -> None:
    """Make vowel signs that stand beside their letter, as in Hindi and Tamil, take a cell in Rich's widths from now on.

    Most terminals draw them like that. Rich counts none, and such lines would run over the edge of the screen.
    """
    from rich import cells

    with suppress(AttributeError, KeyError, TypeError):  # another version of Rich may keep its widths elsewhere
        load: Any = vars(cells)["load_cell_table"]
        widths = load("auto").widths
        marks = [own for own in widths if own[0] < 0x20000 and not own[2]]
        codes = (code for start, end, _ in marks for code in range(start, end + 1))
        others = [(code, code, 0) for code in codes if unicodedata.category(chr(code)) != "Mc"]
        widths[:] = sorted(others + [own for own in widths if own[0] >= 0x20000 or own[2]])


def fit(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut with an ellipsis."""
    if columns(text) <= width:
        return text
    end = taken = 0
    for letter in letters_of(text):
        if (taken := taken + columns(letter)) >= width:
            break
        end += len(letter)
    return text[:end].rstrip() + "…" if width > 0 else ""


def fit_left(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut at its beginning: the end of a path tells more."""
    if columns(text) <= width:
        return text
    taken, start = 0, len(text)
    while start:
        before = between_letters(text, start - 1, -1)
        if (taken := taken + columns(text[before:start])) >= width:
            break
        start = before
    return "…" + text[start:] if width > 0 else ""


def fit_path(path: str, width: int) -> str:
    """`path` in at most `width` columns: folders in the middle give way to an ellipsis, the name goes last."""
    if columns(path) <= width:
        return path
    head, *middle, name = path.split(os.sep) if os.sep in path else ["", path]
    while middle:
        middle.pop(0)
        shown = os.sep.join((head, "…", *middle, name))
        if columns(shown) <= width:
            return shown
    return fit(f"…{os.sep}{name}" if os.sep in path else name, width)


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Where each line of `text` begins and ends when it is broken at blanks into lines of `width` columns.

    A word that is wider than a line is broken inside.
    """
    lines: list[tuple[int, int]] = []
    start = blank = taken = 0
    position = after = 0
    for letter in letters_of(text):
        position, after = after, after + len(letter)
        taken += columns(letter)
        if letter == " ":
            blank = position
            continue
        while taken > width and position > start:
            end, following = (blank, blank + 1) if blank > start else (position, position)
            lines.append((start, end))
            start = blank = following
            taken = columns(text[start:after])
    lines.append((start, len(text)))
    trimmed = ((start, start + len(text[start:end].rstrip(" "))) for start, end in lines)
    return [line for line in trimmed if line[0] < line[1]]
