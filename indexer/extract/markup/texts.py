"""Formats that are text as written: read in any encoding, line by line as in the file, titled by their beginning.

Nothing is parsed, so that a huge, broken or deeply nested file is read like any other. A format is a way to find a
title (`titled`); manual pages, POD and JSON are also freed of their marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import normalize

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import decode, is_binary
from indexer.extract.source import Extractor, Limits, Source, cut, shown_size
from indexer.text import markdown

HEAD = 8_192
"""bytes that decide whether a file is text at all"""
TITLE_WITHIN = 20_000
"""characters at the beginning in which a title is looked for"""


def read_text(source: Source, limits: Limits) -> tuple[str, str]:
    """The text of `source` and what was kept of it ("" for all), reading only as much as is kept.

    Raises ExtractionError "unsupported" when the content is binary.
    """
    data = source.read(2 * limits.max_text_bytes + 4)
    if is_binary(data[:HEAD]):
        raise ExtractionError("unsupported", "binary content without text")
    is_cut = len(data) > 2 * limits.max_text_bytes
    text, truncated = cut(decode(data, is_cut=is_cut), limits.max_text_bytes)
    if is_cut and not truncated:
        truncated = f"first {shown_size(limits.max_text_bytes)}"
    return text, truncated


_DATA_URI = re.compile(r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=]+")


def without_data(text: str) -> str:
    """`text` without the files written into it as `data:` addresses."""
    return _DATA_URI.sub("", text) if "base64," in text else text


def titled(type_: str, title_of: Callable[[str], str], without_marks: Callable[[str], str] = without_data) -> Extractor:
    """An extractor of one document of `type_`, whose title `title_of` finds in the beginning of the text."""

    def extract(source: Source, limits: Limits) -> Extraction:
        text, truncated = read_text(source, limits)
        title = " ".join(title_of(text[:TITLE_WITHIN]).split())[:300]
        return ExtractedDocument(text=without_marks(text), type=type_, title=title, truncated=truncated).alone()

    return extract


# Titles, format by format.


def no_title(head: str) -> str:
    """None: the file name serves. Of a table or of data no line is a title."""
    return ""


extract_delimited = titled("data", no_title)


def underlined_title(head: str) -> str:
    """Plain text: a first line behind "= ", as in wikis, else the first of the first lines that is underlined."""
    if first := _FIRST_LINE.match(head):
        return first[1]
    found = _UNDERLINED.search(head[:2_000]) if _UNDERLINE.search(head, 0, 2_000) else None
    return found[1].strip() if found and len(found[2]) * 2 >= len(found[1].strip()) else ""


extract_text = titled("text", underlined_title)
"""Plain text, and what has no other reader."""
_FIRST_LINE = re.compile(r"\s*={1,6}[ ](\S[^\n=]{0,200}?)[ ]*(?:=+[ ]*)?(?:\n|\Z)")
_UNDERLINE = re.compile(r"\n[ \t]*([=*#~^\"'+-])\1{3}")
_UNDERLINED = re.compile(r"^[ \t]*(\S[^\n]{0,200})\n[ \t]*(([=*#~^\"'+-])\3{3,})[ \t]*$", re.M)


def asciidoc_title(head: str) -> str:
    """The line that begins with "= ", else the first underlined line."""
    found = _ASCIIDOC_TITLE.search(head)
    return found[1] if found else underlined_title(head)


extract_asciidoc = titled("markdown", asciidoc_title)
_ASCIIDOC_TITLE = re.compile(r"^={1,3}[ \t]+(\S[^\n]*?)[ \t=]*$", re.M)


def markdown_title(head: str) -> str:
    """The title in the front matter, else the first heading; a heading inside a code block is no title."""
    if front := markdown.FRONT_MATTER.match(head):
        if named := _FRONT_TITLE.search(front[2]):
            return named[1].strip().strip("\"'")
        head = head[front.end() :]
    head = _FENCED.sub("", head)
    heading = _HASHED.search(head)
    underlined = underlined_title(head)
    if heading is not None and (not underlined or heading.start() < head.find(underlined)):
        return markdown.without_marks(heading["hashed"])
    return markdown.without_marks(underlined)


_FRONT_TITLE = re.compile(r"^title\s*[:=]\s*(.+)$", re.M | re.I)
_FENCED, _HASHED = (re.compile(f"^{one}", re.M) for one in (markdown.FENCED, markdown.HASHED))


def org_title(head: str) -> str:
    """What #+TITLE says, else the first headline without its state and tags."""
    found = _ORG_TITLE.search(head) or _HEADLINE.search(head)
    return _TAGS.sub("", found[1]).strip() if found else ""


_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]*)$", re.M | re.I)
_HEADLINE = re.compile(r"^\*+[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#\w\][ \t]+)?(\S[^\n]*)$", re.M)
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")


