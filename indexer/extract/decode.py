"""Bytes to text in any encoding, without ever failing.

The order of evidence: byte order mark, UTF-16/32 by its zero bytes, valid UTF-8, what the document declares,
then whichever old encoding gives the most word-like text.
"""

from __future__ import annotations

import codecs
import re

from indexer.extract.guess import guess, is_ebcdic, read_sample

SAMPLE = 16_384
"""bytes looked at when an encoding must be guessed"""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TEXT_BYTES = bytes([*range(7, 14), 27, *range(32, 256)])
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN = bytes(c for c in range(128) if not _CONTROL.match(chr(c)))
_TO_BLANK = dict.fromkeys([*range(9), 11, *range(14, 32), *range(127, 160)], " ") | {0x85: "\n"}


def is_binary(head: bytes) -> bool:
    """Whether `head` has so many control bytes that it is no text (UTF-16 and EBCDIC are text)."""
    if not head or head.startswith(tuple(mark for mark, _ in _MARKS)) or _wide(head):
        return False
    n_control = len(head.translate(None, _TEXT_BYTES))
    return n_control * 50 > len(head) and not is_ebcdic(head)


def decode(data: bytes, *, declared: str = "", is_cut: bool = False) -> str:
    """The text of `data`; `declared` is the encoding that the document names, `is_cut` forgives a torn last character.

    Never raises: bytes that fit nothing become U+FFFD.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return clean(data[len(mark) :].decode(encoding, "ignore" if is_cut else "replace"))
    if data.isascii() and declared.lower() not in _SEVEN_BIT and not _ESCAPED.search(data[:SAMPLE]):
        return clean(data.decode("ascii"))
    return clean(data.decode(encoding_of(data, declared=declared, is_cut=is_cut), "replace"))


def encoding_of(data: bytes, *, declared: str = "", is_cut: bool = False) -> str:
    """The name of the encoding of `data`, which has no byte order mark; a codec that Python knows."""
    sample = data[:SAMPLE]
    if wide := _wide(sample):
        return wide
    if declared.lower() in _SEVEN_BIT or b"\x1b$B" in sample:
        return "iso2022_jp_2" if b"\x1b$B" in sample else (known_codec(declared) or "utf-8")
    if _mostly_utf8(data, is_cut=is_cut):
        return "utf-8"
    if (named := known_codec(declared)) and _fits(sample, named):
        return named
    return guess(sample)


def known_codec(name: str) -> str:
    """Python's name of the text encoding called `name`, "" when there is none."""
    wanted = name.strip().strip("\"'").lower()
    wanted = {"x-sjis": "cp932", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "latin1": "cp1252"}.get(
        wanted, wanted
    )
    wanted = {"iso-8859-1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "ks_c_5601-1987": "cp949"}.get(
        wanted, wanted
    )
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.:-]{1,30}", wanted) or wanted.startswith(("utf-16", "utf-32", "utf16")):
        return ""
    try:
        info = codecs.lookup(wanted)
        b"a".decode(wanted, "replace")
    except (LookupError, UnicodeError, ValueError):
        return ""
    return "" if info.name.replace("-", "_") in _NO_TEXT else info.name


_NO_TEXT = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined"})
"""Codecs of Python that no document is written in"""


def clean(text: str) -> str:
    """`text` without control characters and lone surrogates, line ends as "\\n"; safe to store and to show."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x08" in text or "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if not (text.encode().translate(None, _PLAIN) if text.isascii() else _CONTROL.search(text)):
        return text
    return text.encode("utf-8", "replace").decode("utf-8").translate(_TO_BLANK)


_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|.\x08")
"""Colour codes of logs and the overstrikes of nroff."""

_ESCAPED = re.compile(rb"\x00|\x1b\$B")
_SEVEN_BIT = frozenset({"iso-2022-jp", "iso-2022-kr", "hz-gb-2312", "utf-7"})


def _wide(head: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, seen by where its zero bytes are; "" when it is neither."""
    sample = head[: min(len(head), 4096) // 4 * 4]
    if len(sample) < 8 or sample.count(0) * 5 < len(sample):
        return ""
    zeros = [sample[i::4].count(0) * 4 / len(sample) for i in range(4)]
    if min(zeros[2], zeros[3]) > 0.95 and zeros[0] < 0.5:
        return "utf-32-le"
    if min(zeros[0], zeros[1]) > 0.95 and zeros[3] < 0.5:
        return "utf-32-be"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.05 else ""


def _mostly_utf8(data: bytes, *, is_cut: bool) -> bool:
    """Whether `data` is UTF-8, also when a few stray bytes of another encoding got into it."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if is_cut and error.start >= len(data) - 3:
            return True
    else:
        return True
    sample = data[: 16 * SAMPLE]
    text = sample.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    n_good = sum(1 for c in text if c > "\x7f") - n_bad
    return n_good > 3 * n_bad


def _fits(sample: bytes, encoding: str) -> bool:
    """Whether `sample` reads without an error in `encoding`, a torn last character aside."""
    text = read_sample(sample, encoding)
    return text is not None and sum(1 for c in text if "\x80" <= c <= "\x9f") * 20 <= len(text)
