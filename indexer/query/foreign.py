"""Words of other search programs that mean something there and nothing here: named, with what to write instead.

Only what can hardly be meant as text is taken for one: `is:unread` and `has:attachment` with values that such programs
know, a pattern between slashes only with signs that no path has.
"""

from __future__ import annotations

import re

_DISTANCE = re.compile(r"~[0-9]{1,4}")
_RULES: tuple[tuple[str, str], ...] = (
    (r"is:(?:sent|trash|spam|inbox|archived|muted|snoozed)", "folders of mail are folders: write dir:Sent"),
    (r"flag:\w+", "write is:flagged, is:unread or is:answered"),
    (r"has:(?:images?|pdf|document|drive|userlabels|nouserlabels|youtube)",
     "write has:attachment, attachment:WORD, or ext:pdf for the attached documents themselves"),
    (r"(?:larger|smaller):[0-9]+[kmg]?b?", "write size:>1mb or size:<1mb"),
    (r"(?:older|newer|older_than|newer_than):[0-9][0-9/-]*[dwmy]?", "write before:2024-01 or since:7d"),
    (r"(?:intitle|allintitle):\S+", "write title:WORD"),
    (r"(?:inurl|allinurl|site):\S+", "write path:WORD or dir:FOLDER"),
    (r"(?:mime|mimetype):\S+", "write type:mail or ext:pdf"),
    (r"sort:\S+", "the order is chosen beside the query, with --order or a key"),
    (r"re(?:gexp?)?:\S+", "there are no patterns; write words, or the beginning of one with a star"),
    (r"/(?=\S*(?:\.[*+]|\\[dwsb]|\[|\||/\^|\$/))\S+/[gimsx]*",
     "there are no patterns; write words, or the beginning of one with a star"),
    (r"~[^\W\d_]{2,}", "near spellings are not asked for: where a word is found nowhere, its correction is"),
    (r"[^\W\d_A-Z]{3,}~[0-2]?", "near spellings are not asked for: where a word is found nowhere, its correction is"),
    (r"[^\W\d_]+\?[^\W\d_]+", "a ? stands for no letter; write the beginning of the word and a star"),
    (r"NEAR(?:/[0-9]{1,4})?|ADJ[0-9]{0,3}|[wWnN]/[0-9]{1,3}",
     "no distance can be asked for; all the words are, and the nearer the better"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), hint) for pattern, hint in _RULES)


def foreign_word(word: str) -> str | None:
    """Why a word of the query is not searched for, as one line; None for a word that is."""
    hint = next((hint for pattern, hint in _COMPILED if pattern.fullmatch(word)), None)
    return f"{word}: {hint}" if hint else None


def is_distance(word: str) -> bool:
    """Whether `word` is what follows a phrase whose words may stand apart, as in `"a b"~5`."""
    return _DISTANCE.fullmatch(word) is not None
