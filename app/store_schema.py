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

_FEDERATION = (
    # the group this device belongs to: an app.federation.membership.Membership
    "CREATE TABLE membership (id INTEGER PRIMARY KEY CHECK (id = 1), record BLOB NOT NULL)",
    # what was spent on privacy, written before anything is sent; mechanism is JSON of foltr.privacy.mechanisms
    """CREATE TABLE privacy_ledger (
        id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, group_id TEXT NOT NULL, lineage INTEGER NOT NULL,
        round INTEGER NOT NULL, n_params INTEGER NOT NULL, mechanism TEXT NOT NULL, exact_count INTEGER NOT NULL,
        UNIQUE (group_id, lineage, round))""",
    """CREATE TRIGGER ledger_keeps BEFORE DELETE ON privacy_ledger
        BEGIN SELECT raise(ABORT, 'the privacy ledger only grows'); END""",
    """CREATE TRIGGER ledger_stands BEFORE UPDATE ON privacy_ledger
        BEGIN SELECT raise(ABORT, 'the privacy ledger only grows'); END""",
    # one sealed update a round, kept until the server has it so that it can be sent again unchanged;
    # last_page is the newest interaction that is in it, 0 where it does not count as used
    """CREATE TABLE uploads (
        lineage INTEGER NOT NULL, round INTEGER NOT NULL, body BLOB, state TEXT NOT NULL, last_page INTEGER NOT NULL,
        n_interactions INTEGER NOT NULL, PRIMARY KEY (lineage, round)) WITHOUT ROWID""",
    # the common ranker that this device ranks with: an app.federation.group_ranker.GroupRanker
    "CREATE TABLE group_ranker (id INTEGER PRIMARY KEY CHECK (id = 1), revision BLOB NOT NULL, record BLOB NOT NULL)",
    # what servers signed when this device left: an app.federation.receipts.Kept
    "CREATE TABLE receipts (id INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL, record BLOB NOT NULL)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _FEDERATION)
