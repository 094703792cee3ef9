"""How queries are shared out among clients: {"kind": NAME, ...}, NAME being a key of PARTITIONS.

IID, every client draws from all queries: that needs no partition, or "all". A share is a set of queries of its own:
some of the queries, some documents of each, or all of them with other labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, Int64Vector
from simulation.data.queries import QuerySet, documents, select
from simulation.errors import PresetError
from simulation.rounds.numbered_models import Share

_ALL = -1
"""a document that every client may hold"""


class PartitionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What the settings of all partitions are: strict records that name themselves in the field `kind`."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """The share of every client, in their order, the same for the same state of `rng`; () where all have the whole.

        PresetError says what was wanted and what came where the queries or clients are not enough; the caller adds
        the key of the preset and the data set.
        """
        raise NotImplementedError


class Dealt(PartitionSettings, frozen=True, tag="queries"):
    """At random, each query to one client."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """As many queries to each as they go; the first clients have the one more."""
        if queries.n_queries < n_clients:
            raise PresetError(f"wanted a query for each of {n_clients} clients, got {queries.n_queries}")
        hands = np.array_split(rng.permutation(queries.n_queries), n_clients)
        return [select(queries, np.sort(hand)) for hand in hands]


class Alike(PartitionSettings, frozen=True, tag="all"):
    """Everything to everybody."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """No shares: all clients have the whole."""
        return ()


class ByAsker(PartitionSettings, frozen=True, tag="users"):
    """Every user's own queries; of a data set that says who asked."""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """The users in the order of their first query; draws nothing."""
        if not queries.askers:
            raise PresetError('federation.partition: kind = "users" needs a data set that says who asked, as aol4foltr')
        asked: dict[str, list[int]] = {}
        for query, asker in enumerate(queries.askers):
            asked.setdefault(asker, []).append(query)
        if len(asked) != n_clients:
            raise PresetError(
                f"federation.clients: {len(asked)} users asked, one client each is wanted, got {n_clients}"
            )
        return [select(queries, own) for own in asked.values()]


class Intents(PartitionSettings, frozen=True, tag="intents"):
    """All queries to everybody, for each query with another label set.

    Document preferences, Type 1 of thesis Section 4.3: every client judges the same documents in its own way.

    Intents differ in how many documents are relevant, so which of them a client has is drawn anew for every query:

        labels of client c for query q = label set pi_q(c),   pi_q a random permutation of the label sets

    ("re-balancing", Zhuang and Zuccon 2021). The published code draws pi_q from a generator seeded by query and
    repetition; here it comes from the seed of the cell. Its IID condition is no partition: all clients have the
    data set's own grades, the publishers' merged labels.
    """

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """PresetError unless there are as many label sets as clients."""
        sets = np.empty((0, 0)) if queries.label_sets is None else queries.label_sets
        if len(sets) != n_clients:
            raise PresetError(f"wanted {n_clients} label sets, one for each client, got {len(sets)}")
        chosen = rng.permuted(np.tile(np.arange(n_clients), (queries.n_queries, 1)), axis=1)
        by_document = np.repeat(chosen, np.diff(queries.offsets), axis=0)
        rows = np.arange(len(queries.grades))
        return [replace(queries, grades=sets[by_document[:, client], rows]) for client in range(n_clients)]


