"""Which old encoding a text without any declaration is in, by how word-like each reading of it is."""

from __future__ import annotations

import re
from collections.abc import Callable

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
        text = read_sample(sample, encoding)
        if text is not None and (found := score(text)) > best_score + 0.02:
            best, best_score = encoding, found
    return best


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


def _share(text: str, letters: str) -> float:
    """How word-like the non-ASCII characters of `text` are: those of `letters` count 1, the rest against it.

    A capital inside a word ("пРИВЕТ", the mark of a wrong Cyrillic table) and two scripts in one word ("ιtude")
    count against it too.
    """
    wide = [c for c in text if c > "\x7f"]
    if not wide:
        return 0.0
    good = sum(1.0 for c in wide if c in letters) + sum(0.8 for c in wide if c not in letters and c.lower() in letters)
    return (good - len(_WRONG_CASE.findall(text)) - len(_MIXED.findall(text))) / len(wide)


_MIXED = re.compile(r"[A-Za-z][^\x00-\x7f]|[^\x00-\x7f][A-Za-z]")
"""A letter of another script in a Latin word"""
_WRONG_CASE = re.compile(r"(?<=[а-яёα-ωà-ÿ])[А-ЯЁΑ-ΩÀ-Þ]")


def _letters(letters: str) -> Callable[[str], float]:
    common = frozenset(letters[: max(12, len(letters) // 2)])

    def score(text: str) -> float:
        share = _share(text, letters)
        wide = [c for c in text if c > "\x7f" and c.isalpha()]
        return share * (0.6 + 0.4 * sum(1 for c in wide if c in common) / max(len(wide), 1))

    return score


def _latin(text: str) -> float:
    """Accented letters standing beside ASCII letters, typographic quotes and dashes."""
    wide = [c for c in text if c > "\x7f"]
    if not wide:
        return 0.0
    good = len(_ACCENT_IN_WORD.findall(text)) + 0.8 * sum(1 for c in wide if c in "«»“”‘’„–—…•€©®°§£±²³µ·½¿¡´\xa0")
    return 0.9 * min(1.0, good / len(wide))


_CENTRAL = re.compile(
    r"(?<=[A-Za-zěščřžýáíéůťďňąćęłńóśźż])[ěščřžýáíéůťďňąćęłńóśźżőű]|[ěščřžýáíéůťďňąćęłńóśźżőűĚŠČŘŽŚŻŁ](?=[a-z])"
)


def _central(text: str) -> float:
    """The letters of Czech, Polish and Hungarian beside ASCII letters."""
    wide = [c for c in text if c > "\x7f"]
    return 0.88 * min(1.0, len(_CENTRAL.findall(text)) / len(wide)) if wide else 0.0


_ACCENT_IN_WORD = re.compile(r"(?<=[A-Za-z])[À-ÖØ-öø-ÿŒœŠšŽž]|[À-ÖØ-öø-ÿŒœŠšŽž](?=[a-z])")


def _kana(text: str) -> float:
    wide = [c for c in text if c > "\x7f"]
    kana = sum(1 for c in wide if "\u3041" <= c <= "\u30fe" or c in "、。「」")
    half = sum(1 for c in wide if "\uff61" <= c <= "\uff9f")
    return (1.2 * (kana - half) / len(wide) + 0.35) if kana * 5 > len(wide) else 0.0


def _hangul(text: str) -> float:
    wide = [c for c in text if c > "\x7f"]
    return sum(1 for c in wide if "\uac00" <= c <= "\ud7a3") / len(wide) if wide else 0.0


def _han(text: str) -> float:
    wide = [c for c in text if c > "\x7f"]
    common = sum(1 for c in wide if c in _HAN_COMMON or c in "，。、：；“”")
    return min(1.0, 6.0 * common / len(wide)) if common * 12 > len(wide) else 0.0


_CANDIDATES: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("cp1252", _latin),
    ("cp850", lambda text: 0.9 * _latin(text)),
    ("cp1250", _central),
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
