"""Other ways in which the index may write a word of a query.

Other forms and compounds of a word; a day, a number or a code in groups or as one; an umlaut as two letters; two words
as one, and one as two. The index stays as it is: each variant is looked up in it, and counts where it occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import combinations, pairwise, takewhile
from unicodedata import normalize

import numpy as np
from msgspec.structs import replace

from indexer.postings import Mask
from indexer.query.nodes import And, Node, Query, Word
from indexer.retrieval.adjacency import adjacent, in_groups, phrase_starts
from indexer.retrieval.dates import MONTH_NAMES, MONTHS, date_spellings, moment_spellings
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import fold, is_half, marked_name, raw_tokens, sequence
from indexer.text.language import FLEETING, LANGUAGES, PREFIXING, stem

Fields = tuple[str, ...]
"""fields of the index in which a word is looked for"""
Ways = tuple[tuple[str, ...], ...]
"""ways to write a word, each as terms in a row"""

MAX_COMPLETIONS = 24
"""most completions of one prefix"""
MAX_PAIRS = 500
"""most pairs that begin with one character; each takes half a millisecond, once"""
MAX_NAMES = 2_000
"""most numbers in names that begin with a typed one"""
WRITTEN_IN = ("title", "body", "name")
"""fields in which variants of a word are looked for"""


def is_known(snapshot: Snapshot, term: str, fields: Fields) -> bool:
    """Whether a document holds the term in one of the fields."""
    return any(snapshot.document_frequency(field, term) for field in fields)


def completions(snapshot: Snapshot, prefix: str, fields: Fields) -> tuple[str, ...]:
    """`prefix` itself and the most frequent indexed words that begin with it."""
    question = ("completions", prefix, fields)
    return snapshot.keep(question, lambda: _beginning(snapshot, prefix, fields, most=MAX_COMPLETIONS))


def pairs(snapshot: Snapshot, half: str, fields: Fields) -> tuple[str, ...]:
    """A character and the indexed pairs that begin with it, the most frequent first: each of them holds the word."""
    whole = normalize("NFC", half)
    question = ("pairs", half, fields)
    return snapshot.keep(question, lambda: _beginning(snapshot, half, fields, most=MAX_PAIRS, letter=whole))


def _beginning(snapshot: Snapshot, prefix: str, fields: Fields, *, most: int, letter: str = "") -> tuple[str, ...]:
    """`prefix` and the most frequent indexed words that begin with it, and with `letter`: 가 does not begin 각."""
    total = Counter({prefix: 1 << 40})
    for field in fields:
        total.update(snapshot.terms_with_prefix(field, prefix))
    own = (term for term in total if normalize("NFC", term)[0] == letter) if letter else total
    return tuple(nsmallest(most, own, key=lambda term: (-total[term], term)))


def in_phrase(snapshot: Snapshot, text: str, fields: Fields, *, exact: bool) -> list[tuple[str, ...]]:
    """For each place of a phrase the terms that may stand there: its last character may be the first of a pair.

    A name with a mark, such as -v, keeps the mark if a document has it like that.
    """
    words: list[str] = []
    for raw in raw_tokens(text):
        mark = marked_name(raw)
        words += (mark, *sequence(raw)[1:]) if mark and is_known(snapshot, mark, fields) else sequence(raw)
    if not (exact or text.isascii()):
        cut, joined = _with_affixes(snapshot, words, fields)
        found = (own for own in (words, cut, joined) if any(phrase_starts(snapshot, f, own).size for f in fields))
        words = next(found, words) if words else words
    ways: list[tuple[str, ...]] = [(word,) for word in words]
    return [*ways[:-1], pairs(snapshot, words[-1], fields)] if not exact and words and is_half(words[-1]) else ways


def _with_affixes(snapshot: Snapshot, words: list[str], fields: Fields) -> tuple[list[str], list[str]]:
    """Words in a row with their Persian affixes apart, and with those joined."""
    cut, joined = list[str](), list[str]()
    for before, word in pairwise(["", *words]):
        cut += next(iter(_affix_apart(snapshot, word, fields)), (word,))
        is_affix = joined and not AFFIXES.isdisjoint((word, before))
        joined = [*joined[:-1], joined[-1] + word] if is_affix else [*joined, word]
    return cut, joined


def _affix_apart(snapshot: Snapshot, word: str, fields: Fields) -> Ways:
    """The ways to cut a Persian affix off a word, both known."""
    ways = ((word[:n], word[n:]) for n in range(2, len(word) - 1))
    return tuple(w for w in ways if not AFFIXES.isdisjoint(w) and all(is_known(snapshot, own, fields) for own in w))


# Stems and compounds

MAX_FORMS = 12
"""most indexed forms of one stem; the most frequent are taken"""
LONGER = 7
"""most letters by which another form of a word may be longer"""
WHOLE = 0.1
"""a typed word in at least this share as many documents as its commonest completion is taken as finished"""
OWN_FIELDS = ("body", "title")
"""fields in the language of their document"""
LEAST_PART, LEAST_BESIDE = 6, 4
"""least letters of a word looked for in compounds, and of the rest beside it: not "mitarbeiter" for "arbeit" """


class WordForms:
    """The words of an index that share a stem with a word of a query."""

    def __init__(self, snapshot: Snapshot, languages: tuple[str, ...], own_languages: tuple[str, ...]) -> None:
        """Words are stemmed by `languages` everywhere, by `own_languages` in the documents of each."""
        self._snapshot, self._languages, self._own_languages = snapshot, languages, own_languages
        self._begun = lru_cache(maxsize=16)(snapshot.terms_with_prefix)
        """cached, as the forms of a word in several languages mostly begin alike"""

    def of_stem(self, word: str, among: Collection[str] = LANGUAGES) -> tuple[str, ...]:
        """Indexed words other than `word` with the same stem in one of the languages, the most frequent first."""
        languages = tuple(code for code in self._languages if code in among)
        if len(word) < 3 or not word.isalpha():
            return ()

        def look_up() -> tuple[str, ...]:
            found: dict[str, int] = {}
            for language in languages:
                for field in (*OWN_FIELDS, "name", "path"):
                    for term in self._same_stem(field, word, language) - {word}:
                        found[term] = max(found.get(term, 0), self._snapshot.document_frequency(field, term))
            return tuple(sorted(found, key=lambda term: (-found[term], term))[: MAX_FORMS - 1])

        return self._snapshot.keep(("stem", word, languages), look_up)

    def in_own_languages(self, word: str, *, known: frozenset[str]) -> tuple[tuple[int, str], ...]:
        """The words in each language's documents with the same stem there, except those known; most frequent first."""

        def look_up() -> tuple[tuple[int, str], ...]:
            found: dict[tuple[int, str], int] = {}
            for language in self._own_languages:
                number = LANGUAGES.index(language)
                for field in OWN_FIELDS:
                    for term in self._same_stem(field, word, language) - known:
                        n = int(np.count_nonzero(in_language(self._snapshot, field, term, number)))
                        found[number, term] = max(found.get((number, term), 0), n)
            return _most_frequent(found, MAX_FORMS - 1)

        return self._snapshot.keep(("own stem", word, self._own_languages, known), look_up)

    def _same_stem(self, field: str, word: str, language: str) -> set[str]:
        """The indexed words with the stem of `word`; in prefixing languages the stem may stand inside a word."""
        root = stem(word, language)
        if language in PREFIXING:  # the last letter may have another form at the end of a word
            terms: Iterable[str] = {term for own in self._snapshot.term_lists(field) for term in own.holding(root[:-1])}
        else:
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(root, word, strict=False)))
            is_changing = root[-1:] in ("e", "i", "y") or language in FLEETING
            terms = self._begun(field, word[: max(2 if root[-1:] == "e" else 3, shared - is_changing)])
        terms = (term for term in terms if len(term) <= len(word) + LONGER)
        if language == "tr":  # a suffix is easily taken from a bare word: fatura and faturanın give fatur and fatura
            return {term for term in terms if {term, stem(term, language)} & {word, root}}
        return {term for term in terms if stem(term, language) == root}