def rst_title(head: str) -> str:
    """What the header of a PEP says, else the first line that is underlined over its whole length."""
    if named := _PEP_TITLE.match(head):
        return named[1]
    for found in _RST_TITLE.finditer(head):
        line = found[1].strip()
        if len(found[2]) * 10 >= len(line) * 9 and not _RULE.match(line):
            return _ROLE.sub(lambda role: role[1] or role[2] or "", line).strip()
    return ""


extract_rst = titled("markdown", rst_title)
_PEP_TITLE = re.compile(r"PEP: \d+\n(?:[A-Z][\w-]*: [^\n]*\n)*?Title: ([^\n]+(?:\n[ ]+[^\n]+)*)")
_SIGN = r"[=\-`:.'\"~^_*+#<>]"
_RST_TITLE = re.compile(rf"^(\S[^\n]*|[ ]\S[^\n]*)\n(({_SIGN})\3{{2,}})[ \t]*$", re.M)
_RULE = re.compile(rf"^({_SIGN})\1{{2,}}\s*$")
_ROLE = re.compile(r":[\w:.+-]+:`([^`<]*?)\s*(?:<[^`>]*>)?`|`{1,2}([^`]*)`{1,2}_{0,2}|[*|]{1,2}")


def latex_title(head: str) -> str:
    r"""The argument of \title, else of the first \chapter or \section, without commands."""
    found = {command[1]: command.end() for command in reversed(list(_LATEX_COMMAND.finditer(head)))}
    for name in ("title", "chapter", "section"):
        if name in found:
            return _MACRO.sub(" ", _argument(head, found[name])).strip()
    return ""


def _of_latex(text: str) -> str:
    r"""The text with the letters that commands make (\"u, {\ss}), without emphasis and hints where to hyphenate."""
    if "\\" not in text:
        return text
    text = _LATEX_LETTER.sub(_latex_letter, text.replace("\\-", ""))
    return _EMPHASIS.sub(r"\1", _BRACED_LETTER.sub(r"\1", text))


extract_latex = titled("document", lambda head: latex_title(_of_latex(head)), _of_latex)


def _latex_letter(found: re.Match[str]) -> str:
    if found[4]:
        return _NAMED_LETTERS[found[4]]
    return normalize("NFC", (found[2] or found[3]) + _ACCENTS[found[1]])


_ACCENTS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331", "k": "\u0328",
    "r": "\u030a",
}  # fmt: skip
_NAMED_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
}  # fmt: skip
_LATEX_LETTER = re.compile(
    r"""(?<!\\)\\(?:(["'`^~=.]|[uvHcdbkr](?=[{ ]))[ ]?(?:\{\\?([A-Za-z])[ ]?\}|\\?([A-Za-z]))"""
    rf"|({'|'.join(_NAMED_LETTERS)})(?:\{{\}}|[ ]|(?![A-Za-z])))"
)
_BRACED_LETTER = re.compile(r"\{([^\x00-\x7f])\}")
_EMPHASIS = re.compile(r"\\(?:emph|text(?:bf|it|sc|tt|sl|sf|rm)|underline)\{([^{}]*)\}")


def _argument(text: str, start: int) -> str:
    """The text from `start` to the brace that closes it, at most 500 characters."""
    depth = 1
    for position in range(start, min(start + 500, len(text))):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return ""


_LATEX_COMMAND = re.compile(r"^[^%\n]*?\\(title|chapter|section)\*?(?:\[[^\]]*\])?\{", re.M)
_MACRO = re.compile(r"\\(?:thanks|footnote|label)\{[^{}]*\}|\\\\|\\[A-Za-z]+\*?|[{}~]")


def extract_source_code(source: Source, limits: Limits) -> Extraction:
    """Source code and configuration: the first line of a Python module's docstring is its title."""
    python = source.name.endswith((".py", ".pyi", ".pyw", ".pyx"))
    return titled("source", docstring_title if python else no_title)(source, limits)


def docstring_title(head: str) -> str:
    """The first line of the docstring of a Python module."""
    found = _DOCSTRING.match(head)
    return found[2].rstrip(".") if found else ""


_DOCSTRING = re.compile(r"(?:\ufeff|[ \t]*#.*\n|[^\S\n]*\n)*+[rRuU]?(\"\"\"|''')\\?\s*+([^\n]*?\S[^\n]*?)\s*(?:\1|\n)")

# Subtitles.


def _of_subtitles(text: str) -> str:
    """What is said, on the lines where it stands: no numbers, times and styles."""
    return _NO_SPEECH.sub("", text).replace("\\N", " ")


