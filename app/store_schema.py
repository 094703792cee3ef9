"""The tables of state.sqlite, as the steps that lead from an empty file to the present format.

A file's `user_version` is the number of steps it has seen. Released steps never change; a new format adds a step.
"""

from __future__ import annotations

_FIRST = (
    # small values by name: the session's nonce, the last page, a check of the key, a revision of the picks
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    # pages that taught something: foltr.ranking.interaction records, nothing else
    """CREATE TABLE interactions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, manifest_hash TEXT NOT NULL, record BLOB NOT NULL)""",
    # the present model of each ranker: an app.model_versions.ModelRecord; `revision` is random and new with each write
    "CREATE TABLE models (ranker TEXT PRIMARY KEY, revision BLOB NOT NULL, record BLOB NOT NULL) WITHOUT ROWID",
    # the model as it was at the end of a day (ISO date, local time)
    """CREATE TABLE snapshots (
        ranker TEXT NOT NULL, day TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (ranker, day)) WITHOUT ROWID""",
    # documents that were opened; every name is a keyed hash (app.pick_keys), n_opened is what decay left at `last`
    """CREATE TABLE picked_documents (
        document BLOB PRIMARY KEY, path BLOB NOT NULL, part BLOB NOT NULL, type BLOB NOT NULL,
        n_opened REAL NOT NULL, last REAL NOT NULL) WITHOUT ROWID""",
    # which document was opened for which set of query terms
    """CREATE TABLE picks (
        document BLOB NOT NULL, query BLOB NOT NULL, n_picks REAL NOT NULL, last REAL NOT NULL,
        PRIMARY KEY (document, query)) WITHOUT ROWID""",
    "CREATE INDEX picks_by_query ON picks (query)",
    "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, query TEXT NOT NULL)",
    # where opened results stood: 1 for the first; winner of interleaving or null
    """CREATE TABLE outcomes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, rank_learned INTEGER NOT NULL,
        rank_bm25 INTEGER NOT NULL, source TEXT NOT NULL, winner TEXT)""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
