"""Text of strangers on a terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.text.printable import UNSAFE, display_path, safe_line, safe_text

JOINING = {"\u200c", "\u200d"}
VISIBLE_FORMATS = {"\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd", "\u070f", "\u0890", "\u0891",
                   "\u08e2", "\U000110bd", "\U000110cd"}  # fmt: skip


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
    assert not set(display_path(text)) & set(UNSAFE)
    assert len(display_path(text)) == len(text)


@pytest.mark.parametrize(
    ("character", "line", "path"),
    [
        ("\x1b", "\ufffd", "\ufffd"),
        ("\n", " ", "\ufffd"),
        ("\u202e", " ", "\ufffd"),
        ("\u200b", " ", "\ufffd"),
        ("\u2060", " ", "\ufffd"),
        ("\ufff9", " ", "\ufffd"),
        ("\u061c", " ", "\ufffd"),
        ("\u00ad", "-", "\ufffd"),
        ("\u200d", "\u200d", "\u200d"),
        ("\u00a0", "\u00a0", "\u00a0"),
        ("\u3000", "\u3000", "\u3000"),
        ("\ufe0f", "\ufe0f", "\ufe0f"),
    ],
)
def test_each_kind_is_shown_one_way(character: str, line: str, path: str) -> None:
    """Titles lose what nobody sees; in names it is made visible, because two names may differ by nothing else."""
    assert safe_line(f"a{character}b") == f"a{line}b"
    assert display_path(f"a{character}b") == f"a{path}b"


def test_bytes_that_are_no_text_are_made_visible() -> None:
    """A name in another encoding than the system's."""
    assert display_path(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\ufffd"


def test_the_table_costs_no_walk_through_unicode() -> None:
    """It is small enough to be made at every start."""
    assert len(UNSAFE) < 3000
    assert sys.maxunicode not in map(ord, UNSAFE)
