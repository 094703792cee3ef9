"""What happened in the group, for the operator's list and the dashboard: whole rounds, never a member's share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from federation_server.group import group
from federation_server.tables import forgettings, models, rounds
from foltr.federated.wire import ModelRecord, decode, decode_vector

COLUMNS = (
    "lineage",
    "round",
    "purpose",
    "state",
    "opened",
    "deadline",
    "closed",
    "n_updates",
    "rule",
    "guard",
    "verdict",
)

ERASED = "erased with a member"
"""in place of what closing a round had said of its updates"""


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A published ranker as numbers about it."""

    lineage: int
    round: int
    hash: str
    created: int
    norm: float
    """||theta||_2"""
    drift: float
    """||theta - theta of the present lineage's first model||_2"""


def latest_rounds(connection: Connection, n: int) -> list[dict[str, Any]]:
    """Newest first; never the round's keys."""
    columns = [rounds.c[name] for name in (*COLUMNS, "update_norm", "agreement")]
    query = select(*columns).order_by(rounds.c.lineage.desc(), rounds.c.round.desc()).limit(n)
    return [dict(row._mapping) for row in connection.execute(query)]


def one_round(connection: Connection, lineage: int, number: int) -> dict[str, Any] | None:
    """As `latest_rounds`, with the hash of the ranker that it began from; None when there was no such round."""
    columns = [rounds.c[name] for name in (*COLUMNS, "update_norm", "agreement", "model_hash")]
    query = select(*columns).where(rounds.c.lineage == lineage, rounds.c.round == number)
    row = connection.execute(query).first()
    return dict(row._mapping) if row is not None else None


def latest_models(connection: Connection, n: int) -> list[ModelSummary]:
    """Newest first."""
    query = select(models).order_by(models.c.lineage.desc(), models.c.round.desc()).limit(n)
    rows = connection.execute(query).all()
    if not rows:
        return []
    origin = group.at(connection, rows[0].lineage, 0)
    found = []
    for row in rows:
        record = decode(bytes(row.record), ModelRecord)
        theta = decode_vector(record.theta, len(record.theta) // 8)
        drift = float(np.linalg.norm(theta - origin.model.theta)) if origin else float("nan")
        summary = ModelSummary(row.lineage, row.round, row.hash, row.created, float(np.linalg.norm(theta)), drift)
        found.append(summary)
    return found


def requests(connection: Connection) -> list[dict[str, Any]]:
    """Forget-me requests, newest first: when, how, how far; no names."""
    columns = [forgettings.c[name] for name in ("request", "asked", "state", "method", "erased", "done")]
    return [dict(row._mapping) for row in connection.execute(select(*columns).order_by(forgettings.c.asked.desc()))]
