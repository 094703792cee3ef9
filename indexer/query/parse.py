"""What a query means: text in, tree out, never an exception.

    query       = alternatives {alternatives}                 a blank is the weakest AND:
    alternatives = conjunction {"OR" conjunction}             a b OR c  is  a (b OR c)
    conjunction = negation {"AND" negation}                   a AND b OR c  is  (a AND b) OR c
    negation    = {"NOT" | "-"} atom
    atom        = [field ":"] (["="] word ["*"] | ["="] quoted | "(" query ")")

What is malformed becomes a Problem and is ignored; the tokeniser reports brackets and quotes that do not close.
Syntax of other search programs that means nothing here is reported, with what to write instead, but only where it can
hardly be meant as text. `docs/query-language.md` describes the language for users.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from indexer.properties import NAMES, PROPERTIES, STATES, mark
from indexer.query.nodes import (
    OPERATORS,
    And,
    Filter,
    Node,
    Not,
    Or,
    Phrase,
    Problem,
    Query,
    Word,
    is_filter,
    is_shouted,
)
from indexer.query.values import NEEDED, NotUnderstoodError, extension, meaning
from indexer.text.analysis import raw_terms, raw_tokens
from indexer.text.spelling import nearest

MAX_DEPTH = 20
"""Deeper brackets are ignored, so that code that walks the tree may recurse."""

TEXT_NAMES = {
    "title": "title", "name": "name", "filename": "name", "file": "name", "path": "path",
    "body": "body", "content": "body", "from": "from", "author": "from", "sender": "from", "to": "to",
    "recipient": "to", **{alias: name for alias, name in NAMES.items() if PROPERTIES[name].kind == "text"},
}  # fmt: skip
"""What may stand before a colon -> the field in which the word after it is searched."""

FILTER_NAMES = {
    "ext": "ext", "extension": "ext", "filetype": "ext", "type": "type", "kind": "type",
    "dir": "dir", "folder": "dir", "in": "dir", "lang": "lang", "language": "lang",
    "modified": "modified", "date": "modified", "after": "modified", "before": "modified", "since": "modified",
    "until": "modified", "size": "size", "thread": "thread", "links": "links", "linking": "links",
    **{alias: name for alias, name in NAMES.items() if PROPERTIES[name].kind != "text"},
}  # fmt: skip
"""What may stand before a colon -> the kind of filter it makes."""

COMPARISONS = {"after": ">", "before": "<", "since": ">=", "until": "<="}
"""Names that imply a comparison: `after:2024` is `modified:>2024`."""

_BLANK = re.compile(r"[\s\0]+")
_FIELD = re.compile(r"([A-Za-z]+)[:：](?!:|//)")
_CLOSING = {'"': '"', "“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«"}
_INNER_QUOTE = '(?<=[א-ת])["”](?=[א-ת])'
"""in Hebrew abbreviations, whose own sign keyboards lack: צה"ל"""
_WORD = re.compile(rf'(?:[^\s\0"“”„«»()（）]|{_INNER_QUOTE})+(?:(?<=\w)\(\))?')
_WITH_SIGN = re.compile(r"\d[\d.,]*\s[%‰°€$£¥₹](?!\S)")
"""one word in spite of its blank: 20 €"""
_SIGNS_OF_NOT = "-!"
_JOINED_BEHIND = ')）"”'
"""a dash right after one of these is a joint, not a NOT, as in name-(a)-b"""
_SIGNS = {"&&": "and", "||": "or"}
"""operators as programmers write them"""


class Token(Struct, frozen=True):
    kind: str
    """word, quoted, field, open, close, and, or, not"""
    text: str
    """the word, the text between the quotes, the field's name in lower case"""
    start: int
    end: int
    """offsets of the whole token in the query, quotes and `=` included"""
    exact: bool = False
    inner: int = 0
    """where `text` begins"""
    closed: bool = True
    """False for an opening quote without a closing one"""


def tokens(text: str, *, as_you_type: bool) -> tuple[list[Token], list[Problem]]:
    """The tokens of `text`, brackets balanced, and what was wrong with it."""
    found: list[Token] = []
    problems: list[Problem] = []
    position, shouted = 0, is_shouted(text)
    while position < len(text):
        if (blank := _BLANK.match(text, position)) is not None:
            position = blank.end()
            continue
        if text[position] == "-" and text[max(position - 1, 0)] in _JOINED_BEHIND:
            position += 1
            continue
        token = _token(text, position, found[-1] if found else None, shouted=shouted)
        found.append(token)
        position = token.end
        if not (token.closed or as_you_type):
            problems.append(Problem(token.inner - 1, 1, "this quote is not closed; the rest is the phrase"))
    return _balanced(_options(found, text), problems, as_you_type=as_you_type), problems