def compounds(snapshot: Snapshot, word: str, languages: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """The words in each language's documents that join the stem of `word` with other words, most frequent first."""
    found: dict[tuple[int, str], int] = {}
    for language in languages:
        root, number = stem(word, language), LANGUAGES.index(language)
        for field in WRITTEN_IN if len(root) >= LEAST_PART else ():
            for term in {term for own in snapshot.term_lists(field) for term in own.holding(root)}:
                at = term.find(root)
                if at >= LEAST_BESIDE or (at == 0 and len(term) > len(root) + LEAST_BESIDE):
                    n = int(np.count_nonzero(in_language(snapshot, field, term, number)))
                    found[number, term] = max(found.get((number, term), 0), n)
    return _most_frequent(found, MAX_COMPLETIONS)


def _most_frequent(found: dict[tuple[int, str], int], limit: int) -> tuple[tuple[int, str], ...]:
    return tuple(sorted((one for one in found if found[one]), key=lambda one: (-found[one], one))[:limit])


def in_language(snapshot: Snapshot, field: str, term: str, language: int) -> Mask:
    return np.asarray(snapshot.documents["language"][snapshot.postings(field, term).docs] == language)


def other_endings(
    snapshot: Snapshot, word: str, fields: tuple[str, ...], forms: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The completions of an indexed word; none if so many documents hold it that it is surely finished."""

    def held(term: str) -> int:
        return max(snapshot.document_frequency(field, term) for field in fields)

    others = [term for term in completions(snapshot, word, fields) if term not in forms]
    if not others or max(map(held, forms)) >= WHOLE * held(others[0]):
        return ()
    return tuple((term,) for term in others)


# Days, numbers and codes

_JOINTS, LONG_NUMBER = re.compile(r"[\W_]+"), re.compile(r"[a-z]{0,4}\d{6,}")
"""numbers of telephones, accounts, orders; shorter ones may have a point or comma before three digits: 48,500"""
_MIXED = re.compile(r"(?=\D*\d)(?=\d*[^\W\d_])[^\W_]{2,40}")
"""a number and its unit, a catalogue and its number, a licence plate: 23kg, bwv227"""
_CODE, _ABBREVIATION = re.compile(r"\w+(?:[-.,:/]\w+)*"), re.compile("[^\\W\\d_]+(?:[-.\u200c][^\\W\\d_]+)+")
_VERSION, _AROUND = re.compile(r"(v?)(\d+(?:\.\d+)+)"), "$€£¥₹%.,;:"
"""3.11 is v3.11, too; what stands beside a number or a word and is no part of it"""
_YEAR = re.compile(r"(19|20)\d\d")
LONG_CODE = 8
"""characters; a code of so many is looked for in groups and as one even if a document holds it as typed"""
_AMOUNT = re.compile(r"(\d{1,3}(?:[.,'’]\d{3})+|0|[1-9]\d*)(?:[.,](\d\d))?")
_HASH, _ABBREVIATED_TO = re.compile("(?=.*\\d)[0-9a-f]{32,64}"), range(7, 17)
"""of which texts may hold only so many digits"""
_ADDRESS = re.compile(r"(?:https?://(?:www\.)?|www\.)(\w.*?)/?")
_COUNTRY = re.compile(r"(?:\+|00)(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})0?(?=\d{6})")
"""before a telephone number: how to call its country from others"""
_DIALLED, LONGEST_COUNTRY = re.compile(r"0[1-9]\d{7,12}"), 5
LEAST_COMPLETED = 4
"""least characters of a code that is looked for as the beginning of others"""


AFFIXES = frozenset(["مي", "نمي", "ها", "هاي", "هايي", "تر", "ترين"])
"""affixes that Persian writes apart, joined, or joined by a sign of no width; folded"""
DOTTED = range(3, 7)
"""letters of a word that may stand with a dot behind each: USA as U.S.A.; `am` is no time of day"""


def spellings(snapshot: Snapshot, text: str, fields: Fields) -> Ways:
    """How the index also writes a day, a time, a number, a code, a size or an abbreviation: 19.3.2019 as 2019-03-19,
    14:30 as 2:30pm, wi-fi as wifi, USA and U.S.A. as each other, 60×120 as 60x120, 3.11 as v3.11, in groups or as one;
    a telephone number at home and from abroad; a web address without www; an unknown code as those that begin with it.
    """
    typed = fold(text).strip(_AROUND).replace("×", "x")
    if address := _ADDRESS.fullmatch(typed):
        return (tuple(sequence(address[1])),)
    number = _JOINTS.sub("", typed)
    if number.isalpha() and not _ABBREVIATION.fullmatch(typed):
        ways, dotted = _affix_apart(snapshot, typed, fields), ".".join(typed)
        return (*ways, (dotted,)) if len(typed) in DOTTED and is_known(snapshot, dotted, fields) else ways
    if number.isalpha():
        return ((number,),) if is_known(snapshot, number, fields) else ()

    def look_up() -> Ways:
        ways, sides = [*moment_spellings(typed)], typed.split("x")
        if version := _VERSION.fullmatch(typed):
            ways.append(tuple(sequence(version[2] if version[1] else f"v{typed}")))
        elif len(sides) > 1 and all(map(str.isdecimal, sides)) and typed[0] != "0":
            ways.append((typed,) if is_known(snapshot, typed, fields) else tuple(sides))
        is_held = is_known(snapshot, typed, fields)
        if (amount := _AMOUNT.fullmatch(typed)) and not (is_held and _YEAR.fullmatch(typed)):
            whole, cents = _JOINTS.sub("", amount[1]), amount.groups()[1:] if amount[2] else ()
            ways += [(whole, *cents), (*f"{int(whole):,}".split(","), *cents)]
        ways.append((typed.removeprefix("0x") if typed.startswith("0x") else f"0x{typed}",))
        if _HASH.fullmatch(number):
            ways += [(number[:n],) for n in _ABBREVIATED_TO]
        found = [way for way in ways if all(is_known(snapshot, term, fields) for term in way)]
        is_code = _MIXED.fullmatch(number) and _CODE.fullmatch(typed) and (len(number) >= LONG_CODE or not is_held)
        if is_code or (LONG_NUMBER.fullmatch(number) and not (amount and amount[2])):
            found += number_spellings(snapshot, typed, fields)
            if is_code and not (found or is_held) and len(typed) >= LEAST_COMPLETED:
                found = [(term,) for term in completions(snapshot, typed, fields)[1:]]
        return tuple(way for way in dict.fromkeys(found) if way != tuple(sequence(text)))

    return snapshot.keep(("spellings", typed, fields), look_up)


def number_spellings(snapshot: Snapshot, typed: str, fields: Fields) -> Ways:
    """A number as one and in groups, with and without its leading zeros, and the country of a telephone number."""
    return snapshot.keep(("number", typed, fields), lambda: tuple(_number_spellings(snapshot, typed, fields)))


def _number_spellings(snapshot: Snapshot, typed: str, fields: Fields) -> Iterable[tuple[str, ...]]:
    number = _JOINTS.sub("", typed)
    country = _COUNTRY.match(f"+{number}" if typed[0] == "+" else number)
    home = number[country.end() - (typed[0] == "+") :] if country else ""
    if _DIALLED.fullmatch(number):
        for term in {
            term for field in WRITTEN_IN for own in snapshot.term_lists(field) for term in own.holding(number[1:])
        }:
            if term.isdecimal() and term.endswith(number[1:]) and len(term) < len(number) + LONGEST_COUNTRY:
                yield (term,)
    for own in dict.fromkeys((number, number.lstrip("0"), *((home, f"0{home}") if home else ()))):
        if own != typed and is_known(snapshot, own, fields):
            yield (own,)
        for field in WRITTEN_IN:
            if field in fields:
                yield from in_groups(snapshot, field, own)


def numbers_going_on(snapshot: Snapshot, number: str) -> tuple[str, ...]:
    """The numbers in file names that begin with `number`, a year or longer: 2026 is the beginning of 20260815."""
    if not (number.isdecimal() and 4 <= len(number) < 8):
        return ()
    return snapshot.keep(
        ("going on", number),
        lambda: tuple(term for term in snapshot.terms_with_prefix("name", number, MAX_NAMES) if term.isdecimal()),
    )


# Letters

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_HAVING_UMLAUTS, MOST_UMLAUTS = frozenset({"de", "sv", "da", "no", "fi"}), 3
"""languages that also write umlauts as two letters, and how many of these a word may have at most"""
_APOSTROPHE = re.compile("['\u2019]")
_CONTRACTED = frozenset(["d", "ll", "m", "re", "s", "t", "ve"])
"""remnants of a word after an apostrophe: I'd, we'll, don't"""
_ELIDED = frozenset(["c", "d", "j", "l", "m", "n", "qu", "s", "t"])
"""remnants before one: l'école, d'accordo, qu'il"""


def in_two_letters(raw: str) -> list[str]:
    """A word with its umlauts as two letters each; [] if it has none."""
    spelt_out = fold(raw.lower().translate(_UMLAUTS))
    return [] if spelt_out == fold(raw) else [spelt_out]


def in_one_letter(snapshot: Snapshot, word: str, fields: Fields, languages: Iterable[str]) -> tuple[str, ...]:
    """The indexed words that `word` spells if some ae, oe or ue stand for umlauts, in languages that have them."""
    places = [match.end() for match in re.finditer("(?=[aou]e).", word)]
    if not 0 < len(places) <= MOST_UMLAUTS or _HAVING_UMLAUTS.isdisjoint(languages):
        return ()
    chosen = [own for n in range(1, len(places) + 1) for own in combinations(places, n)]
    found = ["".join(c for i, c in enumerate(word) if i not in own) for own in chosen]
    return tuple(term for term in found if len(term) > 3 and is_known(snapshot, term, fields))


def beside_apostrophes(raw: str) -> list[tuple[str, bool]]:
    """The words that apostrophes join, and whether each is only a remnant: l'école gives l (True) and école (False)."""
    *before, last = _APOSTROPHE.split(raw)
    is_not = fold(last) == "t"
    return [*((word, is_not or fold(word) in _ELIDED) for word in before), (last, is_not or fold(last) in _CONTRACTED)]


# Two words as one, and one as two

JOINTS, MOST_ONE, MOST_FIRST, MOST_LAST = "-.", 12, 4, 3
"""what may stand between two words that are also written as one, most letters of that, and of its first or last part:
e-mail, node.js, front-end"""


def with_joint(snapshot: Snapshot, word: str) -> tuple[str, ...]:
    """The indexed words that are `word` with a joint inside."""
    if not (LEAST_JOINED < len(word) <= MOST_ONE and word.isascii() and word.isalpha()):
        return ()
    cut = (way for way in splits(word, 1) if len(way[0]) <= MOST_FIRST or len(way[1]) <= MOST_LAST)
    ways = (f"{first}{joint}{last}" for first, last in cut for joint in JOINTS)
    return snapshot.keep(
        ("joint", word), lambda: tuple(way for way in ways if is_known(snapshot, way, ("body", "name")))
    )


COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "fi"})
"""languages that write several words as one"""
LINKS = ("", "s", "n", "es", "en", "er", "e")
"""letters that may join two words: Hochzeit-s-vertrag"""
LEAST_OF_TWO = 4
"""least letters of each of two words that compose one"""
LEAST_IN_ROW = 3
"""least letters of each of two words in a row that may be typed as one"""


