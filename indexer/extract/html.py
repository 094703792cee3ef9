"""HTML and XHTML through the lexbor parser: what a reader sees, and the title."""

from __future__ import annotations

import re
from itertools import groupby

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.decode import clean, decode
from indexer.extract.source import MEGABYTE, Limits, Source, cut, shown_size

MAX_MARKUP = 16 * MEGABYTE
"""bytes of one page that are parsed; the tree of elements takes forty times as much memory"""

_LINES = """
    p div li br tr td th h1 h2 h3 h4 h5 h6 dd dt dl ul ol pre hr table caption section article header footer nav aside
    main figure figcaption blockquote option address form fieldset legend details summary title"""
"""The tags that begin or end a line; inline tags such as <b> do not break a word."""
_BY_LETTER = "|".join(  # most tags are told by their first letter, which is much faster than asking for each name
    f"[{letter}{letter.upper()}](?i:{'|'.join(name[1:] for name in names)})"
    for letter, names in groupby(sorted(_LINES.split()), key=lambda name: name[0])
)
_BLOCK = re.compile(rf"<(?=/?(?:{_BY_LETTER})\b)")

_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_UNSEEN = ["script", "style", "template", "noscript", "svg", "math annotation", "head"]


def extract(source: Source, limits: Limits) -> Extraction:
    """One document: the visible text with one line per block, titled by <title> or else the first <h1>."""
    data = source.read(MAX_MARKUP + 1)
    text, title, author = read_html(data)
    text, truncated = cut(text, limits.max_text_bytes)
    if len(data) > MAX_MARKUP and not truncated:
        truncated = f"first {shown_size(MAX_MARKUP)} of the file"
    document = ExtractedDocument(text=text, type="html", title=title, author=author, truncated=truncated)
    return Extraction(documents=(document,))


def read_html(data: bytes, *, declared: str = "") -> tuple[str, str, str]:
    """(text, title, author) of an HTML page in any encoding, at most `MAX_MARKUP` of it; read as browsers do."""
    from selectolax.lexbor import LexborHTMLParser

    is_cut = len(data) > MAX_MARKUP
    markup = decode(data[:MAX_MARKUP], declared=declared_charset(data) or declared, is_cut=is_cut)
    tree = LexborHTMLParser(_BLOCK.sub("\n<", markup))
    title = one_line(node.text()) if (node := tree.css_first("title")) else ""
    author = ""
    if (node := tree.css_first('meta[name="author" i]')) is not None:
        author = one_line(node.attributes.get("content") or "")
    tree.strip_tags(_UNSEEN)
    if not title and (node := tree.css_first("h1")):
        title = one_line(node.text())
    root = tree.body or tree.root
    return sane_lines(clean(root.text())) if root else "", title, author


def declared_charset(data: bytes) -> str:
    """The encoding that the page names in <meta> or in its XML declaration, "" when it names none."""
    found = _CHARSET.search(data[:4096]) or _XML_ENCODING.search(data[:256])
    return found[1].decode("ascii") if found else ""


def one_line(text: str) -> str:
    """`text` with every run of blanks and line ends as one blank, at most 300 characters."""
    return " ".join(clean(text[:2000]).split())[:300]


def sane_lines(text: str) -> str:
    """The lines of `text` without blanks around them and without empty lines."""
    return "\n".join([stripped for line in text.split("\n") if (stripped := line.strip())])
