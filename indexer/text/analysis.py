"""Text becomes terms with positions: the one tokeniser of index and query.

A raw token is a run of word characters with joints inside ("3.2.20", "foo_bar", "user's", "camelCase"). It
gives one term for each piece at successive positions, the parts of a camel-cased piece at the piece's own
position, and, where pieces are joined by anything but an apostrophe, the whole at the position of its first
piece; a sign of no width between them is left out of it. Terms are lower case without accents; they are not stemmed
(queries are expanded instead). Text in scripts without blanks between words (Chinese, Japanese, Thai ...) and in
Korean gives overlapping pairs of characters, one position each, and its last character.
A longer word than `MAX_TERM_LENGTH` is known by its beginning. What gives no term (an underline) takes no position, so
a phrase is a run of successive positions.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from binascii import crc32
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, wraps
from typing import TypeVar

import numpy as np

from indexer.postings import EMPTY, FieldPostings, Ints, beginnings, few_postings, group_postings

MAX_TERM_LENGTH = 40
"""characters; of a longer word the index holds so many: a git hash as a whole, and the beginning of SHA-256"""
MAX_MEMO = 100_000
"""distinct runs of letters that one process remembers before it starts afresh; each takes about 200 bytes"""

N_REMEMBERED, MAX_REMEMBERED = 10_000, 300
"""size of the cache of results per text, and the longest text cached (characters); a process that stays fills it"""
MAX_RAW_LENGTH = 200
"""characters; longer raw tokens are not remembered, and what follows in a piece cannot be part of its term"""

_SIGNS = "\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_TOKEN = rf"(?:{{0}}+(?:[.\-@'’\u200c]{{0}}+)*(?:\+\+|#(?!\w))?|[{_SIGNS}]|[\U0001f1e6-\U0001f1ff]{{{{2}}}})"
"""a word with what joins and ends it, an emoji without its colour, a flag"""
_RAW = re.compile(_TOKEN.format(r"\w"))
_OPTION = r"(?:(?<!{0})(?<!-)--?(?=[^\W\d_]))?"
_RAW_OPTIONS = re.compile((_OPTION + _TOKEN).format(r"\w"))
_JOINT = re.compile(r"[._\-@'’\u200c]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")

_Made = TypeVar("_Made")


def _remembered(make: Callable[[str], _Made]) -> Callable[[str], _Made]:
    """`make` with a cache of its results for the most recent short texts."""
    known = lru_cache(maxsize=N_REMEMBERED)(make)

    @wraps(make)
    def made(text: str) -> _Made:
        return known(text) if len(text) <= MAX_REMEMBERED else make(text)

    return made


RawTerms = tuple[tuple[tuple[str, int], ...], int]
"""((term, offset of its position), ...), and how many positions the raw token occupies"""

PAIRED = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103e\u1780-\u17d3"
)
"""letters of the scripts that are indexed in pairs: those of East Asia; Thai, Lao, Burmese and Khmer with marks"""
_DIGITS = {zero + n: str(n) for zero in (0x660, 0x6F0, 0x966, 0x9E6) for n in range(10)}
STROKED = str.maketrans("łøđħŧıکیʼ", "lodhtiكي’", "ـ\u200d") | str.maketrans({"œ": "oe", "æ": "ae"}) | _DIGITS
"""replaces letters with a stroke or without a dot, which keyboards may lack; ligatures; Persian letters by the Arabic
ones on keyboards; digits of Arabia, Persia and India. The signs that stretch or join Arabic letters are removed."""
_HALF_WIDTH = re.compile("[ｦ-ﾟ]+")
"""letters of Japanese, in UTF-8 behind a byte EF"""

# Patterns that only text beyond ASCII needs are compiled on first use: compiling takes as long as a query.


@cache
def _cjk() -> re.Pattern[str]:
    """Characters of the scripts that are indexed in pairs."""
    return re.compile(f"[{PAIRED}]+")


SCRIPTS_WITH_DOTS = (0x900, 0x980, 0xA80, 0xB00, 0xC00, 0xC80)
"""the first code points of Indian scripts in which a dot, the third character, stands for a nasal"""
NASALS = (0x19, 0x1E, 0x23, 0x28, 0x2E)
"""offsets of the nasals from the first code point; each is the fifth of its class of consonants"""


@cache
def _nasal() -> re.Pattern[str]:
    """In Indian scripts a nasal before a consonant of its class, or one on a vowel: people write a dot instead."""
    sets = [
        f"{chr(first + own)}{chr(first + 0x4D)}(?=[{chr(first + own - 4)}-{chr(first + own - 1)}])"
        for first in SCRIPTS_WITH_DOTS for own in NASALS
    ]  # fmt: skip
    return re.compile("|".join((*sets, f"[{''.join(chr(first + 1) for first in SCRIPTS_WITH_DOTS)}]")))


@cache
def _mark() -> re.Pattern[str]:
    """Vowel signs and points: not letters, but part of the word they stand in."""
    return re.compile(
        f"[{''.join(c for c in map(chr, range(0x300, 0x1E00)) if unicodedata.category(c) in ('Mn', 'Mc'))}]"
    )


@cache
def _raw_marked() -> re.Pattern[str]:
    return re.compile((_OPTION + _TOKEN).format(rf"[\w{_mark().pattern[1:]}"))


def fold(text: str) -> str:
    """Lower case without accents: "Café" and "CAFE" become "cafe", "Łódź" "lodz". Marks of Thai to Khmer stay."""
    return text.lower() if text.isascii() else _fold(text)


@_remembered
def _fold(text: str) -> str:
    text = text.casefold().translate(STROKED)
    if text.isascii():
        return text
    if max(text) >= "\u0900":
        text = _nasal().sub(lambda nasal: chr(ord(nasal[0][0]) & ~0x7F | 2), text)
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c) or "\u0e00" <= c <= "\u17ff")
    return bare.casefold().translate(STROKED)  # decomposing may give capitals or stroked letters: ℂ is C, ℏ is ħ


def raw_tokens(text: str) -> list[str]:
    """The raw tokens of `text` in order; separate letters and accents are composed first.

    The apostrophe ʼ, a letter to Unicode, counts as any other apostrophe; half-width Japanese becomes full-width; soft
    hyphens, which come with pasted text, and signs that only join letters are dropped.
    """
    if text.isascii():
        return _plain_tokens(text)
    text = unicodedata.normalize("NFC", text).replace("ʼ", "’").replace("\xad", "").replace("\u200d", "")
    text = _HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    return _raw_marked().findall(text) if _mark().search(text) else _plain_tokens(text)


def _plain_tokens(text: str) -> list[str]:
    """The raw tokens of a text that has no marks and nothing to compose."""
    return (_RAW_OPTIONS if "-" in text else _RAW).findall(text)


@_remembered
def raw_terms(raw: str) -> RawTerms:
    """The terms of one raw token, as the module describes."""
    if is_ideographic(raw):
        return _cjk_terms(raw)
    pieces, body, mark = _taken_apart(raw)
    terms: list[tuple[str, int]] = []
    width = 0
    for piece in pieces:
        own = [term for term in _piece_terms(piece) if _worth_keeping(term)]
        terms.extend((term, width) for term in own)
        width += bool(own)
    terms.extend((term, 0) for term in (_whole(pieces, body), mark) if _worth_keeping(term))
    return tuple(dict.fromkeys(terms)), max(width, bool(terms))


def whole_term(raw: str) -> str:
    """The term for a joined raw token as a whole ("foo_bar"); "" where it has none."""
    if is_ideographic(raw):
        return ""
    pieces, body, _ = _taken_apart(raw)
    whole = _whole(pieces, body)
    return whole if _worth_keeping(whole) else ""


def marked_name(raw: str) -> str:
    """The term of a raw token that is a name with a mark, such as C++, -v and __init__; "" for others."""
    return "" if is_ideographic(raw) else _taken_apart(raw)[2]


def is_ideographic(text: str) -> bool:
    """Whether `text` holds a character of a script that is indexed in pairs."""
    return not text.isascii() and _cjk().search(text) is not None


def is_marked(text: str) -> bool:
    """Whether `text` holds vowel signs or points, as Hindi and Hebrew have them."""
    return not text.isascii() and _mark().search(text) is not None


def is_half(term: str) -> bool:
    """Whether `term` is one character of a script that is indexed in pairs; a Korean syllable may be decomposed."""
    whole = unicodedata.normalize("NFC", term)
    return len(whole) == 1 and is_ideographic(whole)


def _taken_apart(raw: str) -> tuple[list[str], str, str]:
    """The pieces, the joined word that they come from, and the name with its mark as in "C++", "-v" and "__init__"."""
    body = raw.rstrip("+#").lstrip("-")
    short = len(body) <= 2 and raw[-1] in "+#"  # in "environment#" it belongs to a link
    pieces = [piece for piece in _JOINT.split(body) if piece]
    is_marked_name = raw[0] == "-" or (bool(pieces) and raw[:2] == raw[-2:] == "__")
    mark = fold(raw.lstrip("-") if short else raw) if short or (is_marked_name and len(raw) <= MAX_TERM_LENGTH) else ""
    if len(pieces) > 1 and pieces[-1] in ("s", "S") and body[-2] in "'’":
        pieces.pop()
        body = body[:-2]
    return pieces, body, mark


def _whole(pieces: list[str], body: str) -> str:
    if len(pieces) < 2 or len(body) > MAX_RAW_LENGTH or "'" in body or "’" in body:
        return ""
    return fold(_JOINT.sub(lambda joint: joint[0][0], body.strip("._-@")).replace("\u200c", ""))


def _piece_terms(piece: str) -> list[str]:
    piece = piece[:MAX_RAW_LENGTH]
    terms = [fold(piece)[:MAX_TERM_LENGTH]]
    if len(piece) > 3 and not piece.islower() and not piece.isupper():
        camel = _CAMEL.findall(piece)
        if len(camel) > 1 and min(map(len, camel)) > 1:
            terms += map(fold, camel)
    return terms


def _worth_keeping(term: str) -> bool:
    return 0 < len(term) <= MAX_TERM_LENGTH


def _cjk_terms(raw: str) -> RawTerms:
    terms: list[tuple[str, int]] = []
    position = start = 0
    for run in _cjk().finditer(raw):
        position = _plain_between(raw[start : run.start()], position, terms)
        text = run.group()
        pairs = [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        terms.extend((fold(pair), position + i) for i, pair in enumerate(pairs))
        position += len(pairs)
        if len(text) > 1:
            terms.append((fold(text[-1]), position - 1))  # every character now begins a term
        start = run.end()
    position = _plain_between(raw[start:], position, terms)
    return tuple(terms), position


def _plain_between(text: str, position: int, terms: list[tuple[str, int]]) -> int:
    found, width = _terms_of(raw_tokens(text))
    terms.extend((term, position + offset) for term, offset in found)
    return position + width


def sequence(text: str) -> list[str]:
    """The terms of `text` in order, one for each position: the pieces, never the wholes or camel parts."""
    return list(words_of(text))


@_remembered
def words_of(text: str) -> tuple[str, ...]:
    """As `sequence`, but cached, for titles and names that come again."""
    words: list[str] = []
    for raw in raw_tokens(text):
        found, width = raw_terms(raw)
        first: dict[int, str] = {}
        for term, offset in found:
            first.setdefault(offset, term)
        words.extend(first[i] for i in range(width))
    return tuple(words)


_SEPARATORS = bytes(c if c >= 0x80 or re.match(r"[\w.\-@'+#]", chr(c)) else 0x20 for c in range(256))
"""what no raw token holds, nor its lookarounds ask about, becomes a blank; UTF-8 beyond ASCII is kept"""
_NOT_MARKED = bytes((*range(0xCC), *range(0xE2, 0x100)))
"""bytes that cannot begin a letter of a block with marks"""
FEW = 24
"""a text of up to this many runs is analysed faster one run at a time"""


def _runs(text: str) -> Sequence[bytes] | Sequence[str]:
    """Pieces of `text` in order, such that the raw tokens of the text are those of its pieces.

    They are runs of UTF-8 without a blank or another separator; where context matters (marks, letters and accents to
    compose), they are the raw tokens themselves.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) != len(text):
        if "ʼ" in text or "\xad" in text or "\u200d" in text or (b"\xef" in data and _HALF_WIDTH.search(text)):
            return raw_tokens(text)
        if not unicodedata.is_normalized("NFC", text):
            return raw_tokens(text)
        if data.translate(None, _NOT_MARKED) and _mark().search(text):
            return raw_tokens(text)
    return data.translate(_SEPARATORS).replace(b". ", b"  ").replace(b"' ", b"  ").split()


