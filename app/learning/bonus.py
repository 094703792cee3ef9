"""How far habits move a document: on the scale of how likely it is to be what was asked for.

    u(t) = ln sigma(SLOPE (t - best t))    t points of the text; fitted: the log of P(relevant | t)
    s    = u^-1( u(t) + sum over traits of  room * clip(liking, -CAP, CAP) * held )        the score by text and habits
    room = (1 - share)^2, of ROLES 1       share: of all they could, what the best FIRST documents have of the trait

So a habit moves much where both documents are surely relevant, and little where one of them is not. The more of a page
a kind already fills, the less it rises. Of the folders that a document lies in, one within another, the one that is
worth most counts. What all candidates have alike changes nothing. From where it is FLATTEST on, u goes straight on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.learning.traits import FOLDER, NEW, NEWEST, ROLES, Traits
from foltr.arrays import FloatMatrix, FloatVector

SLOPE = 0.714
FLATTEST = 0.2
"""the least slope of u, as a share of SLOPE"""
CAP = 0.87
FIRST = 30

_KNEE = float(np.log((1 - FLATTEST) / FLATTEST))
"""where sigma(-x) is FLATTEST"""
_AT_KNEE = -float(np.log1p(np.exp(-_KNEE)))


def scale(text: FloatVector) -> FloatVector:
    """u of the text of all candidates of a page, `[n_docs]` each."""
    x = SLOPE * (text - text.max())
    u: FloatVector = -np.logaddexp(0.0, -x)
    return u


def points_at(u: FloatVector, best: float) -> FloatVector:
    """The points of the text whose u this is, each, on a page whose best has so many."""
    low = np.minimum(u, _AT_KNEE)
    x = low - np.log(-np.expm1(low)) + np.maximum(u - _AT_KNEE, 0.0) / FLATTEST
    return x / SLOPE + best


def raised(traits: Traits, liking: Mapping[str, float], text: FloatVector) -> FloatMatrix:
    """By how much each habit raises each document on the scale of the text, `[n_docs, n_traits]`."""
    worth = np.clip([liking.get(name, 0.0) for name in traits.names], -CAP, CAP)
    best = np.argsort(-text, kind="stable")[:FIRST]
    share = traits.held[best].mean(axis=0) / [NEWEST if name == NEW else 1.0 for name in traits.names]
    room = [1.0 if name in ROLES else own for name, own in zip(traits.names, (1.0 - share) ** 2, strict=True)]
    gained: FloatMatrix = traits.held * worth * room
    folders = [column for column, name in enumerate(traits.names) if name.startswith(FOLDER)]
    if folders:
        nested = gained[:, folders]
        gained[:, folders] = np.where(np.arange(len(folders)) == nested.argmax(axis=1)[:, None], nested, 0.0)
    return gained


def moved(text: FloatVector, gained: FloatMatrix) -> FloatMatrix:
    """The same in points, `[n_docs, n_traits]`: the sum of a row is how far habits move the document."""
    total, u = gained.sum(axis=1), scale(text)
    way = points_at(u + total, float(text.max())) - text
    rate = np.divide(way, total, out=np.zeros_like(total), where=np.abs(total) > 1e-9)
    points: FloatMatrix = gained * rate[:, None]
    return points