def splits(word: str, least: int) -> list[tuple[str, str]]:
    """A word cut in two at each place, with at least so many letters on both sides."""
    return [(word[:at], word[at:]) for at in range(least, len(word) - least + 1)]


def two_words(word: str, n_holding: Callable[[str], int]) -> tuple[str, ...]:
    """The two indexed words that compose `word`: of several pairs that whose rarer word is most frequent; or ()."""
    found = list[tuple[int, str, str]]()
    for first, last in splits(word, LEAST_OF_TWO):
        if n_last := n_holding(last):
            stems = [first.removesuffix(link) for link in LINKS if first.endswith(link)]
            counted = [(n_holding(own), own) for own in stems if len(own) >= LEAST_OF_TWO]
            found += [(min(n, n_last), own, last) for n, own in counted if n]
    return max(found, default=(0,))[1:]


MAX_JOINED = 8
"""most words of a query whose neighbours are joined; a longer one is a sentence"""
LEAST_JOINED, LEAST_BOTH = 3, 7
"""least letters of a word that is joined with its neighbour, and of both: kick off"""
LEAST_OF_CODE, MOST_OF_CODE = 5, 8
"""least characters of a code typed in groups, and its most groups: WTB 8823 K1907"""
_FIRST, _GROUP = re.compile(r"(?:[A-Za-z]{0,4}|\+)\d+(?:[-./]\d+)*"), re.compile(r"\d+(?:[-./]\d+)*")