class _Memo(dict[bytes | str, int]):
    """Run or raw token -> its number; an unseen one is analysed on first sight."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, run: bytes | str) -> int:
        learn = self._analyzer._learn
        if isinstance(run, str):
            number = learn(*raw_terms(run))
        elif _WORD.fullmatch(bare := _bare(run)):
            number = learn(((bare.lower().decode(), 0),), 1)
        else:
            found = _joined_terms(bare) or _terms_of(_plain_tokens(run.decode("utf-8", "surrogatepass")))
            number = learn(*found)
        if len(run) <= MAX_RAW_LENGTH:
            self[run] = number
        return number


def _bare(run: bytes) -> bytes:
    """A run without signs around it; unchanged if it holds "__", as underscores may be part of it (__init__)."""
    return run if b"__" in run else run.lstrip(b".'@+#").lstrip(b"_").rstrip(b".'@-").rstrip(b"_")


_WORD = re.compile(rb"[a-z0-9]{1,40}|[A-Z]?[a-z]{1,39}|[A-Z0-9]{1,40}|[A-Za-z0-9]{1,3}")
"""only ASCII letters and digits, at most MAX_TERM_LENGTH, surely without camel parts"""
_JOINED = re.compile(rb"[A-Za-z0-9]+(?:[._@\-][A-Za-z0-9]+)*")
_ONE_JOINT = re.compile(r"[._@\-]")


def _joined_terms(run: bytes) -> RawTerms | None:
    """The terms of a run that is clearly one raw token of ASCII letters, digits and joints; None for any other."""
    if len(run) > MAX_TERM_LENGTH or not _JOINED.fullmatch(run):
        return None
    text = run.decode("ascii")
    pieces = _ONE_JOINT.split(text)
    if run.islower():
        terms = dict.fromkeys(zip(pieces, range(len(pieces)), strict=True))
    else:
        terms = dict.fromkeys((term, i) for i, piece in enumerate(pieces) for term in _piece_terms(piece))
    if len(pieces) > 1:
        terms[text.lower(), 0] = None
    return tuple(terms), len(pieces)


def _terms_of(raws: Sequence[str]) -> RawTerms:
    """The terms of several raw tokens in a row."""
    if len(raws) == 1:
        return raw_terms(raws[0])
    terms: list[tuple[str, int]] = []
    position = 0
    for raw in raws:
        found, width = raw_terms(raw)
        terms.extend((term, position + offset) for term, offset in found)
        position += width
    return tuple(terms), position


class Analyzer:
    """Analyses whole texts fast: each distinct run of letters is taken apart once, the rest is array work."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._memo = _Memo(self)
        self._term_numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._hashes = array("q")
        self._starts = array("i", [0])
        self._widths = array("i")
        self._flat_terms = array("i")
        self._flat_offsets = array("i")

    def _learn(self, found: Iterable[tuple[str, int]], width: int) -> int:
        """The number of a run that gives these terms, see `RawTerms`."""
        numbers, terms, flat_terms = self._term_numbers, self._terms, self._flat_terms
        for term, offset in found:
            number = numbers.setdefault(term, len(terms))
            if number == len(terms):
                terms.append(term)
                self._hashes.append(word_hash(term))
            flat_terms.append(number)
            self._flat_offsets.append(offset)
        self._starts.append(len(flat_terms))
        self._widths.append(width)
        return len(self._widths) - 1

    def analyse(self, text: str) -> FieldPostings:
        return self._analyse(text)[0] if text else EMPTY

    def analyse_body(self, text: str) -> tuple[FieldPostings, bytes]:
        """The postings, and the sketch of the text."""
        postings, terms = self._analyse(text)
        return postings, sketch(np.frombuffer(self._hashes, dtype=np.int64)[terms])

    def _analyse(self, text: str) -> tuple[FieldPostings, Ints]:
        """The postings, and the numbers of their terms [n_terms]."""
        if len(self._widths) > MAX_MEMO:
            self._reset()
        runs = _runs(text)
        numbers = map(self._memo.__getitem__, runs)
        if len(runs) <= FEW:
            return self._one_by_one(numbers)
        at = np.fromiter(numbers, dtype=np.int32, count=len(runs))
        widths = np.frombuffer(self._widths, dtype=np.int32)[at]
        starts = np.frombuffer(self._starts, dtype=np.int32)
        firsts = starts[at]
        counts = starts[at + 1] - firsts
        ends = counts.cumsum()
        flat = (firsts - ends + counts).repeat(counts)
        flat += np.arange(flat.size)
        terms = np.frombuffer(self._flat_terms, dtype=np.int32)[flat]
        after = widths.cumsum()
        positions = (after - widths).repeat(counts)
        positions += np.frombuffer(self._flat_offsets, dtype=np.int32)[flat]
        return group_postings(terms, positions, self._terms, int(after[-1]))

    def _one_by_one(self, numbers: Iterable[int]) -> tuple[FieldPostings, Ints]:
        places: dict[int, list[int]] = {}
        position = 0
        for number in numbers:
            for i in range(self._starts[number], self._starts[number + 1]):
                places.setdefault(self._flat_terms[i], []).append(position + self._flat_offsets[i])
            position += self._widths[number]
        postings = few_postings({self._terms[number]: own for number, own in places.items()}, position)
        return postings, np.fromiter(places, dtype=np.int64, count=len(places))


