"""Rows of results: what was measured after a round of a cell."""

from __future__ import annotations

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement; online values are means over the interactions since the row before."""

    cell: str
    """stable id of the cell"""
    settings: dict[str, str | int | float | bool]
    """the swept keys and their values"""
    fold: int
    seed: int
    round: int
    interactions: int
    """so far"""
    offline_ndcg: float
    offline_mrr: float
    offline_map: float
    offline_max_rr: float | None = None
    """expected MaxRR of the cell's users on the held-out rankings"""
    online_ndcg: float | None = None
    online_mrr: float | None = None
    online_max_rr: float | None = None
    cumulative_ndcg: float | None = None
    """sum over rounds t of (mean nDCG of the round) * gamma^(t - 1), gamma = .9995 (thesis Eq. 2.1)"""
    seconds: float = 0.0
