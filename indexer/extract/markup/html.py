"""HTML and XHTML through the lexbor parser: what a reader sees, and the title."""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

from indexer.documents import MEGABYTE, ExtractedDocument, Extraction
from indexer.extract.decode import clean, decode
from indexer.extract.source import Limits, Source, cut, shown_size

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
_HEADING = re.compile(r"\n<(?=(/?)[hH][1-6]\b)")
_BEGIN, _END = "\x01", "\x02"
"""stand around each heading while a page is parsed: characters that no text keeps"""
_OUR_MARKS = re.compile(r"[\x01\x02]|&#(?:0*[12](?!\d)|[xX]0*[12](?![\da-fA-F]));?")
"""these, as a page itself may write them"""

MAX_DEPTH = 512
"""elements in one another, as browsers have it"""
_MANY_TAGS = 8_000
"""Fewer cost little, however deep."""
_FLAT = """
    html head body title script style template noscript svg math annotation textarea iframe xmp noembed noframes
    plaintext
    table caption colgroup thead tbody tfoot tr td th select option optgroup object button applet marquee frameset
    p li dd dt h1 h2 h3 h4 h5 h6
    area base br col embed frame hr img input keygen link meta param source track wbr"""
"""Tags that are left as they are: they hold nothing, end by themselves, or say what text is and what is none."""
_NESTING = re.compile(rf"<(/?)(?!(?:{'|'.join(_FLAT.split())})[\s/>])[a-zA-Z][^\s/>]*", re.IGNORECASE)
_LONG_TAG = 20_000
"""characters"""
_ATTRIBUTES = re.compile(rf"(<[a-zA-Z][^\s/<>]*+)[^<>]{{{_LONG_TAG},}}")

_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})")
_UNSEEN = ["script", "style", "template", "noscript", "svg", "math annotation", "head", "rt", "rp"]


def extract(source: Source, limits: Limits) -> Extraction:
    """One document: the visible text with one line per block, titled by <title> or else the first <h1>."""
    data = source.read(MAX_MARKUP + 1)
    page = read_html(data)
    text, truncated = cut(page.text, limits.max_text_bytes)
    if len(data) > MAX_MARKUP and not truncated:
        truncated = f"first {shown_size(MAX_MARKUP)} of the file"
    return ExtractedDocument(
        text=text, type="html", title=page.title, author=page.author, truncated=truncated,
        headings=tuple(start for start in page.headings if start < len(text)),
    ).alone()  # fmt: skip


class HtmlText(NamedTuple):
    """What an HTML page says."""

    text: str
    title: str
    author: str
    headings: tuple[int, ...]
    """offsets of the lines of the text that are headings"""


def read_html(data: bytes, *, declared: str = "") -> HtmlText:
    """An HTML page in any encoding, at most `MAX_MARKUP` of it; read as browsers do."""
    marked, title, author = _parsed(data, declared)  # whose tree is gone by now
    text, headings = _without_marks(marked)
    return HtmlText(text, title, author, headings)


def _parsed(data: bytes, declared: str) -> tuple[str, str, str]:
    """The visible text with its headings marked, the title and the author."""
    from selectolax.lexbor import LexborHTMLParser

    is_cut = len(data) > MAX_MARKUP
    markup = decode(data[:MAX_MARKUP], declared=declared_charset(data) or declared, is_cut=is_cut)
    if _BEGIN in markup or _END in markup or "&#" in markup:
        markup = _OUR_MARKS.sub("", markup)
    markup = _BLOCK.sub("\n<", markup)  # no second name: a page may be large, and each is a copy
    markup = _HEADING.sub(lambda tag: f"\n{_END if tag[1] else _BEGIN}<", markup)
    markup = _shallow(_with_few_attributes(markup))
    tree = LexborHTMLParser(markup)
    del markup
    title = one_line(node.text()) if (node := tree.css_first("title")) else ""
    author = ""
    if (node := tree.css_first('meta[name="author" i]')) is not None:
        author = one_line(node.attributes.get("content") or "")
    tree.strip_tags(_UNSEEN)
    if not title and (node := tree.css_first("h1")):
        title = one_line(node.text())
    root = tree.body or tree.root
    return root.text() if root else "", title, author


def _with_few_attributes(markup: str) -> str:
    """`markup` with nothing but their names left of very long tags: the parser compares all attributes of one."""
    if len(markup) < _LONG_TAG or max(map(len, markup.split("<"))) < _LONG_TAG:
        return markup
    return _ATTRIBUTES.sub(r"\1", markup)


def _shallow(markup: str) -> str:
    """`markup` with elements more than `MAX_DEPTH` deep renamed to one that holds nothing, and so is never open: for
    each tag the parser asks all that are. Lines begin and end as before, for they are marked already."""
    if markup.count("<") < _MANY_TAGS:
        return markup
    depth = 0

    def renamed(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[1]:
            depth -= depth > 0
            return "</wbr" if depth >= MAX_DEPTH else tag[0]
        depth += 1
        return "<wbr" if depth > MAX_DEPTH else tag[0]

    return _NESTING.sub(renamed, markup)


def _without_marks(text: str) -> tuple[str, tuple[int, ...]]:
    """The lines of a marked text, and where its headings begin; one of a picture alone is none."""
    pieces: list[str] = []
    starts: list[int] = []
    n_chars = 0
    for number, piece in enumerate(text.split(_BEGIN)):
        heading, _, rest = piece.partition(_END)
        if lines := sane_lines(clean(heading + rest.replace(_END, ""))):
            if number and heading.strip():
                starts.append(n_chars)
            pieces.append(lines)
            n_chars += len(lines) + 1
    return "\n".join(pieces), tuple(starts)


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