BUCKETS = 128
"""a sketch is so many bytes; at a resemblance of .9 the standard error is .027"""
_BITS, _CODES, _ONE = np.uint64(64 - BUCKETS.bit_length() + 1), np.uint64(255), np.uint64(1)
_MIXERS = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)))
_HAS_DIGIT = frozenset("0123456789")

NO_HASH = -1
"""the hash of a word that is left out of sketches"""


def word_hash(word: str) -> int:
    """A 32-bit hash of a word; NO_HASH for one with digits."""
    return crc32(word.encode("utf-8", "surrogatepass")) if _HAS_DIGIT.isdisjoint(word) else NO_HASH


def sketch(hashes: Ints) -> bytes:
    """The sketch `[BUCKETS]` of words by their hashes [n], which may come several times: one-permutation min-hashing.

    The resemblance of two texts is the Jaccard index of their sets of words, words with digits left out: two bills of
    one firm resemble each other, whatever their numbers. Each word is hashed once; the hashes fall into BUCKETS buckets
    by their highest bits, and each bucket keeps eight bits of its smallest (0: no word fell there). Then

        resemblance ~ buckets that agree / buckets that are used by either text

    is unbiased but for the chance of 1/255 that two different words agree, with standard error sqrt(J (1 - J) / buckets
    used) (Li, Owen and Zhang 2012, One Permutation Hashing, Eq. 2 to 6).
    """
    codes = np.zeros(BUCKETS, dtype=np.uint8)
    hashes = hashes[hashes != NO_HASH]
    if hashes.size:
        mixed = _mixed(hashes.astype(np.uint64))
        mixed.sort()
        buckets = mixed >> _BITS
        first = beginnings(buckets)
        codes[buckets[first]] = mixed[first] % _CODES + _ONE
    return codes.tobytes()


def _mixed(values: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Each of the 64 bits depends on all of a value's: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = values + _MIXERS[0]
    values = (values ^ values >> _MIXERS[1]) * _MIXERS[2]
    values = (values ^ values >> _MIXERS[3]) * _MIXERS[4]
    return values ^ values >> _MIXERS[5]