def _options(found: list[Token], text: str) -> list[Token]:
    """Where the whole query is one excluded word, as in -fPIC, the word is taken literally, with its sign."""
    if len(found) != 2:
        return found
    sign, word = found
    if sign.kind != "not" or sign.text not in _SIGNS_OF_NOT or word.kind != "word" or word.inner != sign.end:
        return found
    return [structs.replace(word, text=text[sign.start : word.end], start=sign.start, inner=sign.start)]


def _token(text: str, position: int, before: Token | None, *, shouted: bool) -> Token:
    """The token at `position`, which is not blank."""
    first = text[position]
    if first in "(（":
        return Token("open", first, position, position + 1)
    if first in ")）":
        return Token("close", first, position, position + 1)
    tied = before is not None and before.end == position and before.kind in ("field", "not")
    after_field = tied and before is not None and before.kind == "field"
    if first in _SIGNS_OF_NOT and not after_field and _negates(text, position):
        return Token("not", first, position, position + 1)
    field = None if after_field else _FIELD.match(text, position)
    if field is not None and _is_field(name := field[1].lower(), text, field.end()):
        return Token("field", name, position, field.end())
    start = position + (first == "=" and re.match(r"[^\s\0()（）]", text[position + 1 : position + 2]) is not None)
    if text[start] in _CLOSING:
        return _quoted(text, position, start)
    match = _WITH_SIGN.match(text, start) or _WORD.match(text, start)
    assert match is not None, "neither blank, bracket nor quote"
    word = match[0]
    if start == position and not tied and word in _SIGNS:
        return Token(_SIGNS[word], word, position, match.end())
    if start == position and word in OPERATORS:
        if not (tied or shouted):
            return Token(OPERATORS[word], word, position, match.end())
        word = word if after_field else word.lower()
    return Token("word", word, position, match.end(), start > position, start)


def _is_field(name: str, text: str, end: int) -> bool:
    """Whether `name` and the colon before `end` make a field; `is:` and `has:` only before values that they know."""
    if name in ("is", "has"):
        word = _WORD.match(text, end + text.startswith('"', end))
        return word is not None and mark(name, word[0]) is not None
    return name in TEXT_NAMES or name in FILTER_NAMES


def _negates(text: str, position: int) -> bool:
    """Whether the sign excludes what follows: not alone, nor first of `--option`; `!` only before words and quotes."""
    following = text[position + 1 : position + 2]
    if text[position] == "!":
        return following.isalpha() or following == '"'
    return bool(following) and following not in "-)）\0" and not following.isspace()


def _quoted(text: str, position: int, opening: int) -> Token:
    closings = _CLOSING[text[opening]] + '"'
    inner = opening + 1
    match = re.compile(f"(?!{_INNER_QUOTE})[{closings}]").search(text, inner)
    end = match.start() if match else len(text)
    after = end if match is None else match.end()
    return Token("quoted", text[inner:end], position, after, opening > position, inner, match is not None)


def _balanced(found: list[Token], problems: list[Problem], *, as_you_type: bool) -> list[Token]:
    """The tokens without brackets that close nothing or lie too deep; the end of the query closes open ones."""
    kept: list[Token] = []
    open_at: list[Token] = []
    too_deep: Token | None = None
    for token in found:
        if token.kind == "open":
            open_at.append(token)
            too_deep = too_deep or (token if len(open_at) > MAX_DEPTH else None)
            keep = len(open_at) <= MAX_DEPTH
        elif token.kind == "close":
            keep = 0 < len(open_at) <= MAX_DEPTH
            if open_at:
                open_at.pop()
            else:
                problems.append(Problem(token.start, 1, "this bracket closes nothing"))
        else:
            keep = True
        if keep:
            kept.append(token)
    if too_deep is not None:
        problems.append(Problem(too_deep.start, 1, f"brackets deeper than {MAX_DEPTH} are ignored"))
    if open_at and not as_you_type:
        problems.append(Problem(open_at[-1].start, 1, "this bracket is not closed"))
    return kept


MAX_CHARACTERS = 10_000
"""The rest of a longer query is not read."""
MAX_TERMS = 100
"""Words, phrases and filters beyond this number are not searched for."""
MAX_BEGINNINGS = 50
"""Words with a star beyond this number are not searched for: each stands for many words and costs as much."""
MAX_PROBLEMS = 5

