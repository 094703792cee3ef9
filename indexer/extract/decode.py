"""Bytes to text in any encoding, without ever failing.

The order of evidence: byte order mark, UTF-16/32 by its zero bytes, valid UTF-8, what the document declares,
then whichever old encoding gives the most word-like text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

SAMPLE = 16_384
"""bytes looked at when an encoding must be guessed"""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ALL_MARKS = tuple(mark for mark, _ in _MARKS)
_TEXT_BYTES = bytes([*range(7, 14), 27, *range(32, 256)])
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN = bytes(c for c in range(128) if not _CONTROL.match(chr(c)))
_TO_BLANK = dict.fromkeys([*range(9), 11, *range(14, 32), *range(127, 160)], " ") | {0x85: "\n"}


def is_binary(head: bytes) -> bool:
    """Whether `head` has so many control bytes that it is no text (UTF-16 and EBCDIC are text)."""
    if not head or head.startswith(_ALL_MARKS) or _wide(head):
        return False
    n_control = len(head.translate(None, _TEXT_BYTES))
    return n_control * 50 > len(head) and not is_ebcdic(head)


def decode(data: bytes, *, declared: str = "", is_cut: bool = False) -> str:
    """The text of `data`; `declared` is the encoding that the document names, `is_cut` forgives a torn last character.

    Never raises: bytes that fit nothing become U+FFFD.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            rest = data[len(mark) :]
            if _is_plain_behind(rest[:SAMPLE], encoding):
                return decode(rest, declared=declared, is_cut=is_cut)
            return clean(rest.decode(encoding, "ignore" if is_cut else "replace"))
    sample = data[:SAMPLE]
    if data.isascii() and declared.lower() not in _SEVEN_BIT and b"\0" not in sample and b"\x1b$B" not in sample:
        return clean(data.decode("ascii"))
    return clean(data.decode(encoding_of(data, declared=declared, is_cut=is_cut), "replace"))


def _is_plain_behind(rest: bytes, encoding: str) -> bool:
    """Whether what stands behind a mark of UTF-16 is plain UTF-8: two stray bytes make no text Chinese."""
    return encoding.startswith("utf-16") and len(rest) > 16 and 0 not in rest and _mostly_utf8(rest, is_cut=True)


def decode_page(data: bytes, number: int) -> str:
    """`data` in the Windows code page `number`; an unknown one is guessed."""
    if number in (65001, 1200):
        return data.decode("utf-8" if number == 65001 else "utf-16-le", "replace")
    codec = known_codec({20127: "cp1252", 28591: "cp1252", 10000: "mac_roman"}.get(number, f"cp{number}"))
    return data.decode(codec, "replace") if codec else decode(data)


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
    wanted = _WIDER.get(wanted, wanted)
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.:-]{1,30}", wanted) or wanted.startswith(("utf-16", "utf-32", "utf16")):
        return ""
    try:
        info = codecs.lookup(wanted)
        b"a".decode(wanted, "replace")
    except (LookupError, UnicodeError, ValueError):
        return ""
    return "" if info.name.replace("-", "_") in _NO_TEXT else info.name


_WIDER = {
    "x-sjis": "cp932", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "latin1": "cp1252",
    "iso-8859-1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252", "ks_c_5601-1987": "cp949",
}  # fmt: skip
"""Encodings that are mostly meant where a narrower one is named"""
_NO_TEXT = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode", "undefined"})
"""Codecs of Python that no document is written in"""


