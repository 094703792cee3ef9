"""One visit of a user in compiled code: a Plackett-Luce page is drawn, clicked, counted and weighed by PDGD."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from foltr.arrays import BoolVector, FloatVector, Int64Vector
from simulation.batched.pages import click_through
from simulation.batched.plackett_luce import BLOCK, draw, exponentials
from simulation.batched.preferences import pair_weights, pair_weights_by_logarithms


class Sheet(NamedTuple):
    """Room for one page, used again for each."""

    scores: FloatVector
    """[longest] of the query's documents, divided by the temperature"""
    weights: FloatVector
    """[whole blocks of longest]"""
    powers: FloatVector
    """as weights"""
    sums: FloatVector
    """[blocks of longest]"""
    before: FloatVector
    """as sums"""
    ranking: Int64Vector
    """[k]"""
    placed: FloatVector
    """[k] the weights of the shown documents"""
    clicks: BoolVector
    """[k]"""
    denominators: FloatVector
    """[k + 1]"""
    order: npt.NDArray[np.uint64]
    """[k] the ranks in another order"""
    wanted: FloatVector
    """[k] by how much each rank's score should rise"""


@njit(cache=True, error_model="numpy")
def new_sheet(longest, k):  # type: ignore[no-untyped-def]
    """Room for pages of k documents, of queries with up to `longest`."""
    n_blocks = -(-longest // BLOCK)
    return Sheet(
        np.empty(longest),
        np.empty(n_blocks * BLOCK),
        np.empty(n_blocks * BLOCK),
        np.empty(n_blocks),
        np.empty(n_blocks),
        np.empty(k, np.int64),
        np.empty(k),
        np.empty(k, np.bool_),
        np.empty(k + 1),
        np.empty(k, np.uint64),
        np.empty(k),
    )


@njit(cache=True, error_model="numpy")
def visit(pages, sheet, client, query, top, state, sums):  # type: ignore[no-untyped-def]
    """Show a page of the query whose scores, up to `top`, are in `sheet.scores`; add its metrics to `sums` `[4]`.

    Leaves the page's PDGD weights in `sheet.wanted` and returns how many ranks have one: 0 when the page teaches
    nothing, -1 when the scores were not finite.
    """
    n_docs = pages.offsets[query + 1] - pages.offsets[query]
    k = min(len(pages.discounts), n_docs)
    exponentials(sheet.scores, top, n_docs, sheet.weights, sheet.powers)
    rest = draw(
        sheet.scores,
        n_docs,
        k,
        state,
        sheet.weights,
        sheet.powers,
        sheet.sums,
        sheet.before,
        sheet.ranking,
        sheet.placed,
    )
    if np.isnan(rest):
        return -1
    click_through(pages, client, query, sheet.ranking, k, state, sheet.clicks, sums)
    seen = -1
    if rest >= 0.0:
        seen = pair_weights(sheet.placed, rest, sheet.clicks, k, sheet.denominators, sheet.order, sheet.wanted)
    if seen < 0:
        seen = pair_weights_by_logarithms(
            sheet.scores, n_docs, sheet.ranking, sheet.clicks, k, sheet.denominators, sheet.wanted
        )
    return seen