_TAG = re.compile(r"#[^\W\d_][\w/-]*")
_ENDING = re.compile(r"\*((?:\.\w+)+)")
_NAME = re.compile(r"([A-Za-z]{3,12})[:：](?![:/])")
_ORDINARY_KEYS = frozenset({"data", "kid", "token", "please", "plane", "create", "edit"})
"""words that stand before colons in files and look like misspelt names of fields"""


def parse(text: str, *, now: float | None = None, as_you_type: bool = False) -> Query:
    """The meaning of `text`, whatever it is; `now` is in seconds since the epoch, dates are local.

    With `as_you_type` the last word, if the text ends in it, is a prefix, and what may only be unfinished is no
    problem: an open quote or bracket, an operator or field at the end.
    """
    read = text[:MAX_CHARACTERS]
    found, problems = tokens(read, as_you_type=as_you_type)
    if len(text) > len(read):
        message = f"only the first {MAX_CHARACTERS:,} characters are read"
        problems.append(Problem(len(read), len(text) - len(read), message))
    moment = datetime.fromtimestamp(time.time() if now is None else now)
    parser = _Parser(read, found, problems, moment, as_you_type)
    root = parser.sequence(None)
    if root is None and found and not problems and not as_you_type:
        problems.append(Problem(0, len(text), "there is no word to search for"))
    shown = tuple(sorted(problems, key=lambda problem: problem.position)[:MAX_PROBLEMS])
    children = root.children if isinstance(root, And) else () if root is None else (root,)
    is_plain = all(isinstance(child, Word | Phrase) or is_filter(child) for child in children)
    return Query(text, root, shown, not parser.explicit_and and is_plain, _operators(found, problems))


