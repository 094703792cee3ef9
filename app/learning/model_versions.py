"""Versions of what was learned: the present model, and one for each day of the last month.

Of a linear ranker the votes of its queries are kept (app.learning.votes); its weights stay as shipped. A net is kept
with the names of its features, so that it survives a program whose feature manifest has grown. What it learned is
f_theta(x) - prior . x, where `prior` are the linear weights that theta began from: a prior shipped later takes their
place in the score, and what was learned is added to it unchanged.
"""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import msgspec
import numpy as np

from app.learning.votes import Votes
from app.store import Store, decode_record
from console.durable import content_of, replace_durably
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ModelError
from foltr.ranking.rankers import RANKERS, Ranker, make_ranker

KEPT_DAYS = 31
LARGEST_WEIGHT = 1e6
"""No weight in use comes near; one beyond it can only be damage, or an attack."""

NO_VOTES = Votes()

FORMAT = "foltr-search model"
FORMAT_VERSION = 1


class StoredModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model as it is stored and exported."""

    format: str = FORMAT
    version: int = FORMAT_VERSION
    ranker: str
    manifest_hash: str
    feature_names: tuple[str, ...]
    prior: tuple[float, ...]
    theta: tuple[float, ...]
    n_pages: int
    n_picks: int
    updated: float
    votes: Votes = NO_VOTES
    squares: tuple[float, ...] = ()
    """in models from before there were votes; ignored"""


class PersonalModel(msgspec.Struct, frozen=True, eq=False):
    """A model in use."""

    ranker: Ranker
    manifest_hash: str
    """identifies the meaning of the features"""
    feature_names: tuple[str, ...]
    prior: FloatVector
    """[n_features] linear weights that theta began from"""
    theta: FloatVector
    """[n_params]"""
    n_pages: int = 0
    """result pages learned from"""
    n_picks: int = 0
    """results opened on them"""
    updated: float = 0.0
    """seconds since the epoch of the last lesson, 0 for never"""
    votes: Votes = NO_VOTES
    """of the linear ranker: what each query says about a person's habits"""

    def learned(self, features: FloatMatrix) -> FloatVector:
        """What was learned about each document, before any bound: f_theta(x_d) - prior . x_d, `[n_docs]`."""
        return self.ranker.score(self.theta, features) - features @ self.prior

    def carried_over(self, feature_names: tuple[str, ...], manifest_hash: str) -> PersonalModel:
        """The same knowledge for another manifest: known features by name, new ones without any effect."""
        columns = [self.feature_names.index(n) if n in self.feature_names else None for n in feature_names]
        return msgspec.structs.replace(
            self,
            ranker=make_ranker(self.ranker.name, len(feature_names)),
            manifest_hash=manifest_hash,
            feature_names=feature_names,
            prior=np.array([0.0 if c is None else self.prior[c] for c in columns]),
            theta=self.ranker.with_features(self.theta, columns),
        )


def to_record(model: PersonalModel) -> StoredModel:
    return StoredModel(
        ranker=model.ranker.name,
        manifest_hash=model.manifest_hash,
        feature_names=model.feature_names,
        prior=tuple(model.prior.tolist()),
        theta=tuple(model.theta.tolist()),
        n_pages=model.n_pages,
        n_picks=model.n_picks,
        updated=model.updated,
        votes=model.votes,
    )


def from_record(record: StoredModel, source: str) -> PersonalModel:
    """The model of a record; ModelError, naming the source, when its parts do not fit this program or each other."""
    if (record.format, record.version) != (FORMAT, FORMAT_VERSION):
        wanted = f"{FORMAT!r} version {FORMAT_VERSION}"
        raise ModelError(f"{source}: wanted {wanted}, got {record.format!r} version {record.version}")
    if record.ranker not in RANKERS:
        raise ModelError(f"{source}: no ranker {record.ranker!r}; there are {', '.join(RANKERS)}")
    names = record.feature_names
    if len(set(names)) != len(names):
        raise ModelError(f"{source}: a feature is named twice")
    ranker = make_ranker(record.ranker, len(names))
    prior = _weights(record.prior, len(names), f"{source}: prior")
    theta = _weights(record.theta, ranker.n_params, f"{source}: theta")
    return PersonalModel(
        ranker=ranker,
        manifest_hash=record.manifest_hash,
        feature_names=names,
        prior=prior,
        theta=prior if record.ranker == "linear" else theta,  # weights from before there were votes are dropped
        n_pages=record.n_pages,
        n_picks=record.n_picks,
        updated=record.updated,
        votes=record.votes,
    )


