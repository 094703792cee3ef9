"""What a query names: a file of this name, or whose path ends like this, or a document of this title.

A name is read as typed and as a shell or a file manager pastes it: in quotes, with backslashes before blanks, as a
file:// address, beginning with ~, followed by a line number, with the backslashes of Windows.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from indexer.documents import TYPES
from indexer.postings import Ints, Mask
from indexer.retrieval.adjacency import among, as_written
from indexer.storage.catalogue import DocumentRow
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import fold, words_of

Rows = Callable[[Sequence[int]], Mapping[int, DocumentRow]]
"""ids of documents -> what the catalogue knows of them"""

STEM_WORDS, STEM, TITLE_WORDS, TITLE, NAME_WORDS, NAME, VERY_NAME = range(1, 8)
"""how surely a document is named: by its name without ending, its title, its name or the end of its path; each by its
words alone, or character by character (without case and accents; VERY_NAME: with them)"""
MOST_NAMESAKES = 3
"""if more files share a name without its ending, it counts as an ordinary word"""
MOST_LOOKED_AT = 300
"""most documents whose names or titles are compared with the text"""
LONGEST = 1_000
"""characters; a longer text names nothing"""

MAIL = TYPES.index("mail")
MOST_REPLIES = 3
"""most words such as Re: before a subject by which a mail is found"""

_REPLY = re.compile(r"\s*(?:(?:re|fwd?|aw|wg|sv|antw|tr|rv)\s*:\s*)+", re.IGNORECASE)
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_LINE = re.compile(r"(?::\d+){1,2}:?$")
_DRIVE = re.compile(r"[A-Za-z]:(?=\\)")
_QUOTES = "\"'“”„«»`"


def named_in(snapshot: Snapshot, text: str, rows: Rows, narrow: Mask | None) -> dict[int, int]:
    """The numbers of the documents that `text` names, each with how surely (STEM_WORDS to VERY_NAME)."""
    if not text.strip() or len(text) > LONGEST:
        return {}
    levels: dict[int, int] = {}
    allowed = snapshot.alive if narrow is None else snapshot.alive & narrow
    meant = names_meant(text)
    for parts in dict.fromkeys(tuple(path_parts(name)) for name in meant):
        if parts:
            _raise(levels, _by_name(snapshot, parts, rows, allowed))
    _raise(levels, _by_title(snapshot, meant[0], rows, allowed))
    if sum(level <= STEM for level in levels.values()) > MOST_NAMESAKES:
        return {number: level for number, level in levels.items() if level > STEM}
    return levels


def _raise(levels: dict[int, int], found: Mapping[int, int]) -> None:
    for number, level in found.items():
        levels[number] = max(level, levels.get(number, 0))


@lru_cache(maxsize=100)
def names_meant(text: str) -> tuple[str, ...]:
    """The names that `text` may stand for, the first as typed."""
    typed = text.strip()
    typed = typed[1:] if typed.startswith("$'") else typed
    found = [typed, typed.strip(_QUOTES)]
    if not set(typed).isdisjoint("\\'\""):
        with suppress(ValueError):  # a quote that is not closed
            words = shlex.split(typed)
            found += words if len(words) == 1 else ()
    for name in tuple(found):
        with suppress(ValueError):  # characters that no path has
            if name[:7].lower() == "file://":
                address = os.fsencode(name[name.find("/", 7) :])
                found.append(os.fsdecode(_PERCENT.sub(lambda match: bytes.fromhex(match[1].decode()), address)))
            if name.startswith("~"):
                found.append(os.path.expanduser(name))
        if _LINE.search(name):
            found.append(_LINE.sub("", name))
        if "\\" in name:
            found.append(_DRIVE.sub("", name).replace("\\", "/"))
    return tuple(dict.fromkeys(found))


def path_parts(path: str) -> list[str]:
    """The folders and the name in a typed path; [] for the path of a folder."""
    return [part for part in path.split("/") if part not in ("", ".", "..")] if not path.endswith("/") else []


def _holding(snapshot: Snapshot, field: str, words: Sequence[str], allowed: Mask) -> Ints:
    """The documents that hold all words in a field; none without words."""
    docs: Ints | None = None
    for word in dict.fromkeys(words):
        held = snapshot.postings(field, word).docs
        docs = held if docs is None else docs[among(docs, held)]
        if not docs.size:
            break
    return np.zeros(0, dtype=np.int64) if docs is None else docs[allowed[docs]]


def _by_name(snapshot: Snapshot, parts: tuple[str, ...], rows: Rows, allowed: Mask) -> dict[int, int]:
    docs = _holding(snapshot, "name", words_of(parts[-1]), allowed)
    for folder in (words for words in map(words_of, parts[:-1] if docs.size else ()) if words):
        above, inside = (_holding(snapshot, field, folder, allowed) for field in ("path", "name"))
        docs = docs[among(docs, above) | among(docs, inside)]
    shortest = np.argsort(snapshot.documents["n_name"][docs], kind="stable")
    return _levels(snapshot, docs[shortest], rows, lambda row: name_level(row.path, row.part, parts))


def _by_title(snapshot: Snapshot, text: str, rows: Rows, allowed: Mask) -> dict[int, int]:
    words, documents = words_of(_bare(text)), snapshot.documents
    docs = _holding(snapshot, "title", words, allowed)
    n_more = documents["n_title"][docs].astype(np.int64) - len(words)
    docs = docs[n_more <= MOST_REPLIES * (documents["type"][docs] == MAIL)]
    newest = np.argsort(-snapshot.documents["modified"][docs], kind="stable")
    return _levels(snapshot, docs[newest], rows, lambda row: title_level(row.title, text))


def _levels(snapshot: Snapshot, docs: Ints, rows: Rows, level_of: Callable[[DocumentRow], int]) -> dict[int, int]:
    docs = docs[:MOST_LOOKED_AT]
    ids = snapshot.documents["doc_id"][docs].tolist()
    known = rows(ids) if ids else {}
    levels = {number: level_of(known[i]) for number, i in zip(docs.tolist(), ids, strict=True) if i in known}
    return {number: level for number, level in levels.items() if level}


def name_level(path: str, part: str, parts: Sequence[str]) -> int:
    """How surely `parts`, the end of a path, name the file at `path` or the `part` in it; 0 for not at all."""
    own = path.split(os.sep)
    ends = [own, [*own, *part.split("/")]] if part else [own]
    return max(_end_level(end[-len(parts) :], parts) for end in ends)


def _end_level(own: Sequence[str], parts: Sequence[str]) -> int:
    if len(own) < len(parts):
        return 0
    if list(own) == list(parts):
        return VERY_NAME
    found = _likeness(own, parts)
    if found:
        return NAME_WORDS + found - 1
    stem = os.path.splitext(own[-1])[0]
    found = _likeness([*own[:-1], stem], parts)
    return STEM_WORDS + found - 1 if found else 0


def _likeness(own: Sequence[str], parts: Sequence[str]) -> int:
    """2 for the same characters except for case and accents, 1 for the same words, else 0.

    For a word that is meant as written, such as get_or_create, equal words are not enough.
    """
    if all(fold(a) == fold(b) for a, b in zip(own, parts, strict=True)):
        return 2
    if any(" " not in part and as_written(part) for part in parts):
        return 0
    return int(all(words_of(a) == words_of(b) != () for a, b in zip(own, parts, strict=True)))


def _bare(subject: str) -> str:
    """A subject without its Re: and Fwd: marks."""
    marks = _REPLY.match(subject)
    return subject[marks.end() :] if marks else subject


def title_level(title: str, text: str) -> int:
    """How surely `text` names a document of that title, or an answer to it; 0 for not at all."""
    found = _likeness(*([_bare(" ".join(one.split()))] for one in (title, text)))
    return TITLE_WORDS + found - 1 if found else 0


def named_by(level: int) -> str:
    """Which part of a document the query names, in words for a person; "" for none."""
    if not level:
        return ""
    return "exact title" if TITLE_WORDS <= level <= TITLE else "exact file name"