class Grades(PartitionSettings, frozen=True, tag="grades"):
    """By grade, and a part of the queries to everybody.

    Label distribution, Type 2 of thesis Section 4.4: a client holds only documents of some grades ("#R" of them).

    The combinations of `each` grades go to the clients in turn; a client's queries are those of which a document is
    left. The thesis and its code differ in how the documents of a grade are divided among the clients that hold it:

        pairs     at random and equally, without overlap (the thesis)
        overlap   all of them to every such client (the code as it is published)
        queries   queries are dealt out first, then each client keeps its grades (the code's other version)

    With `each` = 1 a page has one grade. Then its nDCG is 1, or 0 for grade 0, whatever the ranker: the printed
    1589.23 of Table 4.3 is 4/5 of the largest possible sum, (1 - .9995^10000) / .0005, for five grades, and nothing
    is learned of it.

    Data-sharing (Zhao et al. 2018; Section 4.4.3) gives some queries to everybody, whole. As in the code they are drawn
    with replacement, taken from the clients' own documents, and no model is trained on them beforehand.
    """

    each: Annotated[int, msgspec.Meta(ge=1)] = 1
    """grades of a client, #R"""
    divide: Literal["pairs", "overlap", "queries"] = "pairs"
    """how clients with a grade in common divide its documents"""
    shared_share: Share = 0.0
    """draws of shared queries, as a share of all queries; fewer are distinct, as the same one may be drawn again"""
    alpha: Share = 1.0
    """the share of the shared queries that the clients get, all the same ones"""

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """PresetError unless each combination of grades has equally many clients, and every client a document."""
        grades_of = self._grades_of(int(queries.grades.max()) + 1, n_clients)
        owner = self._owner(queries, grades_of, rng)
        shared, received = self._shared(queries, rng)
        shares = []
        for client, grades in enumerate(grades_of):
            own = np.isin(queries.grades, grades) & ((owner == client) | (owner == _ALL)) & ~shared
            rows = np.flatnonzero(own | received)
            if not len(rows):
                held = " and ".join(map(str, grades))
                raise PresetError(f"wanted queries for each client, got none with grade {held} for client {client}")
            shares.append(documents(queries, rows))
        return shares

    def _grades_of(self, n_grades: int, n_clients: int) -> list[tuple[int, ...]]:
        combinations = list(itertools.combinations(range(n_grades), self.each))
        if not combinations or n_clients % len(combinations):
            wanted = f"{len(combinations)} clients or a multiple, one for every {self.each} of {n_grades} grades"
            raise PresetError(f"wanted {wanted}, got {n_clients}")
        return combinations * (n_clients // len(combinations))

    def _owner(self, queries: QuerySet, grades_of: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Int64Vector:
        """The only client that may hold a document, or _ALL, `[n_docs]`."""
        owner = np.full(len(queries.grades), _ALL, dtype=np.int64)
        if self.divide == "queries":
            dealt = rng.permutation(np.arange(queries.n_queries) % len(grades_of))
            return np.repeat(dealt, np.diff(queries.offsets))
        if self.divide == "pairs":
            for grade in range(int(queries.grades.max()) + 1):
                rows = rng.permutation(np.flatnonzero(queries.grades == grade))
                owners = [client for client, grades in enumerate(grades_of) if grade in grades]
                owner[rows] = np.resize(owners, len(rows))
        return owner

    def _shared(self, queries: QuerySet, rng: np.random.Generator) -> tuple[BoolVector, BoolVector]:
        """Which documents are taken out for all, and which of them the clients get, `[n_docs]` each."""
        drawn = np.unique(rng.integers(queries.n_queries, size=round(self.shared_share * queries.n_queries)))
        sent = rng.permutation(drawn)[: round(self.alpha * len(drawn))]
        every, sizes = np.arange(queries.n_queries), np.diff(queries.offsets)
        return np.repeat(np.isin(every, drawn), sizes), np.repeat(np.isin(every, sent), sizes)


class RelevancyReset(PartitionSettings, frozen=True, tag="relevancy-reset"):
    """At random, each query to one client; turned over for the last `clients`.

    Queries dealt out, those of some clients with labels turned over: what they teach can be told from the rest.

    The relevancy reset of the study of 2025 (Tao et al., SIGIR), after its published program: the documents of a query,
    in the order of their grades, get new ones, the best the lowest. With three grades the first fifth gets 0, what
    follows up to the half 1, the rest 2; with more or fewer, each grade gets equally many, the last what is left. The
    program does so to the half of these clients' queries on which the untrained ranker has the higher loss, but that
    loss is near ln 10 for all; here all queries are reset. A ranker that has forgotten these clients ranks their
    queries badly by their labels.
    """

    clients: int = 3

    def split(self, queries: QuerySet, n_clients: int, rng: np.random.Generator) -> Sequence[QuerySet]:
        """Hands of Dealt."""
        if not 0 <= self.clients <= n_clients:
            raise PresetError(f"federation.partition.clients: wanted 0 to {n_clients}, got {self.clients}")
        top_grade = max(1, int(queries.grades.max()))
        hands = list(Dealt().split(queries, n_clients, rng))
        for client in range(n_clients - self.clients, n_clients):
            hands[client] = _reset(hands[client], top_grade)
        return hands


def _reset(queries: QuerySet, top_grade: int) -> QuerySet:
    """The same queries with the labels turned over."""
    grades = np.empty_like(queries.grades)
    for query in range(queries.n_queries):
        rows = queries.rows(query)
        best_first = np.argsort(-queries.grades[rows].astype(np.int64), kind="stable")
        grades[rows][best_first] = turned_over(len(best_first), top_grade)
    return replace(queries, grades=grades)


def turned_over(n_docs: int, top_grade: int) -> npt.NDArray[np.int8]:
    """New grades `[n_docs]` for documents from the best to the worst."""
    step = int(n_docs / (top_grade + 1))
    ends = [int(n_docs * 0.2), int(n_docs * 0.5)] if top_grade == 2 else [step * n for n in range(1, top_grade + 1)]
    return np.searchsorted(ends, np.arange(n_docs), side="right").astype(np.int8)


PARTITIONS: dict[str, type[PartitionSettings]] = {
    "all": Alike,
    "queries": Dealt,
    "users": ByAsker,
    "intents": Intents,
    "grades": Grades,
    "relevancy-reset": RelevancyReset,
}