def _weights(values: tuple[float, ...], n: int, what: str) -> FloatVector:
    weights = np.array(values, dtype=np.float64)
    if weights.shape != (n,):
        raise ModelError(f"{what} has {len(values)} numbers, not {n}")
    if not (np.abs(weights) <= LARGEST_WEIGHT).all():
        raise ModelError(f"{what} holds a number that is not finite or beyond {LARGEST_WEIGHT:g}")
    return weights


def revision(store: Store, ranker: str) -> bytes | None:
    """Changes whenever the present model of this ranker does, from whichever process; None when there is none."""
    found = store.rows("SELECT revision FROM models WHERE ranker = ?", (ranker,))
    return bytes(found[0][0]) if found else None


def load(store: Store, ranker: str) -> PersonalModel | None:
    """The present model of this ranker, None when nothing was learned with it; ModelError when it is damaged."""
    found = store.rows("SELECT record FROM models WHERE ranker = ?", (ranker,))
    return _decode(found[0][0], f"the {ranker} model in {store.path}") if found else None


def save(store: Store, model: PersonalModel, today: date) -> bytes:
    """Make this the present model and today's version, forget versions older than a month; gives its revision.

    The newest version from before that month stays: it is what the month's first days without learning looked like.
    """
    record = msgspec.msgpack.encode(to_record(model))
    token, name = os.urandom(8), model.ranker.name
    oldest = (today - timedelta(days=KEPT_DAYS)).isoformat()
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO models VALUES (?, ?, ?)", (name, token, record))
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (name, today.isoformat(), record))
        db.execute(
            """DELETE FROM snapshots WHERE ranker = ?1 AND day <
               (SELECT max(day) FROM snapshots WHERE ranker = ?1 AND day <= ?2)""",
            (name, oldest),
        )
    return token


def days(store: Store, ranker: str, *, today: date) -> tuple[date, ...]:
    """The days of the last month of which a version is kept, oldest first."""
    oldest = (today - timedelta(days=KEPT_DAYS)).isoformat()
    sql = "SELECT day FROM snapshots WHERE ranker = ? AND day BETWEEN ? AND ? ORDER BY day"
    found = store.rows(sql, (ranker, oldest, today.isoformat()))
    return tuple(date.fromisoformat(day) for (day,) in found)


def as_of(store: Store, ranker: str, *, day: date, today: date) -> PersonalModel | None:
    """The model as it was at the end of that day; None when nothing had been learned by then.

    ModelError for a day in the future or more than a month back.
    """
    if not today - timedelta(days=KEPT_DAYS) <= day <= today:
        first = today - timedelta(days=KEPT_DAYS)
        raise ModelError(f"versions are kept from {first} to {today}; there is none for {day}")
    found = store.rows(
        "SELECT record FROM snapshots WHERE ranker = ? AND day <= ? ORDER BY day DESC LIMIT 1",
        (ranker, day.isoformat()),
    )
    return _decode(found[0][0], f"the {ranker} model of {day} in {store.path}") if found else None


def _decode(data: bytes, source: str) -> PersonalModel:
    record = decode_record(data, StoredModel, ModelError, source, "; `foltr-search model reset` starts afresh")
    return from_record(record, source)


def export_model(model: PersonalModel, path: Path) -> None:
    """Write the model as JSON, readable by its owner only; ModelError when that is not possible.

    The keyed hashes that name folders and queries are left out: no other device could read them anyway.
    """
    shared = msgspec.structs.replace(model, votes=model.votes.unnamed())
    content = msgspec.json.format(msgspec.json.encode(to_record(shared)), indent=1) + b"\n"
    try:
        replace_durably(path, content)
    except OSError as error:
        raise ModelError(f"cannot write {path}: {error.strerror}") from error


def import_model(
    path: Path, *, feature_names: tuple[str, ...], manifest_hash: str, by_name: bool = False
) -> PersonalModel:
    """The model in a file, for the features of this program.

    Raises ModelError when the file is no model, or was made for other features; `by_name` then keeps the weights of
    those features that have the same name here.
    """
    try:
        record = msgspec.json.decode(content_of(path), type=StoredModel)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is no model of foltr-search: {error}") from error
    model = from_record(record, str(path))
    if model.manifest_hash == manifest_hash:
        if model.feature_names != feature_names:
            raise ModelError(f"{path} names its features otherwise than the manifest {manifest_hash} it claims")
        return model
    if not by_name:
        raise ModelError(
            f"{path} was made for other features (manifest {model.manifest_hash}, this program has {manifest_hash}); "
            f"importing by name would keep {len(set(model.feature_names) & set(feature_names))} of "
            f"{len(model.feature_names)} weights"
        )
    return model.carried_over(feature_names, manifest_hash)
