"""What the page shows, read in one view of the database: rounds, small curves as inline SVG, and the privacy spent.

The page loads nothing from anywhere. What a member spends is told for one who takes part in every round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader
from sqlalchemy import Connection

from federation_server import enrolment, group
from federation_server.history import latest_models, latest_rounds, requests
from federation_server.rounds import Policy
from federation_server.standing import chance, epsilon
from foltr.federated.wire import Terms

WIDTH, HEIGHT, MARGIN = 280, 72, 4


def curve(values: Sequence[float | None], *, label: str) -> str:
    """A line over rounds, oldest left, gaps where there is no value; the last value is marked."""
    known = [value for value in values if value is not None]
    if not known:
        return '<p class="none">nothing yet</p>'
    low, high = min(0.0, *known), max(known)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * MARGIN) / max(len(values) - 1, 1)
    points = [
        (MARGIN + i * step, HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN))
        for i, value in enumerate(values)
        if value is not None
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="3"/></svg>'
    )


SHOWN = 100
LISTED = 25
_templates = Environment(loader=PackageLoader("federation_server", "dashboard"), autoescape=True)


def login_page(*, wrong: bool = False, unset: bool = False) -> str:
    """The form that asks for the token."""
    return _templates.get_template("login.html").render(wrong=wrong, unset=unset)


def page(connection: Connection, policy: Policy, *, now: int) -> str:
    """The dashboard's HTML."""
    agreed = group.terms(connection)
    found = latest_rounds(connection, SHOWN)
    closed = [row for row in reversed(found) if row["state"] == "closed"]
    return _templates.get_template("page.html").render(
        group=group.fact(connection, "group") or "",
        open=next((_dated(row) for row in found if row["state"] == "open"), None),
        quorum=policy.schedule.quorum,
        floor=agreed.floor,
        members=enrolment.count_active(connection, now=now),
        verdict=(closed[-1]["verdict"] if closed else None) or "not judged",
        guard=closed[-1]["guard"] if closed else "no round is closed yet",
        chance=chance(closed[-1]["n_updates"]) if closed else None,
        participation=curve([float(row["n_updates"]) for row in closed], label="updates in each round"),
        agreement=curve([row["agreement"] for row in closed], label="agreement of updates in each round"),
        movement=curve([row["update_norm"] for row in closed], label="length of each round's joined update"),
        rounds=[_dated(row) for row in found if row["state"] != "open"][:LISTED],
        requests=[_dated(row) for row in requests(connection)],
        **_models(connection),
        **_privacy(connection, agreed),
    )


def _models(connection: Connection) -> dict[str, Any]:
    models = [asdict(model) for model in reversed(latest_models(connection, SHOWN))]
    drift = curve([model["drift"] for model in models], label="distance from the lineage's first ranker")
    return {"drift": drift, "norm": models[-1]["norm"] if models else None}


def _privacy(connection: Connection, agreed: Terms) -> dict[str, Any]:
    n_rounds = int(group.fact(connection, "rounds closed") or 0)
    return {
        "rounds_spent": n_rounds,
        "epsilon": epsilon(agreed, n_rounds),
        "epsilon_next": epsilon(agreed, n_rounds + 1),
        "mechanism": ", ".join(f"{key} {value}" for key, value in agreed.settings.get("privacy", {}).items()),
    }


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its times in words as well."""
    times = ("opened", "deadline", "closed", "asked", "done")
    return row | {f"{name}_text": _when(row[name]) for name in times if name in row}


def _when(seconds: int | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else ""
