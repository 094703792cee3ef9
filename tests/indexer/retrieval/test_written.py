"""Which words are meant as they are written, and who holds them so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from indexer.retrieval.written import as_written, holders, is_code
from indexer.storage.index import Index

MakeIndex = Callable[..., Index]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("get_or_create", "get_or_create"), ("core.autocrlf", "core.autocrlf"), ("--no-ff", "--no-ff"),
        ("3.2.20", "3.2.20"), ("/etc/fstab", "/etc/fstab"), ("std::Vector", "std::vector"), ("foo->bar", "foo->bar"),
        ("10.0.0.1", "10.0.0.1"), ("anna@example.org,", "anna@example.org"), ("C:\\x", "c:\\x"), ("U.S.", "u.s"),
        ("covid-19", "covid-19"), ("$HOME", "$home"),
        ("heron", ""), ("heron?", ""), ("well-known", ""), ("input/output", ""), ("O'Reilly", ""), ("e1000e", ""),
        ("2024", ""), ("C++", ""), ("C#", ""), ("東京_x", ""), ("हिन्दी", ""), ("naïve.", ""),
    ],
)  # fmt: skip
def test_joined_words_are_meant_as_written(typed: str, written: str) -> None:
    """Without what stands around them in a sentence; words of prose, and of scripts with marks, are not."""
    assert as_written(typed) == written


def test_what_looks_like_code() -> None:
    """camelCase, capitals, letters with digits."""
    assert [w for w in ("getFile", "TabSize", "ENOENT", "e1000e", "0x7f") if not is_code(w)] == []
    assert [w for w in ("Heron", "heron", "USA", "2024", "PhDs".lower(), "Ärger") if is_code(w)] == []


def test_who_holds_a_word_as_written(make_index: MakeIndex) -> None:
    """In any case, with no letter, digit or _ beside it; more may follow a beginning."""
    written = ["a.foo_bar()", "foo_bars", "my_foo_bar", "FOO_BAR", "foo bar"]
    snapshot = make_index(written).snapshot()
    read: list[int] = []

    def texts(doc_ids: Sequence[int]) -> Iterable[tuple[int, str]]:
        read.extend(doc_ids)
        return [(i, written[i]) for i in doc_ids]

    found = {"body": (np.array([0, 1, 2, 3, 4]), np.ones(5))}
    assert holders(snapshot, found, texts, "foo_bar").tolist() == [0, 3]
    assert read[0] == 3  # the only one with the term itself
    assert holders(snapshot, found, texts, "foo_bar", prefix=True).tolist() == [0, 1, 3]
    assert holders(snapshot, found, lambda ids: [], "foo_bar").size == 0
