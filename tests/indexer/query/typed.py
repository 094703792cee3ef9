"""Whatever may be typed into the search box."""

from __future__ import annotations

from hypothesis import strategies as st

NOW = 1_750_000_000.0
any_text = st.text(st.characters(exclude_categories=()), max_size=60)
"""surrogates and control characters too"""
pieces = st.sampled_from(
    ["a", "Foo", "AND", "OR", "NOT", "-", "--x", "(", ")", '"', "“", "”", "=", "*", "title:", "from:", "ext:", "type:",
     "type:mail", "modified:", "modified:2024-01", ">", "<=", "..", "size:", "1mb", "1e9", "7d", "last-week", ",", ":",
     "::", "//", " ", " ", " ", "\t", "\0", "\ud800", "中文", "́", "&", "ß", "tit:", "@5", "dir:", "in:~/x", "lang:en",
     "*.pdf", "（", "：", "name:", "before:"]
)  # fmt: skip
queryish = st.lists(pieces, max_size=25).map("".join)
