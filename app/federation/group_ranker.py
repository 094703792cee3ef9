"""The common ranker that this device has adopted, and a live view of it for the learner.

A device with too few pages of its own for a test believes as much of it as is more than its noise:

    D = theta - theta_shipped = what the members agree on + noise of standard deviation s in each weight

    believed = theta_shipped + sum over blocks b of  max(0, 1 - DOUBT d_b s^2 / ||D_b||^2) D_b

the estimator of James and Stein (positive part, towards the shipped ranker) in blocks of d_b weights that are about the
same property; with DOUBT 1 it is theirs, and below three weights, where theirs gains nothing, DOUBT_OF_FEW replaces it.

A taste for a kind of file lifts one weight of five, and a number added to all five changes no ranking. So there the
estimate is the posterior mean given D; a priori there is no taste in one case of two, else one kind at random is lifted
(LIKED of the time) or lowered by the absolute value of a normal amount of standard deviation TASTE. With
x_j = D_j - mean(D), q = 1 - 1/d, v = s^2 / q and k = TASTE^2 / (TASTE^2 + v), to within a tenth of s:

    odds_j = 2 l_j sqrt(1 - k) exp(k (x_j / q)^2 / 2 v),   l_j = LIKED where x_j > 0, else 1 - LIKED
    lifted_j = k (x_j / q) odds_j / (d + sum_i odds_i)

Without noise everything is believed.

A device that has pages tests the ranker on them instead (`app.federation.adoption`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec
import numpy as np

from app.federation.failures import FederationError
from app.learning.blend import Blend
from app.learning.prior import theta_prior
from app.store import Store, decode_record
from foltr.arithmetic import exp
from foltr.arrays import FloatVector, IntVector
from foltr.federated.wire import ModelRecord, decode, decode_vector, digest, encode
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.feature_values import TYPE_GROUPS
from indexer.retrieval.features import MANIFEST_HASH, NAMES


class GroupRanker(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    model: bytes
    """the JSON of the server's ModelRecord"""
    alpha: float
    """weight of the personal ranker in the blend"""
    adopted: int
    """seconds since 1970"""
    tested: bool = True
    """on this device's own pages; an untested one ranks only by what is more than its noise"""

    @property
    def record(self) -> ModelRecord:
        return decode(self.model, ModelRecord)

    @property
    def hash(self) -> str:
        return digest(self.record)

    @property
    def theta(self) -> FloatVector:
        """What it ranks by, `[n_params]`."""
        record = self.record
        theta = decode_vector(record.theta, make_ranker(record.ranker, len(NAMES)).n_params)
        if self.tested or record.ranker != "linear":
            return theta
        return believed(theta_prior(), theta, record.noise, NAMES)

    def blend(self) -> Blend | None:
        """The ranker ready to score; None for features other than this program's, as after an update."""
        record = self.record
        if record.manifest_hash != MANIFEST_HASH:
            return None
        return Blend(make_ranker(record.ranker, len(NAMES)), self.theta, self.alpha)


def load(store: Store) -> GroupRanker | None:
    found = store.rows("SELECT record FROM group_ranker")
    what = f"the group's ranker in {store.path}"
    return decode_record(found[0][0], GroupRanker, FederationError, what) if found else None


def made(model: ModelRecord, *, tested: bool, now: int) -> GroupRanker:
    """A common ranker that this device may adopt, not yet blended with the personal one."""
    return GroupRanker(model=encode(model), alpha=0.0, adopted=now, tested=tested)


def save(store: Store, model: ModelRecord, *, alpha: float, now: int, tested: bool = True) -> None:
    """Make every process rank by this one from now on."""
    record = msgspec.msgpack.encode(GroupRanker(model=encode(model), alpha=alpha, adopted=now, tested=tested))
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO group_ranker VALUES (1, ?, ?)", (os.urandom(8), record))


class CommonRanker:
    """The adopted ranker as it is at this moment; another process may adopt one at any time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision: bytes | None = None
        self._blend: Blend | None = None

    def blend(self) -> Blend | None:
        """None where there is no group, or nothing was adopted yet."""
        with self._store.lock:
            found = self._store.rows("SELECT revision FROM group_ranker")
            revision = bytes(found[0][0]) if found else None
            if revision != self._revision:
                stored = load(self._store) if revision else None
                self._blend, self._revision = (stored.blend() if stored else None), revision
            return self._blend


AGE = ("recent_week", "recent_year", "newer")
KINDS = tuple(TYPE_GROUPS)
DOUBT = 1.5
"""how many times the expected square of its noise a block must exceed"""
DOUBT_OF_FEW = 3.0
TASTE = 6.0
"""chosen with both doubts on simulated people of four collections: costs a group without a taste half a percent"""
LIKED = 0.9
"""share of tastes that are likings: people want mail, and seldom anything but mail; noise does both as often"""
TINY = 1e-100
"""least variance: the square of any weight divided by it is still finite"""


def believed(shipped: FloatVector, theta: FloatVector, noise: float, names: Sequence[str]) -> FloatVector:
    """The linear ranker `[n_features]` that a newcomer ranks by, given the common one and its noise s (in its record).

    `names` are those of the features. Weights that are as shipped belong to no block.
    """
    if noise == 0.0:
        return theta
    moved = theta - shipped
    found = shipped.copy()
    for block in _blocks(np.flatnonzero(moved), names):
        part = moved[block]
        if names[block[0]] in KINDS and len(block) >= len(KINDS) - 1:  # coin noise may cancel out in one weight
            kinds = [index for index, name in enumerate(names) if name in KINDS]
            found[kinds] += _lifted(moved[kinds], noise)
        else:
            doubt = (DOUBT if len(block) > 2 else DOUBT_OF_FEW) * len(block)
            found[block] += part * max(0.0, 1.0 - doubt * noise**2 / max(float(part @ part), TINY))
    return found


def _lifted(part: FloatVector, noise: float) -> FloatVector:
    """How far each kind `[d]` is lifted above the others, or lowered, where at most one of them is."""
    rest = 1.0 - 1.0 / len(part)
    by, variance = (part - part.mean()) / rest, max(noise**2 / rest, TINY)
    unsure = variance / (TASTE**2 + variance)
    speaks = (1.0 - unsure) * by**2 / (2.0 * variance)
    most = speaks.max()
    odds = 2.0 * np.where(by > 0.0, LIKED, 1.0 - LIKED) * unsure**0.5 * exp(speaks - most)
    lifted: FloatVector = (1.0 - unsure) * by * odds / (len(part) * exp(-most) + odds.sum())
    return lifted


def _blocks(changed: IntVector, names: Sequence[str]) -> list[list[int]]:
    """The weights about a file's age, about its kind, and about all else."""
    blocks: tuple[list[int], list[int], list[int]] = ([], [], [])
    for index in changed.tolist():
        blocks[0 if names[index] in AGE else 1 if names[index] in KINDS else 2].append(index)
    return [block for block in blocks if block]