def clean(text: str) -> str:
    """`text` without control characters and lone surrogates, line ends as "\\n"; safe to store and to show.

    Nor are there soft hyphens, which web pages and e-books have within words.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\xad" in text:
        text = text.replace("\xad", "")
    if "\x08" in text or "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if not (text.encode().translate(None, _PLAIN) if text.isascii() else _CONTROL.search(text)):
        return text
    return text.encode("utf-8", "replace").decode("utf-8").translate(_TO_BLANK)


_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|.\x08")
"""Colour codes of logs and the overstrikes of nroff."""

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


_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъ"
_GREEK = "αοιετσνηυρπκμλςωίδόέήάγχθφβξζύώψ"
_ARABIC = "الينمترسبدعفقحكهوجشصخةضذطأغزثىئظإءؤآ"
_HEBREW = "יולהאבשמתרדנחעקכפםגסטצזןףךץ"
_HAN_COMMON = "的一是不了人我在有他这中大来上国和个到说们为子地出道也时年日月本会見行後生同事自社第分方間者業"
_HAN_COMMON += "這國個來說們為時會對發學過經現長後東門開關電話書"


def guess(sample: bytes) -> str:
    """The old encoding whose reading of `sample` looks most like words; cp1252 when nothing does."""
    if is_ebcdic(sample):
        return "cp500"
    best, best_score = "cp1252", 0.0
    for encoding, score in _CANDIDATES:
        text = read_sample(sample, encoding) or ""
        wide = [c for c in text if c > "\x7f"]
        if wide and (found := score(text, wide)) > best_score + 0.02:
            best, best_score = encoding, found
    return best


Score = Callable[[str, list[str]], float]
"""how much a text, and those of its characters that are not ASCII (one at least), look like words"""


def read_sample(sample: bytes, encoding: str) -> str | None:
    """`sample` in `encoding`, a torn last character left out; None when it does not fit."""
    try:
        return sample.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 3:
            return sample.decode(encoding, "replace") if encoding == "cp1252" else None
        return sample[: error.start].decode(encoding, "replace")


def is_ebcdic(head: bytes) -> bool:
    """Whether `head` reads as EBCDIC: blanks at 0x40, hardly a byte below it, letters above 0x80."""
    sample = head[:4096]
    if len(sample) < 32 or sample.count(0x40) * 20 < len(sample):
        return False
    text = sample.decode("cp500")
    return sum(1 for c in text if c.isascii() and (c.isalnum() or c in " .,\n\x85-'\"()")) * 10 > len(text) * 9


def _share(text: str, wide: list[str], letters: str) -> float:
    """How word-like the non-ASCII characters of `text` are: those of `letters` count 1, the rest against it.

    A capital inside a word ("пРИВЕТ", as by a wrong Cyrillic table) and two scripts in one ("ιtude") count against it.
    """
    good = sum(1.0 for c in wide if c in letters) + sum(0.8 for c in wide if c not in letters and c.lower() in letters)
    return (good - len(_WRONG_CASE.findall(text)) - len(_MIXED.findall(text))) / len(wide)


_MIXED = re.compile(r"[A-Za-z][^\x00-\x7f]|[^\x00-\x7f][A-Za-z]")
"""A letter of another script in a Latin word"""
_WRONG_CASE = re.compile(r"(?<=[а-яёα-ωà-ÿ])[А-ЯЁΑ-ΩÀ-Þ]")


def _letters(letters: str) -> Score:
    common = frozenset(letters[: max(12, len(letters) // 2)])

    def score(text: str, wide: list[str]) -> float:
        own = [c for c in wide if c.isalpha()]
        n_common = sum(1 for c in own if c in common)
        return _share(text, wide, letters) * (0.6 + 0.4 * n_common / max(len(own), 1))

    return score


def _latin(text: str, wide: list[str]) -> float:
    """Accented letters standing beside ASCII letters, typographic quotes and dashes."""
    good = len(_ACCENT_IN_WORD.findall(text)) + 0.8 * sum(1 for c in wide if c in "«»“”‘’„–—…•€©®°§£±²³µ·½¿¡´\xa0")
    return 0.9 * min(1.0, good / len(wide))


_CENTRAL = re.compile(
    r"(?<=[A-Za-zěščřžýáíéůťďňąćęłńóśźż])[ěščřžýáíéůťďňąćęłńóśźżőű]|[ěščřžýáíéůťďňąćęłńóśźżőűĚŠČŘŽŚŻŁ](?=[a-z])"
)
"""the letters of Czech, Polish and Hungarian beside ASCII letters"""

_ACCENT_IN_WORD = re.compile(r"(?<=[A-Za-z])[ß-öø-ÿœšž]|(?<=[A-Z])[À-ÖØ-ÞŒŠŽ]|(?<![a-z])[À-ÖØ-öø-ÿŒœŠšŽž](?=[a-z])")


def _kana(_: str, wide: list[str]) -> float:
    kana = sum(1 for c in wide if "\u3041" <= c <= "\u30fe" or c in "、。「」")
    half = sum(1 for c in wide if "\uff61" <= c <= "\uff9f")
    return (1.2 * (kana - half) / len(wide) + 0.35) if kana * 5 > len(wide) else 0.0


def _hangul(text: str, wide: list[str]) -> float:
    return (sum(1 for c in wide if "\uac00" <= c <= "\ud7a3") - len(_MIXED.findall(text))) / len(wide)


def _han(_: str, wide: list[str]) -> float:
    common = sum(1 for c in wide if c in _HAN_COMMON or c in "，。、：；“”")
    return min(1.0, 6.0 * common / len(wide)) if common * 12 > len(wide) else 0.0


_CANDIDATES: tuple[tuple[str, Score], ...] = (
    ("cp1252", _latin),
    ("cp850", lambda text, wide: 0.9 * _latin(text, wide)),
    ("mac_roman", lambda text, wide: 0.87 * _latin(text, wide)),
    ("cp1250", lambda text, wide: 0.88 * min(1.0, len(_CENTRAL.findall(text)) / len(wide))),
    ("cp932", _kana),
    ("euc_jp", _kana),
    ("cp949", _hangul),
    ("gb18030", _han),
    ("big5", _han),
    ("cp1251", _letters(_CYRILLIC)),
    ("koi8-r", _letters(_CYRILLIC)),
    ("cp866", _letters(_CYRILLIC)),
    ("cp1253", _letters(_GREEK)),
    ("cp1256", _letters(_ARABIC)),
    ("cp1255", _letters(_HEBREW)),
)