extract_subtitles = titled("text", no_title, _of_subtitles)
_NO_SPEECH = re.compile(
    r"^\d+[ \t]*(?=\n(?:\d+:)?\d\d:\d\d[.,]\d)|^(?:\d+:)?\d\d:\d\d[.,]\d+[ \t]+-->[^\n]*"
    r"|^Dialogue:(?:[^,\n]*,){9}|</?[A-Za-z][^<>\n]{0,100}>|<[\d:.]+>|\{\\[^{}\n]*\}",
    re.M,
)

# Manual pages: roff with the man or mdoc macros.


def manual_title(head: str) -> str:
    """What the NAME section of a manual page says ("ls - list directory contents"), else its heading."""
    heading = _ROFF_HEADING.search(head)
    name = _ROFF_NAME.search(head) or heading
    return _without_macros(name[1]).replace('"', "") if heading and name else ""


def _of_manual(text: str) -> str:
    """The text without requests and font changes; without a heading it is plain text."""
    return _without_macros(text) if _ROFF_HEADING.search(text[:TITLE_WITHIN]) else text


extract_manual = titled("text", manual_title, _of_manual)


def _without_macros(text: str) -> str:
    return _ROFF_ESCAPE.sub(_roff_character, _ROFF_REQUEST.sub("", text))


def _roff_character(found: re.Match[str]) -> str:
    if found[1]:
        return _GLYPHS.get(found[1], " ")
    return _ROFF_SIGNS.get(found[2] or "", "")


_ROFF_HEADING = re.compile(r"^[.'](?:TH|Dt)\s+(\S+)", re.M)
_ROFF_NAME = re.compile(r"^\.S[Hh]\s+\"?NAME\"?\s*\n((?:\.Nm[^\n]*\n)+\.Nd[^\n]*|(?:[.'][^\n]*\n)*[^.'\n][^\n]*)", re.M)
_ROFF_REQUEST = re.compile(r"^[.']\\\"[^\n]*|^[.'][ \t]*[A-Za-z]{1,4}\b[ \t]*", re.M)
_ROFF_ESCAPE = re.compile(r"\\(?:f(?:\[\w*\]|\(\w\w|\w)|s[+-]?\d+|\*\(\w\w|\((\w\w)|(.))")
_GLYPHS = {"em": "—", "en": "–", "aq": "'", "dq": '"', "co": "©", "bu": "•", "lq": "“", "rq": "”"}
_ROFF_SIGNS = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " "}

# POD, the documentation format of Perl.


def pod_title(head: str) -> str:
    """The paragraph under =head1 NAME ("perlrun - how to execute the Perl interpreter"), else the first heading."""
    head = _INDEX_ENTRY.sub("", head)  # they may stand alone under NAME, and are never shown
    found = _POD_NAME.search(head) or _POD_HEADING.search(head)
    return _without_codes(found[1]) if found else ""


def _of_pod(text: str) -> str:
    return _without_codes(_POD_COMMAND.sub("", text))


extract_pod = titled("markdown", pod_title, _of_pod)
"""The text without formatting codes, with the lines of the file."""


def _without_codes(text: str) -> str:
    """`text` without formatting codes, two levels deep: C<< a >>, B<I<b>>."""
    for _ in range(2):
        text = _CODE.sub(lambda found: found[1] or found[2] or "", text)
    return _ENTITY.sub(lambda found: _ENTITIES.get(found[1], " "), text)


_POD_NAME = re.compile(r"^=head1[ \t]+NAME\b[^\n]*\n\s*([^=\s][^\n]*(?:\n[^=\s][^\n]*)*)", re.M | re.I)
_POD_HEADING = re.compile(r"^=head[12][ \t]+(\S[^\n]*)$", re.M)
_POD_COMMAND = re.compile(r"^=(?:head\d|item|over|back|pod|cut|encoding|begin|end|for)\b[ \t]*", re.M)
_CODE = re.compile(r"[BICFLSX](?:<<+[ ]([^\n]{0,400}?)[ ]>>+|<([^<>\n]*)>)")
_INDEX_ENTRY = re.compile(r"X<[^<>\n]*>")
_ENTITY = re.compile(r"E<(\w+)>")
_ENTITIES = {"lt": "<", "gt": ">", "verbar": "|", "sol": "/", "quot": '"', "amp": "&"}

# JSON and JSON lines.


def _of_json(text: str) -> str:
    """Keys and strings as written with their escapes undone, so that lines stay lines."""
    if "\\" not in text:
        return text
    return _JSON_ESCAPE.sub(_json_character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


extract_json = titled("data", no_title, _of_json)


def _json_character(found: re.Match[str]) -> str:
    if found[1] is None:
        return _JSON_SIGNS.get(found[2], found[2])
    character = chr(int(found[1], 16))
    return character if character >= " " else " "


_JSON_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_JSON_SIGNS = {"n": " ", "r": " ", "t": " ", "b": " ", "f": " "}
