"""The line or two of a document that show why it was found.

Matches are found in the text as the index folds it, accents and points dropped even where they are written apart, and
mapped back to the places of its letters: accents, case and ligatures do not matter. Outside Chinese, Japanese and
Korean a match begins and ends at the edge of a word or of a part of a joined one, as the index splits them: `foo` is
found in foo_bar, FooBar and foo.bar, not in food.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from heapq import merge
from itertools import chain, islice, pairwise

import numpy as np
import numpy.typing as npt

from app.search.results import Snippet
from console.printable import UNSAFE, between_letters
from indexer.text.analysis import NASALS, PAIRED, SCRIPTS_WITH_DOTS, fold, is_ideographic, is_marked
from indexer.text.markdown import FENCE_SIGN, HASHES

Span = tuple[int, int]
"""[start, end) offsets in a text"""

MAX_WORDS = 400
"""words looked for; further ones are ignored, so that the pattern stays small"""

_DROPPED = 0x110000
"""stands for a mark that the index leaves out"""
_SYLLABLE = re.compile("[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?")
"""a Korean syllable whose letters are written apart, as in file names on a Mac"""
_INDIAN = "\u0900-\u0963\u0966-\u0dff"
"""letters and vowel signs of India's scripts"""
_DOTS = frozenset(chr(first + 2) for first in SCRIPTS_WITH_DOTS)
"""signs of a nasal, for which India's texts also have the letter"""
_FOLDING = (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0xFFF0), range(0x1D400, 0x1D800))
"""the code points that may fold to something else (but for rarities)"""
_JOINED = (
    range(0xC6, 0xC7), range(0xDF, 0xE7), range(0x132, 0x154), range(0x1C4, 0x1FE), range(0x587, 0x588),
    range(0x675, 0x679), range(0xE33, 0xE34), range(0xEB3, 0xEDE), range(0xF43, 0xF6A), range(0x1E9A, 0x1E9F),
    range(0x1F80, 0x1FFD), range(0x309F, 0x30A0), range(0x30FF, 0x3100), range(0xFB00, 0xFDFC), range(0xFEF5, 0xFEFD),
)  # fmt: skip
"""those of them that contain the letters that fold to several"""
_BETWEEN = r"(?:['’][sS])?[\W_]{1,20}"
"""between the words of a phrase: blanks, punctuation, line ends"""
_LETTERS = {
    "ascii": "[a-zA-Z0-9]", "unicode": r"[^\W_]", "indian": rf"(?!_)[\w{_INDIAN}]", "cjk": rf"[^\W_{PAIRED}]"
}  # fmt: skip
"""what words are made of; in "unicode" and "indian" the text has no CJK left, in "cjk" such words are looked for"""


def matches(text: str, words: Sequence[str], limit: int = 1000) -> tuple[Span, ...]:
    """The first `limit` places of `words` in `text`, ascending, none overlapping another.

    A word is a whole word ("house"), the beginning of one ("hous*") or several in a row ("new house").
    """
    return tuple(islice(find(text, tuple(words)), max(limit, 0)))


def find(text: str, words: tuple[str, ...]) -> Iterator[Span]:
    """The places of `words` in `text`, one after the other."""
    words = words[:MAX_WORDS]
    if text.isascii():
        return _spans(_pattern(words, "ascii"), text)
    plain, places = _index_letters(text, without_cjk=True)
    found = _spans(_pattern(words, "indian" if re.search(f"[{_INDIAN}]", plain) else "unicode"), plain)
    if (overlapping := _pattern(words, "cjk")) is not None:
        letters = _index_letters(text, without_cjk=False)[0]
        merged = _merged(found, _spans(overlapping, letters))
        found = (span for span in merged if not is_marked(letters[span[0]]))  # half a letter of Thai
    return found if places is None else ((int(places[start]), int(places[end])) for start, end in found)


def _spans(pattern: re.Pattern[str] | None, text: str) -> Iterator[Span]:
    if pattern is None:
        return iter(())
    if not pattern.groups:
        return map(re.Match.span, pattern.finditer(text))
    return (match.span(match.lastindex or 0) for match in pattern.finditer(text))


def _merged(one: Iterator[Span], other: Iterator[Span]) -> Iterator[Span]:
    """Both, ascending, with matches that overlap made one."""
    start, end = -1, -1
    for following in merge(one, other):
        if following[0] < end:
            end = max(end, following[1])
            continue
        if end > start:
            yield start, end
        start, end = following
    if end > start:
        yield start, end