def with_neighbours(query: Query, snapshot: Snapshot, languages: Iterable[str]) -> Query:
    """A short query with its neighbours also joined: a number in groups that the index holds as one word or in other
    groups; words with the one that they make, as database for data base, take2 for take 2 and, in languages that join
    words, mietvertrag for vertrag miet; months beside years."""
    if not isinstance(query.root, And) or len(query.root.children) > MAX_JOINED:
        return query
    links = () if COMPOUNDING.isdisjoint(languages) else LINKS
    children = _moments_joined(list(query.root.children), snapshot)
    made = [tuple[str, ...]()] * len(children)
    for n in range(2, MOST_OF_CODE + 1):
        for i in range(len(children) - n + 1):
            words = [own for own in children[i : i + n] if isinstance(own, Word) and own.is_plain]
            in_one = _in_one(snapshot, [fold(word.text) for word in words], links) if len(words) == n else ()
            made[i : i + n] = [own + in_one for own in made[i : i + n]]
    children = [replace(own, made=words) if isinstance(own, Word) and words else own
                for own, words in zip(children, made, strict=True)]  # fmt: skip
    children = _numbers_joined(children, snapshot)
    for i in range(len(children) - 1):
        children[i : i + 2] = _month_and_year(children[i], children[i + 1], snapshot)
    root = replace(query.root, children=tuple(children)) if len(children) > 1 else children[0]
    return replace(query, root=root)


