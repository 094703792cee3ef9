"""Threads: ids tie mails together, in any order and over gaps; copies count once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.storage.mail_threads import TABLES, doc_ids_in, forget_empty, message_key, threads_of, tie

Mails = Sequence[tuple[int, tuple[str, ...]]]
FIVE: Mails = [(1, ("root@x",)), (2, ("reply@x", "root@x")), (3, ("late@x", "reply@x")), (4, ("other@x",)), (5, ())]
"""The third knows only the mail that it answers; the fourth stands alone, the fifth has no id."""


def tables() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE documents (doc_id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL)")
    for table in TABLES:
        connection.execute(table)
    return connection


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = tables()
    yield opened
    opened.close()


def groups(connection: sqlite3.Connection, doc_ids: Sequence[int]) -> set[frozenset[int]]:
    named: dict[str, set[int]] = {}
    for doc_id, thread in threads_of(connection, doc_ids).items():
        named.setdefault(thread.name, set()).add(doc_id)
    return {frozenset(one) for one in named.values()}


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_whatever_the_order_of_the_mails(connection: sqlite3.Connection, order: tuple[int, ...]) -> None:
    """One by one, each in a commit of its own, or at once: the same threads."""
    for i in order:
        tie(connection, [FIVE[i]])
    assert groups(connection, range(6)) == {frozenset({1, 2, 3}), frozenset({4})}
    assert threads_of(connection, [3])[3].n_messages == 3
    assert threads_of(connection, [5]) == {}


def test_siblings_without_their_parent_belong_together(connection: sqlite3.Connection) -> None:
    """Two answers to a mail that is not there are one thread; two equal subjects would not be."""
    tie(connection, [(1, ("a@x", "gone@x")), (2, ("b@x", "gone@x")), (3, ("c@x",))])
    assert groups(connection, [1, 2, 3]) == {frozenset({1, 2}), frozenset({3})}


def test_a_thread_is_found_by_every_name_it_had(connection: sqlite3.Connection) -> None:
    """By its digits, by those it had before two threads became one, and by the id of any message."""
    tie(connection, [(1, ("a@x",)), (2, ("b@x",))])
    before = threads_of(connection, [1, 2])
    tie(connection, [(3, ("c@x", "a@x", "b@x"))])
    for name in (before[1].name, before[2].name, "a@x", "<b@x>", "c@x"):
        assert doc_ids_in(connection, name) == {1, 2, 3}
    assert doc_ids_in(connection, "nobody@x") == doc_ids_in(connection, "f" * 16) == set()


def test_copies_of_one_mail_count_once(connection: sqlite3.Connection) -> None:
    """The same message in two folders is one message of its thread, and both are found."""
    tie(connection, [(1, ("a@x",)), (2, ("a@x",)), (3, ("b@x", "a@x"))])
    assert threads_of(connection, [1])[1].n_messages == 2
    assert doc_ids_in(connection, "b@x") == {1, 2, 3}


def test_mails_without_an_id_are_tied_by_what_they_answer(connection: sqlite3.Connection) -> None:
    """Two of them are two messages."""
    tie(connection, [(1, ("", "a@x")), (2, ("", "a@x"))])
    assert threads_of(connection, [1, 2])[2].n_messages == 2


def test_what_is_removed_leaves_its_thread_together(connection: sqlite3.Connection) -> None:
    """The mail in the middle goes: the others stay tied. The last goes: its ids are dropped when asked."""
    tie(connection, FIVE[:3])
    connection.execute("DELETE FROM messages WHERE doc_id = 2")
    assert groups(connection, [1, 2, 3]) == {frozenset({1, 3})}
    connection.execute("DELETE FROM messages")
    forget_empty(connection)
    assert connection.execute("SELECT count(*) FROM threads").fetchone() == (0,)


def test_no_order_of_ids_costs_much(connection: sqlite3.Connection) -> None:
    """Thousands of threads that are joined one by one, each time into one of a smaller name."""
    ids = sorted((f"{i}@x" for i in range(10_000)), key=message_key, reverse=True)
    began = time.process_time()
    tie(connection, [(i, (one,)) for i, one in enumerate(ids)])
    tie(connection, [(len(ids) + i, (f"joint{i}@x", *two)) for i, two in enumerate(pairwise(ids))])
    assert time.process_time() - began < 2
    assert connection.execute("SELECT count(DISTINCT thread) FROM threads").fetchone() == (1,)


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3, unique=True), min_size=1, max_size=8))
def test_threads_are_the_parts_of_a_graph(mails: list[list[str]]) -> None:
    """Two mails are in one thread exactly if a chain of shared ids leads from one to the other."""
    connection = tables()
    for doc_id, ids in enumerate(mails):
        tie(connection, [(doc_id, tuple(ids))])
    parts: list[tuple[set[str], set[int]]] = []
    for doc_id, ids in enumerate(mails):
        joined = [part for part in parts if part[0] & set(ids)]
        parts = [part for part in parts if part not in joined]
        parts.append((set(ids).union(*(a for a, _ in joined)), {doc_id}.union(*(b for _, b in joined))))
    assert groups(connection, range(len(mails))) == {frozenset(docs) for _, docs in parts}
    connection.close()
