"""How paths, dates, sizes and counts read on the screen, and how a stranger's text is made safe to print.

Text that was extracted from files may hold escape sequences and characters that turn the reading direction;
printed as they are, they would reach the terminal. All the functions here keep the length of what they make safe,
so that offsets of matches stay true.
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.cells import cell_len

from indexer.documents import display_path

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CONTROLS = [c for c in (*range(0x20), *range(0x7F, 0xA0)) if c not in (0x09, 0x0A)]
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
_SAFE = {code: " " if code in (0x0B, 0x0C, 0x0D) else "\N{REPLACEMENT CHARACTER}" for code in _CONTROLS}
_SAFE |= dict.fromkeys(_DIRECTIONS, " ") | dict.fromkeys(range(55296, 57344), "�")
_ONE_LINE = {**_SAFE, 0x09: " ", 0x0A: " "}


def safe_text(text: str) -> str:
    """`text` without anything a terminal would obey; line ends and tabs stay, and so does the length."""
    return text.translate(_SAFE)


def safe_line(text: str) -> str:
    """`text` as one line without anything a terminal would obey, of the same length."""
    return text.translate(_ONE_LINE)


def count(number: int, noun: str = "", *, plural: str = "") -> str:
    """1 file, 2 files, 12,228 files."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


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
    home = str(Path.home())
    inside = path == home or path.startswith(home.rstrip("/") + "/")
    return display_path("~" + path[len(home) :] if inside and home != "/" else path)


def fit_path(path: str, width: int) -> str:
    """`path` in at most `width` cells: the folders in the middle give way to an ellipsis, the name stays longest."""
    if cell_len(path) <= width:
        return path
    head, *middle, name = path.split("/") if "/" in path else ["", path]
    while middle:
        middle.pop(0)
        shown = "/".join((head, "…", *middle, name))
        if cell_len(shown) <= width:
            return shown
    return fit(f"…/{name}" if "/" in path else name, width)


def fit(text: str, width: int) -> str:
    """`text` in at most `width` cells, cut with an ellipsis."""
    if cell_len(text) <= width:
        return text
    kept = text[: max(0, width)]
    while kept and cell_len(kept) > width - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…" if width > 0 else ""
