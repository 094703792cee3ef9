"""Exploration: the first places of a page drawn by lot, with the same luck for a document all session.

The first k places are a Plackett-Luce sample of score / temperature whose noise depends only on the session and the
document, so the order stays still while a query is typed and when it comes back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import msgspec
import numpy as np

from app.store import Store
from foltr.arrays import FloatVector, IntVector
from foltr.ranking.plackett_luce import rank_with_noise

IDLE_SECONDS = 30 * 60.0
"""a session ends after this long without a search"""
SMALLEST_TEMPERATURE = 1e-3
"""below it nothing would ever change places, and the gradient's 1 / temperature would explode: it counts as 0"""
_TOUCH_SECONDS = 60.0
"""how often the time of the last search is written down"""


class _Session(msgspec.Struct, frozen=True):
    nonce: bytes
    last: float


def session_nonce(store: Store, *, now: float) -> bytes:
    """The 16 random bytes of the present session, shared by all processes; new after 30 idle minutes.

    A damaged record, or a time from the future, begins a new session.
    """
    stored = store.value("session")
    session = None
    if stored is not None:
        try:
            session = msgspec.msgpack.decode(stored, type=_Session)
        except msgspec.MsgspecError:
            session = None
    if session is None or not -_TOUCH_SECONDS <= now - session.last <= IDLE_SECONDS:
        session = _Session(os.urandom(16), now)
    elif now - session.last < _TOUCH_SECONDS:
        return session.nonce
    store.set_value("session", msgspec.msgpack.encode(_Session(session.nonce, now)))
    return session.nonce


def noise(nonce: bytes, documents: Sequence[int | bytes]) -> FloatVector:
    """Standard Gumbel noise `[n_docs]` that depends on the session and on each document's own key only."""
    uniform = np.array([_uniform(nonce, key) for key in documents], dtype=np.float64)
    return -np.log(-np.log(uniform))


def _uniform(nonce: bytes, document: int | bytes) -> float:
    """A number in (0, 1) from 52 bits of a keyed hash."""
    name = document if isinstance(document, bytes) else document.to_bytes(8, "little", signed=True)
    bits = int.from_bytes(hashlib.blake2b(name, key=nonce, digest_size=8).digest(), "little") >> 12
    return (bits + 0.5) / 2.0**52


def explored_order(
    scores: FloatVector, gumbel: FloatVector, *, by_score: IntVector, k: int, temperature: float
) -> IntVector:
    """All rows: the first k sampled from score / temperature with this noise, the rest as they are `by_score`.

    Below SMALLEST_TEMPERATURE all of them stay `by_score`.
    """
    if temperature < SMALLEST_TEMPERATURE:
        return by_score
    first = rank_with_noise(scores / temperature, gumbel, k=k)
    return np.concatenate([first, by_score[~np.isin(by_score, first)]])