def _moments_joined(children: list[Node], snapshot: Snapshot) -> list[Node]:
    """Words that are a day or a time, as March 6, 2024 and 2:30 pm, as one if the index writes it in a row."""
    for n in (5, 4, 3, 2):
        for i in range(len(children) - n + 1):
            words = [own for own in children[i : i + n] if isinstance(own, Word) and own.is_plain]
            day = " ".join(word.text for word in words) if len(words) == n else ""
            ways = [[(term,) for term in way] for way in moment_spellings(fold(day))] if re.search(r"\d", day) else []
            if any(adjacent(snapshot, field, way).size for way in ways for field in WRITTEN_IN):
                position, end = words[0].position, words[-1].position + words[-1].length
                return [*children[:i], Word(day, position=position, length=end - position), *children[i + n :]]
    return children


def _numbers_joined(children: list[Node], snapshot: Snapshot) -> list[Node]:
    start = 0
    while start < len(children):
        words = list[Word]()
        for own in children[start:]:
            if not (isinstance(own, Word) and own.is_plain) or own.made:
                break
            if not (_GROUP if words else _FIRST).fullmatch(own.text):
                break
            words.append(own)
        for n in range(len(words), 1, -1):
            number, end = " ".join(fold(word.text) for word in words[:n]), words[n - 1].position + words[n - 1].length
            is_long = LONG_NUMBER.fullmatch(_JOINTS.sub("", number))
            if is_long and {*number_spellings(snapshot, number, WRITTEN_IN)} - {tuple(sequence(number))}:
                position = words[0].position
                children = [*children[:start], Word(number, position=position, length=end - position),
                            *children[start + n :]]  # fmt: skip
                break
        start += 1
    return children


