"""Text of strangers on a terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.printable import UNSAFE, display_path, safe_line, safe_text

JOINING = {"\u200c", "\u200d"}
VISIBLE_FORMATS = {"\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd", "\u070f", "\u0890", "\u0891",
                   "\u08e2", "\U000110bd", "\U000110cd"}  # fmt: skip


OBEYED = (
    {c for c in UNSAFE if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    | {
        c
        for c in UNSAFE
        if unicodedata.bidirectional(c) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    }
    | set("\u061c\u200e\u200f")
)  # the marks of direction, which have the class of letters
"""controls, and what turns the reading direction"""


def test_no_control_and_no_unseen_character_is_left_out() -> None:
    """Of all of Unicode: controls, surrogates, line and paragraph separators, and formats that nobody sees."""
    unseen = {c for c in map(chr, range(0x10000)) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp", "Cf")}
    unseen -= JOINING | VISIBLE_FORMATS | {"\xad"}
    assert unseen <= set(UNSAFE)
    assert not [c for c in UNSAFE if unicodedata.category(c)[0] in "LNPS"]


@given(st.text(st.characters(codec=None)))
def test_nothing_unsafe_is_printed_and_no_offset_moves(text: str) -> None:
    """Every character is still at its place, or something safe is."""
    for safe in (safe_text(text), safe_line(text)):
        assert len(safe) == len(text)
        assert not set(safe) & (set(UNSAFE) - {"\n", "\t"})
        assert safe.encode("utf-8").decode("utf-8") == safe
    assert not set(safe_line(text)) & set(UNSAFE)
    assert not set(display_path(text)) & OBEYED
    assert len(display_path(text)) == len(text)


@pytest.mark.parametrize(
    ("character", "line", "path"),
    [
        ("\x1b", "\ufffd", "\ufffd"),
        ("\n", " ", "\ufffd"),
        ("\u202e", " ", "\ufffd"),
        ("\u200b", " ", "\u200b"),
        ("\u2060", " ", "\u2060"),
        ("\ufff9", " ", "\ufff9"),
        ("\u2067", " ", "\ufffd"),
        ("\x9b", "\ufffd", "\ufffd"),
        ("\u061c", " ", "\ufffd"),
        ("\u00ad", "-", "\u00ad"),
        ("\u200d", "\u200d", "\u200d"),
        ("\u00a0", "\u00a0", "\u00a0"),
        ("\u3000", "\u3000", "\u3000"),
        ("\ufe0f", "\ufe0f", "\ufe0f"),
    ],
)
def test_each_kind_is_shown_one_way(character: str, line: str, path: str) -> None:
    """Titles lose what nobody sees; names keep all but what a terminal obeys, for they are copied from there."""
    assert safe_line(f"a{character}b") == f"a{line}b"
    assert display_path(f"a{character}b") == f"a{path}b"


def test_bytes_that_are_no_text_are_made_visible() -> None:
    """A name in another encoding than the system's."""
    assert display_path(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\ufffd"


def test_the_table_costs_no_walk_through_unicode() -> None:
    """It is small enough to be made at every start."""
    assert len(UNSAFE) < 3000
    assert sys.maxunicode not in map(ord, UNSAFE)