def _index_form(text: str) -> str:
    """`text` as the index holds it, Korean syllables put together again."""
    return unicodedata.normalize("NFC", fold(text))


@cache
def _ligatures() -> dict[str, str]:
    """The letters that the index spells out, by their spelling: "fi" is written ﬁ too, "ss" ß and ẞ."""
    signs: dict[str, str] = {}
    for letter in map(chr, chain.from_iterable(_JOINED)):
        if len(spelling := _index_form(letter)) > 1 and unicodedata.category(letter) in ("Ll", "Lu", "Lt", "Lo"):
            signs[spelling] = signs.get(spelling, "") + letter
    return signs


class _FoldedLetters:
    """What each character of the first two planes folds to, case kept; found when a text first has that character.

    _DROPPED for a mark that the index leaves out.
    """

    def __init__(self, *, without_cjk: bool) -> None:
        self._folded = np.arange(0x20000, dtype=np.uint32)
        self._is_known = np.ones(0x20000, dtype=np.bool_)
        for codes in _FOLDING:
            self._is_known[codes.start : codes.stop] = False
        for first, last in re.findall("(.)-(.)", PAIRED) if without_cjk else ():
            self._folded[ord(first) : ord(last) + 1] = ord("·")
            self._is_known[ord(first) : ord(last) + 1] = True
        self._is_known[0x3099:0x309B] = False  # Japan's marks, among its letters

    def folded(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """What characters of these planes fold to, of the same shape."""
        for code in set(codes[~self._is_known[codes]].tolist()):
            self._folded[code] = _folded(code)
            self._is_known[code] = True
        return self._folded[codes]


def _folded(code: int) -> int:
    index_form = _index_form(chr(code))
    if len(index_form) != 1:
        return code if index_form else _DROPPED
    kept = "".join(c for c in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(c))
    return ord(kept if kept.lower() == index_form else index_form)


_letters_of = cache(_FoldedLetters)


def fold_letters(text: str, *, without_cjk: bool = False) -> str:
    """`text` without accents, of the same length; case, ligatures and combining marks are kept."""
    if text.isascii():
        return text
    codes, plain = _folded_codes(text, without_cjk=without_cjk)
    return np.where(plain == _DROPPED, codes, plain).tobytes().decode("utf-32-le", "surrogatepass")


def _folded_codes(text: str, *, without_cjk: bool) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The characters of `text` and what each folds to [n]."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    plain = np.array(codes)
    low = codes < 0x20000
    plain[low] = _letters_of(without_cjk=without_cjk).folded(codes[low])
    return codes, plain


def _index_letters(text: str, *, without_cjk: bool) -> tuple[str, npt.NDArray[np.int64] | None]:
    """`text` as `fold_letters` gives it, but without marks and with each Korean syllable as one letter; and where
    each of its characters begins in `text`, and the last one ends: None where nothing was left out."""
    _, plain = _folded_codes(text, without_cjk=without_cjk)
    if ((plain >= 0x1100) & (plain < 0x1200)).any():
        for syllable in _SYLLABLE.finditer(text):
            start, end = syllable.span()
            plain[start] = ord("·" if without_cjk else unicodedata.normalize("NFC", syllable[0]))
            plain[start + 1 : end] = _DROPPED
    places = None
    if not (kept := plain != _DROPPED).all():
        plain, places = plain[kept], np.append(np.flatnonzero(kept), len(text))
    return plain.tobytes().decode("utf-32-le", "surrogatepass"), places


@lru_cache(maxsize=128)
def _pattern(words: tuple[str, ...], alphabet: str) -> re.Pattern[str] | None:
    """Finds those of `words` that are written in `alphabet`; CJK words, which overlap, in group 1 of a look ahead."""
    cleaned = dict.fromkeys(_index_form(word).strip() for word in words)
    known = sorted((word for word in cleaned if any(c.isalnum() or c > "\x7f" for c in word)), key=len, reverse=True)
    if alphabet == "ascii":
        known = [word for word in known if word.isascii()]
    else:
        known = [word for word in known if (alphabet == "cjk") == is_ideographic(word)]
    if not known:
        return None
    pattern = _alternatives(known, alphabet)
    return re.compile(f"(?=({pattern}))" if alphabet == "cjk" else pattern, re.DOTALL)


def _alternatives(words: Sequence[str], alphabet: str) -> str:
    """One branch for each first letter, longer words first; a class of letters in front lets the scan skip."""
    branches: dict[tuple[str, str], list[str]] = {}
    for word in words:
        starts = [(word[0], word[1:])]
        if alphabet != "ascii":
            starts += [(sign, word[n:]) for n in (2, 3) for sign in _ligatures().get(word[:n], "") if len(word) >= n]
        for first, rest in starts:
            edge = _right_edge(first + rest, alphabet)
            branches.setdefault((first, edge), []).append(_rest(first, rest, alphabet))
    return "|".join(
        f"[{_cases(first)}]{_second(first, words, alphabet)}{_left_edge(first, alphabet)}(?i:{'|'.join(rests)}){edge}"
        for (first, edge), rests in branches.items()
    )


def _second(first: str, words: Sequence[str], alphabet: str) -> str:
    """A look at the second letter, which rules out most places before the dearer look for an edge."""
    seconds = {word[1:2] for word in words if word[0] == first}
    if alphabet != "ascii" or not all(letter.isalnum() for letter in seconds):
        return ""
    return f"(?=[{''.join(_cases(letter) for letter in sorted(seconds))}])"


def _cases(letter: str) -> str:
    cases = {letter, letter.lower(), letter.upper(), letter.title()}
    return "".join(re.escape(case) for case in sorted(cases) if len(case) == 1)


def _left_edge(first: str, alphabet: str) -> str:
    """No letter stands before the first one, which was just read; or a new part of a camel-cased word begins."""
    if is_ideographic(first):
        return ""
    letter = _LETTERS[alphabet]
    return rf"(?:(?<!{letter}.)|(?<=[a-z][A-Z])|(?<=[A-Z][A-Z])(?=[a-z]))" if first.isalnum() else ""


def _right_edge(word: str, alphabet: str) -> str:
    """No letter follows the last one; or a new part of a camel-cased word begins. A prefix takes the letters in."""
    letter, last = _LETTERS[alphabet], word[-1]
    if last == "*":
        return f"{letter}*"
    if is_ideographic(last) or not (last.isalnum() or is_marked(last)):
        return ""
    return rf"(?:(?!{letter})|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"


def _rest(first: str, rest: str, alphabet: str) -> str:
    """The pattern of what follows the first letter: letters, and gaps between the words of a phrase."""
    parts = _overlaps_joined((first + rest.rstrip("*")).split())
    pattern = _letters(parts[0][1:], alphabet)
    for before, part in pairwise(parts):
        is_joined = is_ideographic(before[-1]) or is_ideographic(part[0])  # 3000元: two words without a blank
        pattern += (f"(?:{_BETWEEN})?" if is_joined else _BETWEEN) + _letters(part, alphabet)
    return pattern


def _letters(part: str, alphabet: str) -> str:
    if alphabet == "ascii":
        return re.escape(part)
    signs = _ligatures()
    pattern, at = "", 0
    while at < len(part):
        n = next((n for n in (3, 2) if part[at : at + n] in signs and at + n <= len(part)), 1)
        spelled = part[at : at + n]
        plain = re.escape(spelled)
        if spelled in _DOTS:
            plain = f"[{spelled}{''.join(chr(ord(spelled) - 2 + own) for own in NASALS)}]"
        elif "\u0620" <= spelled <= "\u06ff":
            plain += "\u200c?"
        partly = "|ﬀi|fﬁ" if spelled == "ffi" else "|ﬀl|fﬂ" if spelled == "ffl" else ""
        pattern += plain if n == 1 else f"(?:{plain}|[{signs[spelled]}]{partly})"
        at += n
    return pattern


def _overlaps_joined(parts: list[str]) -> list[str]:
    """Pairs of CJK characters that overlap, as the index cuts them, put together again: 中文 文字 is 中文字."""
    joined = parts[:1]
    for part in parts[1:]:
        if is_ideographic(part[:1]) and joined[-1][-1] == part[0]:
            joined[-1] += part[1:]
        else:
            joined.append(part)
    return joined


FIRST_CHUNK, CHUNK = 40_000, 200_000
"""characters searched first, and then at a time: the search ends at a place with all words"""
MOST_SEARCHED = 3 * CHUNK
"""characters searched from the chunk with the first match on"""
MATCHES_PER_CHUNK = 400
STEM = 4
"""first letters that make words count as forms of one: house, houses, housing"""

_BLANKS = re.compile(r"[\s\ud800-\udfff" + re.escape(re.sub(r"[\ud800-\udfff]", "", UNSAFE)) + "]+")
"""white space, and whatever could disturb a terminal"""
_ASCII_BLANKS = {code: " " for code in range(128) if _BLANKS.match(chr(code))}


def snippet(
    text: str, words: Sequence[str], *, width: int = 160, pages: Sequence[int] = (), title: str = ""
) -> Snippet:
    """At most `width` characters (20 or more) of `text` around the place with most different `words`.

    `words` are as `matches` takes them. A first line that is its `title` is shown only where no other has a word.
    `line` and `page` are those of the first match shown; without one the text's beginning is shown, and both are 0.
    """
    width = max(width, 20)
    spans, behind = _passage(text, words, width, title)
    if not spans:
        line = _squeezed(text[behind:][: 8 * width]).strip()
        cut = line if len(line) <= width and len(text) - behind <= 8 * width else _cut(line, width - 1) + "…"
        return Snippet(cut, (), 0, 0)
    first = spans[0][0]
    start = behind if first >= behind else 0
    shown, marks = _compose(text[start:], [(a - start, b - start) for a, b in spans], width)
    return Snippet(shown, marks, *_place(text, first, pages))


def _behind_title(text: str, title: str) -> int:
    """Where `text` goes on after a first line that repeats its title; 0 without such a line, or without more text."""
    first, _, rest = text.lstrip().partition("\n")
    is_title = title and rest.strip() and _squeezed(first).strip(" #=") == _squeezed(title).strip()
    return len(text) - len(rest) if is_title else 0


_LINE_MARKS = re.compile(
    rf"^(?:[ \t|:=-]{{3,400}}$|{HASHES.pattern}|{FENCE_SIGN}|[ \t]*(?:\||(?P<star>\*)(?=[ \t])))", re.MULTILINE
)
"""rules of tables and under headings; signs of headings; fences of code; a bar before a row's first cell; list stars"""
MOST_UNMARKED = 500_000
"""characters of a note beyond which its marks are left as they are"""


def without_marks(text: str) -> str:
    """`text` (Markdown or plain) with blanks for marks that only say how a line is meant, and bullets for the stars of
    lists, as a preview shows them.

    Its length and words stay, so offsets in it are offsets in `text`.
    """
    if len(text) > MOST_UNMARKED:
        return text
    return _LINE_MARKS.sub(lambda mark: ("•" if mark["star"] else "").rjust(len(mark[0])), text)


def pieces(text: str, words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, none of them empty, and whether each is a match."""
    position = 0
    for start, end in matches(text, words):
        if start > position:
            yield text[position:start], False
        yield text[start:end], True
        position = end
    if position < len(text):
        yield text[position:], False


def passage_snippet(text: str, passage: Span, *, width: int = 160, pages: Sequence[int] = ()) -> Snippet:
    """The beginning of a passage that is wanted whatever words it holds: nothing is marked in it."""
    start, end = passage
    line = _squeezed(text[start:end]).strip()
    before, room = ("…" if text[:start].strip() else ""), max(width, 20) - 2
    cut = line if len(line) <= room and not text[end:].strip() else _cut(line, room) + "…"
    return Snippet(before + cut, (), *_place(text, start, pages))


def _place(text: str, at: int, pages: Sequence[int]) -> tuple[int, int, int]:
    """The line, page (0 without pages) and column of an offset."""
    page = max(1, bisect_right(pages, at)) if pages else 0
    return text.count("\n", 0, at) + 1, page, column_of(text, at)


def column_of(text: str, at: int) -> int:
    """The column of an offset in its line, from 1 and in bytes of UTF-8, as editors and ripgrep count."""
    return len(text[text.rfind("\n", 0, at) + 1 : at].encode("utf-8", "surrogatepass")) + 1


def passage(text: str, words: Sequence[str], *, width: int = 160, title: str = "") -> tuple[Span, ...]:
    """The matches in the place that a snippet of this width shows; () where there is none."""
    return _passage(text, words, max(width, 20), title)[0]


def _passage(text: str, words: Sequence[str], width: int, title: str) -> tuple[tuple[Span, ...], int]:
    """The matches in the best place, and where the text goes on behind its title."""
    behind = _behind_title(text, title)
    for start in sorted({0, behind}, reverse=True):
        if spans := _best_window(text[start:], tuple(words), width * 2 // 3):
            return tuple((start + a, start + b) for a, b in spans), behind
    return (), behind


def _best_window(text: str, words: tuple[str, ...], width: int) -> list[Span]:
    """The matches of the best place: those within `width` characters with most different words."""
    wanted = {_stem(word) for word in words}
    best: list[Span] = []
    highest, n_searched = 0.0, 0
    for start, chunk in _chunks(text):
        spans = list(islice(find(chunk, words), MATCHES_PER_CHUNK))
        score, first, last = _densest(chunk, spans, width)
        if score > highest:
            highest, best = score, [(start + a, start + b) for a, b in spans[first:last]]
        n_searched += len(chunk) if best else 0
        if highest >= len(wanted) or n_searched >= MOST_SEARCHED:
            break
    return best


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Pieces of `text` that end at white space where there is some, and where each begins."""
    start = 0
    while start < len(text):
        end = start + (CHUNK if start else FIRST_CHUNK)
        blank = re.compile(r"\s").search(text, end, end + 1000) if end < len(text) else None
        end = blank.end() if blank else end
        yield start, text[start:end]
        start = end


def _densest(text: str, spans: Sequence[Span], width: int) -> tuple[float, int, int]:
    """The score of the best run of matches within `width` characters, and the run spans[first:last]."""
    found = [text[start:end] for start, end in spans]
    stem_of = {word: _stem(fold_letters(word).casefold()) for word in set(found)}
    stems = [stem_of[word] for word in found]
    is_phrase = {stem: " " in stem for stem in stem_of.values()}
    best = (0.0, 0, 0)
    within: dict[str, int] = {}
    last = 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and (spans[last][1] - start <= width or last == first):
            within[stems[last]] = within.get(stems[last], 0) + 1
            last += 1
        score = len(within) + 1.5 * sum(map(is_phrase.__getitem__, within)) + 0.01 * min(last - first, 9)
        if score > best[0]:
            best = (score, first, last)
        within[stems[first]] -= 1
        if not within[stems[first]]:
            del within[stems[first]]
    return best


def _stem(word: str) -> str:
    """A key by which forms of a word are the same; a phrase keeps its blanks."""
    parts = re.split(r"[\W_]+", word.rstrip("*"))
    return " ".join(part[:STEM] for part in parts) if len(parts) > 1 and " " in _squeezed(word) else word[:STEM]


def _compose(text: str, spans: Sequence[Span], width: int) -> tuple[str, tuple[Span, ...]]:
    """One line of at most `width` characters that shows `spans`, and where they are in it."""
    begin, end = max(0, spans[0][0] - 2 * width), min(len(text), spans[-1][1] + 3 * width)
    line, marks, position = "", [], begin
    for start, stop in spans:
        line += _squeezed(text[position:start])
        match = _squeezed(text[start:stop])
        marks.append((len(line), len(line) + len(match)))
        line += match
        position = stop
    line += _squeezed(text[position:end])
    room = max(0, width - 2 - (marks[-1][1] - marks[0][0]))
    left = max(0, min(marks[0][0] - room // 3, len(line) - (width - 2)))
    left = between_letters(line, _word_start(line, left, marks[0][0]), 1) if left or begin else 0
    if not left and not begin:
        left = len(line) - len(line.lstrip())
    right = left + width - 2
    before = "…" if left or begin else ""
    if not line[:left].strip() and not begin:
        before = ""
    body = _cut(line[left:], right - left, least=marks[-1][1] - left).rstrip()
    after = "…" if left + len(body) < len(line.rstrip()) or end < len(text) else ""
    shift = len(before) - left
    limit = len(before) + len(body)
    kept = tuple((a + shift, min(b + shift, limit)) for a, b in marks if a + shift < limit)
    return before + body + after, kept


def _word_start(line: str, left: int, latest: int) -> int:
    """The beginning of a word at or after `left`, not after `latest`."""
    if left and line[left - 1] == " ":
        return left
    blank = line.find(" ", left, latest)
    return blank + 1 if 0 <= blank <= left + 20 else left


def _cut(line: str, width: int, *, least: int = 0) -> str:
    """The first `width` characters, back to the end of a word when that is near and beyond `least`."""
    if len(line) <= width:
        return line
    blank = line.rfind(" ", max(least, width - 20, 1), width + 1)
    return line[: between_letters(line, width, -1) if blank < 0 else blank]


def _squeezed(text: str) -> str:
    """Each run of blanks as one; of ASCII, which most texts are, in a twentieth of the time."""
    if not text.isascii():
        return _BLANKS.sub(" ", text)
    text = text.translate(_ASCII_BLANKS)
    while "  " in text:
        text = text.replace("  ", " ")
    return text
