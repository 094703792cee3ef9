"""Saved searches: `@name` in a query stands for a text of the user's, kept in searches.toml beside config.toml.

    tax = "type:pdf (tax OR steuer) dir:~/Documents"

Users may edit the file and carry it along. A saved search cannot hold another, so that none can hold itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from console.durable import changing, content_of, replace_durably
from foltr.errors import FoltrError
from indexer.query.nodes import Problem
from indexer.query.parse import tokens
from indexer.text.spelling import nearest

_NAME = re.compile(r"[^\W\d_][\w\u0300-\u036f\u0900-\u0dff\u0e31-\u0e4e\u1000-\u17d3-]*")
"""a letter, then also what stands above, below or beside one: accents, vowel signs of India and its neighbours"""
_OPERATORS = ("and", "or", "not")
_HEAD = """\
# Saved searches of foltr-search: @name in a query stands for the text behind the name.
"""


class SavedError(FoltrError):
    """A saved search cannot be used or kept; the message says why."""


class WrittenOut(msgspec.Struct, frozen=True):
    """A query with its saved searches written out."""

    text: str
    problems: tuple[Problem, ...] = ()
    """names that are not there; positions as in the query that was typed"""
    moved: tuple[tuple[int, int, int, int], ...] = ()
    """[start, end) in `text` of each saved search, and [start, end) of its name as typed"""

    def as_typed(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Problems of `text`, at their places in the query that was typed; those of the names first."""
        return self.problems + tuple(self._back(problem) for problem in problems)

    def _back(self, problem: Problem) -> Problem:
        shift = 0
        for start, end, first, last in self.moved:
            if start <= problem.position < end:
                told = f"in the saved text at {self.text[problem.position :][: problem.length]!r}: {problem.message}"
                return msgspec.structs.replace(problem, position=first, length=last - first, message=told)
            if problem.position >= end:
                shift = last - end
        return msgspec.structs.replace(problem, position=problem.position + shift)


class SavedSearches:
    """The file of saved searches, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[tuple[int, int, int], Mapping[str, str]] | None = None

    def all(self) -> Mapping[str, str]:
        """Text by name, in the order of the file; SavedError when it cannot be read."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return {}
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._read is None or self._read[0] != stamp:
            try:
                self._read = stamp, _searches_in(content_of(self._path).decode("utf-8-sig"))
            except (OSError, ValueError) as error:  # tomllib's and Unicode's errors are ValueErrors
                raise SavedError(f'{self._path}: wanted lines as tax = "type:pdf tax", got: {error}') from error
        return self._read[1]

    def save(self, name: str, text: str) -> None:
        """Keep `text` under `name`, in place of what had that name; SavedError for what cannot be kept."""
        text = " ".join(text.split())
        problem = _unfit(name.removeprefix("@"), text)
        if problem:
            raise SavedError(problem)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with changing(self._path):
            self._write({**self.all(), name.removeprefix("@"): text}, name.removeprefix("@"))

    def remove(self, name: str) -> None:
        """Forget `name`; SavedError with the nearest name where there is none."""
        with changing(self._path):
            known = dict(self.all())
            if known.pop(name.removeprefix("@"), None) is None:
                raise SavedError(_unknown(name.removeprefix("@"), known))
            self._write(known, name.removeprefix("@"))

    def written_out(self, query: str, *, as_you_type: bool = False) -> WrittenOut:
        """`query` with each @name replaced; a name that is not there stays as a word, and is a problem.

        Where nothing is saved, or the file cannot be read, `@` is an ordinary sign.
        """
        if "@" not in query:
            return WrittenOut(query)
        try:
            known = self.all()
        except SavedError as error:
            return WrittenOut(query, (Problem(0, len(query), str(error)),))
        if not known:
            return WrittenOut(query)
        found = tokens(query, as_you_type=True)[0]
        alone = len(found) == 1
        out, at, moved, problems = "", 0, [], []
        for token in found:
            name = token.text[1:]
            is_name = token.kind == "word" and token.text.startswith("@") and _NAME.fullmatch(name)
            if not is_name or token.start < at:
                continue
            if name not in known:
                unfinished = as_you_type and token.end == len(query) and any(one.startswith(name) for one in known)
                if not unfinished:
                    problems.append(Problem(token.start, token.end - token.start, _unknown(name, known)))
                continue
            out += query[at : token.start]
            text = known[name] if alone else f"({known[name]})" if _has_operator(query, known[name]) else known[name]
            moved.append((len(out), len(out) + len(text), token.start, token.end))
            out, at = out + text, token.end
        return WrittenOut(out + query[at:], tuple(problems), tuple(moved))

    def _write(self, searches: Mapping[str, str], changed: str) -> None:
        """Change one line, so that comments and order stay; write the whole file anew where that is not enough."""
        import tomli_w

        try:
            lines = content_of(self._path).decode("utf-8-sig").splitlines(keepends=True)
        except FileNotFoundError:
            lines = [_HEAD]
        own = re.compile(rf"""\s*["']?{re.escape(changed)}["']?\s*=""")
        line = tomli_w.dumps({changed: searches[changed]}) if changed in searches else ""
        places = [i for i, one in enumerate(lines) if own.match(one)]
        if places:
            lines[places[0]] = line
        else:
            lines.append(("" if not lines or lines[-1].endswith("\n") else "\n") + line)
        text = "".join(lines)
        try:
            whole = _searches_in(text) == dict(searches)
        except ValueError:
            whole = False
        replace_durably(self._path, (text if whole else _HEAD + tomli_w.dumps(dict(searches))).encode("utf-8"))


def _searches_in(text: str) -> dict[str, str]:
    import tomllib  # without saved searches no parser is needed

    searches = tomllib.loads(text)
    for name, query in searches.items():
        if problem := _unfit(name, query) if isinstance(query, str) else f"{name} is no text":
            raise ValueError(problem)
    return searches


def _unfit(name: str, text: str) -> str:
    """Why this cannot be saved, as one line; "" when it can."""
    if _NAME.fullmatch(name) is None:
        return f"wanted a name that begins with a letter and holds letters, digits, - and _, got {name!r}"
    if not text.strip():
        return f"@{name}: wanted a query, got nothing"
    for token in tokens(text, as_you_type=False)[0]:
        if token.kind == "word" and token.text.startswith("@") and _NAME.fullmatch(token.text[1:]):
            return f"@{name}: a saved search cannot hold another, got {token.text}; write its text, or quote the word"
    return ""


def _unknown(name: str, known: Mapping[str, str]) -> str:
    close = nearest(name, known)
    others = f"there are {', '.join('@' + one for one in known)}" if known else "none is"
    return f"no search is saved as @{name}; {f'did you mean @{close}?' if close else others}"


def _has_operator(*queries: str) -> bool:
    """Whether one of them has an operator, so that a saved text needs brackets to stay together."""
    return any(token.kind in _OPERATORS for query in queries for token in tokens(query, as_you_type=True)[0])