_MONTH_NUMBER, _SHORT_YEAR = map(re.compile, (r"0[1-9]|1[0-2]", r"['\u2019]?(\d\d)"))


def _month_and_year(first: Node, second: Node, snapshot: Snapshot) -> tuple[Node, Node]:
    """Two neighbours; if they are a month and a year, the month also by its other names, the year in full, and both as
    one number: nov 2024, 2024 nov, 11 2024, nov 24, 20241103."""
    if not (isinstance(first, Word) and isinstance(second, Word) and first.is_plain and second.is_plain):
        return first, second
    is_turned = bool(_YEAR.fullmatch(first.text))
    named, beside = (second, first) if is_turned else (first, second)
    year, month = beside.text, MONTHS.get(fold(named.text), 0)
    if _YEAR.fullmatch(year):
        month = int(first.text) if _MONTH_NUMBER.fullmatch(first.text) else month
    elif month and (short := _SHORT_YEAR.fullmatch(year)):
        year = f"20{short[1]}"
        if is_known(snapshot, year, WRITTEN_IN) or numbers_going_on(snapshot, year):
            beside = replace(beside, made=(*beside.made, year))
    if not (month and _YEAR.fullmatch(year)):
        return first, second
    both = (way[0] for way in date_spellings(f"{month}/{year}") if len(way) == 1)
    known = [own for own in (*MONTH_NAMES[month], *both) if is_known(snapshot, own, WRITTEN_IN)]
    named = replace(named, made=(*named.made, *(own for own in known if own not in named.made)), month=month)
    beside = replace(beside, made=(*beside.made, *(own for own in known if own.isdecimal())))
    return (beside, named) if is_turned else (named, beside)