def _operators(found: Sequence[Token], problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """What each operator among the tokens asks for, to be told where little is found; those next to a field are meant.

    An operator that a problem already reports is left out: it was not read as one.
    """
    said = {
        "and": "only documents with both sides",
        "or": "either side is enough",
        "not": "documents with what follows are left out",
        "quoted": "only documents with these words in a row",
    }
    tied = {token.end for token in found if token.kind == "field"}
    opened = {token.start for token in found if token.kind == "field"}
    told = {problem.position for problem in problems}
    return tuple(
        Problem(token.start, token.end - token.start, f"read as an operator: {said[token.kind]}")
        for token in found
        if token.kind in said and token.start not in tied | told and token.end not in opened
    )[:MAX_PROBLEMS]


class _Parser(Struct):
    """One pass over the tokens, from left to right; every method leaves `at` just after what it has read."""

    text: str
    tokens: Sequence[Token]
    problems: list[Problem]
    now: datetime
    as_you_type: bool
    at: int = 0
    n_terms: int = 0
    n_beginnings: int = 0
    explicit_and: bool = False
    """an AND was written out, and joined something"""

    def sequence(self, name: str | None) -> Node | None:
        """The tree of everything up to a closing bracket or the end, in the field `name`."""
        parts: list[Node] = []
        while self.at < len(self.tokens) and self.tokens[self.at].kind != "close":
            node = self._operation("or", name)
            if node is not None:
                parts.append(node)
        either = FILTER_NAMES.get(name or "") in ("ext", "type", "lang", "dir")
        return _joined(Or if either else And, parts)

    def _operation(self, operator: str, name: str | None) -> Node | None:
        """Operands joined by `operator`; an operator that lacks an operand on one side is ignored."""
        start = self.at
        nodes = [self._operand(operator, name)]
        while self.at < len(self.tokens) and self.tokens[self.at].kind == operator:
            token = self.tokens[self.at]
            whole = self.at > start
            self.at += 1
            start = self.at
            nodes.append(self._operand(operator, name))
            if self.at == start or not (whole or len(nodes) > 2):
                self._dangling(token, "between two words")
        kept = [node for node in nodes if node is not None]
        self.explicit_and |= operator == "and" and len(kept) > 1
        return _joined(Or if operator == "or" else And, kept)

    def _operand(self, operator: str, name: str | None) -> Node | None:
        return self._operation("and", name) if operator == "or" else self._negation(name)

    def _negation(self, name: str | None) -> Node | None:
        first = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "not":
            self.at += 1
        start = self.at
        negated = (start - first) % 2 == 1
        node = self._atom(name, negated=negated)
        if start > first and self.at == start:
            self._dangling(self.tokens[first], "before a word")
        if node is None or not negated:
            return node
        position = self.tokens[first].start
        return Not(node, position, self.tokens[self.at - 1].end - position)

    def _dangling(self, token: Token, where: str) -> None:
        if not (self.as_you_type and self.at >= len(self.tokens)):
            self._note(token, f"{token.text} stands {where}; as a word, write it in lower case or quotes")

    def _note(self, token: Token, message: str) -> None:
        self.problems.append(Problem(token.start, token.end - token.start, message))

    def _atom(self, name: str | None, *, negated: bool = False) -> Node | None:
        if self.at >= len(self.tokens):
            return None
        token = self.tokens[self.at]
        if token.kind in ("and", "or", "close"):
            return None
        self.at += 1
        if token.kind == "open":
            return self._group(name)
        if token.kind == "field":
            return self._field(token, negated=negated)
        if self.n_terms >= MAX_TERMS:
            if self.n_terms == MAX_TERMS:
                message = f"only the first {MAX_TERMS} words are searched for"
                self.problems.append(Problem(token.start, len(self.text) - token.start, message))
                self.n_terms += 1
            return None
        return self._value(token, name, negated=negated)

    def _group(self, name: str | None) -> Node | None:
        node = self.sequence(name)
        self.at = min(self.at + 1, len(self.tokens))  # behind the closing bracket, or the end stands for it
        return node

    def _field(self, token: Token, *, negated: bool) -> Node | None:
        following = self.tokens[self.at] if self.at < len(self.tokens) else None
        if following is not None and following.start == token.end and following.kind in ("word", "quoted", "open"):
            return self._atom(token.text, negated=negated)
        kind = FILTER_NAMES.get(token.text)
        if kind is not None or not self.as_you_type or following is not None:
            wanted = NEEDED[kind] if kind else "a word"
            self._note(token, f"{token.text}: needs {wanted} right after the colon")
        return None

    def _value(self, token: Token, name: str | None, *, negated: bool) -> Node | None:
        """A word or phrase under the field `name`, or the filter that it makes."""
        if name in FILTER_NAMES:
            return self._filter(token, name)
        tied = TEXT_NAMES[name] if name else None
        inner = (token.inner, len(token.text))
        if token.kind == "quoted":
            self.n_terms += 1
            following = self.tokens[self.at] if self.at < len(self.tokens) else None
            if following is not None and following.start == token.end and is_distance(following.text):
                self.at += 1
                return self._near(token, following, tied)
            return Phrase(token.text, tied, token.exact, *inner) if _searchable(token.text) else None
        ending = _ENDING.fullmatch(token.text)
        if ending is not None and not token.exact and tied in (None, "name"):
            self.n_terms += 1
            return Filter("ext", "", extension(ending[1]), token.start, token.end - token.start)
        return self._word(token, name, tied, negated=negated)

    def _near(self, quoted: Token, distance: Token, tied: str | None) -> Node | None:
        """The words of `"a b"~5`: all of them, as anywhere; those that stand together count more anyway."""
        said = "distances are not supported; documents with the words close together rank higher"
        self._note(distance, f"{distance.text}: {said}")
        words = [
            Word(match[0], tied, position=quoted.inner + match.start(), length=len(match[0]))
            for match in re.finditer(r"[^\s\0]+", quoted.text)
            if _searchable(match[0])
        ]
        return _joined(And, words[: MAX_TERMS - self.n_terms + 1])

    def _word(self, token: Token, name: str | None, tied: str | None, *, negated: bool) -> Word | None:
        is_bare = name is None and not token.exact
        foreign = foreign_word(token.text) if is_bare and not self._is_being_typed(token) else None
        if foreign is not None:
            self._note(token, foreign)
            return None
        text = token.text.rstrip("*")
        if not _searchable(text):
            return None
        if "*" in text:
            at = token.inner + text.index("*")
            self.problems.append(Problem(at, 1, "a * works only at the end of a word"))
        if is_bare:
            self._misspelt_field(token)
            if _TAG.fullmatch(token.text) and not self._is_being_typed(token):
                self._note(token, f"{token.text} is searched for as a word; tag:{token.text[1:]} finds the tag")
        self.n_terms += 1
        starred = text != token.text
        self.n_beginnings += starred
        if starred and self.n_beginnings > MAX_BEGINNINGS:
            if self.n_beginnings == MAX_BEGINNINGS + 1:
                self._note(token, f"only the first {MAX_BEGINNINGS} words with a star are searched for")
            return None
        unfinished = self._is_being_typed(token) and not negated and not starred
        return Word(text, tied, unfinished or starred, token.exact, unfinished, token.inner, len(text))

    def _is_being_typed(self, token: Token) -> bool:
        return self.as_you_type and token.end == len(self.text)

    def _misspelt_field(self, token: Token) -> None:
        field, _, value = token.text.lower().partition(":")
        known = {"is": STATES, "has": NAMES}.get(field)
        if known and (meant := nearest(value, known)) and not self._is_being_typed(token):
            self._note(token, f"no {token.text}, did you mean {field}:{meant}? Searched for as a word")
        match = _NAME.match(token.text)
        if match is None or (name := match[1].lower()) in _ORDINARY_KEYS:
            return
        close = nearest(name, [known for known in TEXT_NAMES | FILTER_NAMES if len(known) > 3])
        if close is not None and abs(len(close) - len(name)) <= 2 and name != close + "s":
            message = f"no field {match[1]}:, did you mean {close}:? Searched for as a word"
            self.problems.append(Problem(token.start, len(match[1]) + 1, message))

    def _filter(self, token: Token, name: str) -> Node | None:
        """The filter that a value makes; several, separated by commas, where one of them has to hold."""
        kind, position, length = FILTER_NAMES[name], token.start, token.end - token.start
        parts = [token.text]
        if kind in ("ext", "type", "lang", "tag"):
            separator = r"[,;]+" if kind == "tag" else r"[\s,;]+"  # a tag may have blanks
            parts = [part for part in re.split(separator, token.text) if part.strip()] or parts
        nodes: list[Node] = []
        for part in parts[: MAX_TERMS - self.n_terms]:
            try:
                op, value = meaning(kind, COMPARISONS.get(name, "") + part, self.now)
            except NotUnderstoodError as error:
                self.problems.append(Problem(position, length, str(error)))
            else:
                nodes.append(Filter(kind, op, value, position, length))
                self.n_terms += 1
        return _joined(Or, nodes)


def _searchable(text: str) -> bool:
    return any(raw_terms(raw)[0] for raw in raw_tokens(text))


def _joined(kind: type[And] | type[Or], nodes: Sequence[Node]) -> Node | None:
    """One node for all: none, the only one, or an And or Or without another of its kind inside."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.children if isinstance(node, kind) else (node,))
    if len(flat) < 2:
        return flat[0] if flat else None
    end = max(node.position + node.length for node in flat)
    return kind(tuple(flat), flat[0].position, end - flat[0].position)


_DISTANCE = re.compile(r"~[0-9]{1,4}")
_RULES: tuple[tuple[str, str], ...] = (
    (r"is:(?:sent|trash|spam|inbox|archived|muted|snoozed)", "mail folders are folders: write dir:Sent"),
    (r"flag:\w+", "write is:flagged, is:unread or is:answered"),
    (r"has:(?:images?|pdf|document|drive|userlabels|nouserlabels|youtube)",
     "write has:attachment, attachment:WORD, or ext:pdf for the attached documents themselves"),
    (r"(?:larger|smaller):[0-9]+[kmg]?b?", "write size:>1mb or size:<1mb"),
    (r"(?:older|newer|older_than|newer_than):[0-9][0-9/-]*[dwmy]?", "write before:2024-01 or since:7d"),
    (r"(?:intitle|allintitle):\S+", "write title:WORD"),
    (r"(?:inurl|allinurl|site):\S+", "write path:WORD or dir:FOLDER"),
    (r"(?:mime|mimetype):\S+", "write type:mail or ext:pdf"),
    (r"sort:\S+", "choose the order with --order or a key"),
    (r"re(?:gexp?)?:\S+", "patterns are not supported; write words, or the start of one with a star"),
    (r"/(?=\S*(?:\.[*+]|\\[dwsb]|\[|\||/\^|\$/))\S+/[gimsx]*",
     "patterns are not supported; write words, or the start of one with a star"),
    (r"~[^\W\d_]{2,}", "fuzzy search is not supported; a word found nowhere is corrected if possible"),
    (r"[^\W\d_A-Z]{3,}~[0-2]?", "fuzzy search is not supported; a word found nowhere is corrected if possible"),
    (r"[^\W\d_]+\?[^\W\d_]+", "? is not a wildcard; write the start of the word and a star"),
    (r"NEAR(?:/[0-9]{1,4})?|ADJ[0-9]{0,3}|[wWnN]/[0-9]{1,3}",
     "distances are not supported; documents with the words close together rank higher"),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), hint) for pattern, hint in _RULES)


def foreign_word(word: str) -> str | None:
    """Why a word of the query is not searched for, as one line; None for a word that is."""
    hint = next((hint for pattern, hint in _COMPILED if pattern.fullmatch(word)), None)
    return f"{word}: {hint}" if hint else None


def is_distance(word: str) -> bool:
    """Whether `word` is what follows a phrase whose words may stand apart, as in `"a b"~5`."""
    return _DISTANCE.fullmatch(word) is not None
