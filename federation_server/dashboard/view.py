"""What the page shows, read in one view of the database: the open round, what members see of it, and all rounds.

The page loads nothing from anywhere. It names no member, and shows no member's share. What a member spends is told for
one who takes part in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jinja2 import Environment, PackageLoader
from sqlalchemy import Connection

from console.wording import iso_minute, round_label
from federation_server.dashboard.chart import chart
from federation_server.group import enrolment, group
from federation_server.rounds import awaited, standing
from federation_server.rounds.awaited import phase, why_it_rests
from federation_server.rounds.history import ERASED, latest_models, latest_rounds, requests
from federation_server.rounds.rounds import Policy
from foltr.federated.wire import Terms

SHOWN = 100
LISTED = 25
MODES = {
    "open": "the server opens each update",
    "sealed": "the server learns the sum alone",
    "grouped": "the server learns several sums",
}
_templates = Environment(loader=PackageLoader("federation_server", "dashboard"), autoescape=True)


def login_page(*, wrong: bool = False, unset: bool = False) -> str:
    """The form that asks for the token."""
    return _templates.get_template("login.html").render(wrong=wrong, unset=unset)


def page(connection: Connection, policy: Policy, *, now: int) -> str:
    """The dashboard's HTML."""
    agreed = group.terms(connection)
    found = standing.with_noise(agreed, latest_rounds(connection, SHOWN))
    closed = [row for row in reversed(found) if row["state"] == "closed"]
    waits = awaited.present(connection, policy.schedule, now=now)
    return _templates.get_template("page.html").render(
        group=group.fact(connection, "group") or "",
        round_label=round_label,
        open=next((_dated(row) for row in found if row["state"] == "open"), None),
        phase=phase(connection, agreed, now=now),
        why_it_rests=why_it_rests(agreed),
        waits=waits,
        mode=agreed.mode,
        mode_text=MODES[agreed.mode],
        needs=standing.members_in_words(connection, agreed),
        members=enrolment.count_active(connection, now=now),
        last=closed[-1] if closed else None,
        verdict=_verdict(closed[-1]) if closed else "not judged",
        guard=(closed[-1]["guard"] or ERASED) if closed else "no round is closed yet",
        mechanism=", ".join(f"{key} {value}" for key, value in agreed.settings.get("privacy", {}).items()),
        spent=standing.spent_in_period(connection, agreed, now=now),
        period_days=agreed.period_days,
        charts=_charts(agreed, closed) | _drift(connection),
        rounds=[_dated(row) | {"verdict": _verdict(row)} for row in found if row["state"] != "open"][:LISTED],
        requests=[_dated(row) for row in requests(connection)],
    )


def _verdict(row: dict[str, Any]) -> str:
    """The guard's; silence is not the same as calm."""
    return str(row["verdict"] or "not judged")


def _charts(agreed: Terms, closed: Sequence[dict[str, Any]]) -> dict[str, str]:
    """One of each number over the closed rounds, oldest first."""
    names = [round_label(row["lineage"], row["round"]) for row in closed]

    def column(name: str) -> list[float | None]:
        return [row[name] for row in closed]

    budget, left = standing.budget_over(agreed, closed)
    return {
        "participation": chart(names, column("n_updates"), label="updates in each round", whole=True),
        "noise": chart(names, column("noise"), beside=column("noise_so_far"), label="noise over the longest signal"),
        "agreement": chart(names, column("agreement"), beside=column("chance"), label="agreement of updates"),
        "movement": chart(
            names, column("update_norm"), beside=column("noise_length"), label="how far each round moved the ranker"
        ),
        "budget": chart(names, left, label=f"epsilon {'left' if budget else 'spent'} after each round"),
    }


def _drift(connection: Connection) -> dict[str, str]:
    models = [asdict(model) for model in reversed(latest_models(connection, SHOWN))]
    names = [round_label(model["lineage"], model["round"]) for model in models]
    return {"drift": chart(names, [model["drift"] for model in models], label="distance from the first ranker")}


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its times in words as well."""
    times = ("opened", "deadline", "closed", "asked", "done")
    return row | {f"{name}_text": iso_minute(row[name]) if row[name] else "" for name in times if name in row}