def _are_one(snapshot: Snapshot, words: list[str]) -> bool:
    """Whether two words surely make one: by a Persian affix, by a joint somewhere, or as one of them is nowhere."""
    joined = any(is_known(snapshot, joint.join(words), WRITTEN_IN) for joint in JOINTS)
    return not AFFIXES.isdisjoint(words) or joined or not all(is_known(snapshot, own, WRITTEN_IN) for own in words)


def _in_one(snapshot: Snapshot, words: list[str], links: Iterable[str]) -> tuple[str, ...]:
    """The indexed words that neighbours make when joined: two words, or the groups of a code."""
    first, last, whole = words[0], words[-1], "".join(words).replace(",", ".")
    found = list[str]()
    if whole.isalpha() and len(words) == 2:
        found = [whole] if _are_one(snapshot, words) else []
        if min(map(len, words)) >= LEAST_JOINED and len(whole) >= LEAST_BOTH:
            found = [whole, *(a + link + b for a, b in ((first, last), (last, first)) for link in links)]
    elif not whole.isalpha() and not whole.isdecimal() and whole.replace(".", "").isalnum():
        is_numbered = len(words) == 2 and len(whole) > LEAST_JOINED and first.isalpha() and last.isdecimal()
        is_numbered |= len(words) == 2 and first[0].isdecimal() and last.isalpha()  # 5 GB
        found = [whole] if is_numbered or len(whole) >= LEAST_OF_CODE else []
    return tuple(term for term in dict.fromkeys(found) if is_known(snapshot, term, WRITTEN_IN))
