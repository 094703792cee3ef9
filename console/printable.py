"""Text that is safe to print: nothing in it controls the terminal, is invisible, or changes the reading direction.

Names and texts of files may hold escape sequences and invisible characters; printed as they are, they would reach the
terminal. Everything here keeps the length of what it makes safe, so that offsets of matches stay valid. Joiners of
letters and emoji (U+200C, U+200D, variation selectors) stay: they belong to the words of many languages. A path loses
only what controls the terminal or the direction, as people copy it from there: all else in it is part of the name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_CONTROLS = {*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)}
"""characters that control terminals, and surrogates (halves of characters)"""
_UNSEEN = {
    0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF, 0xE0001,
    *range(0x2028, 0x202F), *range(0x2060, 0x2070), *range(0xFFF9, 0xFFFC), *range(0xE0020, 0xE0080),
}  # fmt: skip
"""direction marks, line separators, and characters without a shape"""
_BLANKS = {0x09, 0x0A, 0x0B, 0x0C, 0x0D}

UNSAFE = "".join(map(chr, sorted({*_CONTROLS, *_UNSEEN})))
"""every character that no printed line may hold"""

_LINE = dict.fromkeys(_CONTROLS, REPLACEMENT) | dict.fromkeys(_UNSEEN | _BLANKS, " ") | {0xAD: "-"}  # the soft hyphen
_TEXT = {code: sign for code, sign in _LINE.items() if code not in (0x09, 0x0A)}
_DIRECTIONS = {0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}
"""what changes the reading direction, and line separators that some terminals obey"""
_NAME = dict.fromkeys(_CONTROLS | _DIRECTIONS, REPLACEMENT)


def safe_text(text: str) -> str:
    """`text` of the same length without anything unsafe; line ends and tabs stay."""
    return text.translate(_TEXT)


def safe_line(text: str) -> str:
    """`text` as one line of the same length without anything unsafe."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE)


def display_path(path: str) -> str:
    """`path` for a terminal, of the same length: undecodable bytes, controls and directions become visible."""
    return path if path.isascii() and path.isprintable() else path.translate(_NAME)


_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_JOINING = frozenset("\u200d\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
"""belong to the character before them but are no marks in Unicode: the joiner, the keycap, skin tones"""
_MAY_JOIN = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u200d\u20d0-\u20ff\u2ce0-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\uabff"
    "\ufb1e\ufe00-\ufe2f\U00010000-\U0010ffff]"
)
"""all that may belong to the character before it, and more: in a text without these each character is a letter"""


def between_letters(text: str, at: int, step: int) -> int:
    """`at`, or the next place in steps of `step` that is not inside a letter with marks, a joined emoji or a flag."""
    while 0 < at < len(text) and (
        text[at] in _JOINING
        or text[at - 1] == "\u200d"
        or unicodedata.category(text[at])[0] == "M"
        or (text[at] in _FLAGS and (at - len(text[:at].rstrip(_FLAGS))) % 2)
    ):
        at += step
    return at


def letters_of(text: str) -> Iterable[str]:
    """`text` in pieces that must not be cut: letters with their marks, joined emoji, flags."""
    return _joined_letters(text) if _MAY_JOIN.search(text) else text


def _joined_letters(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = between_letters(text, start + 1, 1)
        yield text[start:end]
        start = end
