"""The page that shows an operator how the group stands, with its charts.

It is read in one view of the database: the open round, what members see of it, and all rounds, drawn. It loads nothing
from anywhere: charts are inline SVG. It names no member but those who were proved to lie, and shows no member's share.
What a member spends is told for one who takes part in every round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from jinja2 import Environment, PackageLoader
from sqlalchemy import Connection

from console.wording import iso_minute, round_label
from federation_server.group import enrolment, group
from federation_server.rounds import history
from federation_server.rounds.round_progress import phase, why_it_rests
from federation_server.rounds.rounds import Policy
from federation_server.sealed.summing import awaited_now
from foltr.federated.wire import Terms

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 38, 10, 10, 22
"""margins, with room for the scale and the names"""
MOST_DOTS = 30
"""points of a line that are marked one by one; beyond that only the last"""

Values = Sequence[float | None]


def chart(names: Sequence[str], values: Values, *, beside: Values = (), label: str, whole: bool = False) -> str:
    """The values of the rounds `names`, oldest left, with gaps where there is none, and a dashed line to compare with.

    `label` is read out; `whole` is for counts.
    """
    known = [value for value in (*values, *beside) if value is not None and math.isfinite(value)]
    if not any(value is not None for value in values):
        return '<p class="none">nothing yet</p>'
    top = ceiling(max(known), whole=whole)
    parts = [_scale(top), _names(names)]
    if any(value is not None for value in beside):
        parts.append(_line(beside, top, dots=False, style="beside"))
    parts.append(_line(values, top, dots=True, style="own"))
    last = next(value for value in reversed(values) if value is not None)
    said = f"{label}, {names[0]} to {names[-1]}: {last:.{0 if whole else 2}f} at last"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'


def ceiling(largest: float, *, whole: bool = False) -> float:
    """The smallest of 1, 2, 2.5, 4, 5, 6, 8 or 10 times a power of ten that is not below; 1 for nothing.

    With `whole` an even number, whose half is one as well.
    """
    if largest <= 0:
        return 2.0 if whole else 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    steps = (2, 4, 6, 8, 10, 20) if whole else (1, 2, 2.5, 4, 5, 6, 8, 10)
    least = next(step * power for step in steps if step * power >= largest * (1 - 1e-9))
    return max(least, 2.0) if whole else least


def _x(place: int, n: int) -> float:
    inside = WIDTH - LEFT - RIGHT
    return LEFT + (inside * place / (n - 1) if n > 1 else inside / 2)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * max(value, 0.0) / top


def _scale(top: float) -> str:
    lines = []
    for value in (0.0, top / 2, top):
        y = _y(value, top)
        lines.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{value:g}</text>')
    return "".join(lines)


def _names(names: Sequence[str]) -> str:
    """The first, the last, and the one between them where there is room."""
    n = len(names)
    places = sorted({0, n - 1} | ({n // 2} if n > 4 else set()))
    anchors = {n - 1: "end"} if n > 1 else {}
    return "".join(
        f'<text x="{_x(place, n):.1f}" y="{HEIGHT - 6}" text-anchor="{anchors.get(place, "middle")}">'
        f"{escape(names[place])}</text>"
        for place in places
    )


def _line(values: Values, top: float, *, dots: bool, style: str) -> str:
    """A path that is lifted at gaps, and its dots."""
    n, path, drawn, points = len(values), [], False, []
    for place, value in enumerate(values):
        if value is None or not math.isfinite(value):
            drawn = False
            continue
        x, y = _x(place, n), _y(value, top)
        path.append(f"{'L' if drawn else 'M'}{x:.1f} {y:.1f}")
        points.append((x, y))
        drawn = True
    shown = (points if len(points) <= MOST_DOTS else points[-1:]) if dots else []
    circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in shown)
    return f'<path class="{style}" d="{"".join(path)}"/>{circles}'


SHOWN = 100
LISTED = 25
MODES = {
    "open": "the server opens each update",
    "sealed": "the server learns the sum alone",
    "grouped": "the server learns several sums",
}
templates = Environment(loader=PackageLoader("federation_server"), autoescape=True)


def page(connection: Connection, policy: Policy, *, now: int) -> str:
    """The dashboard's HTML."""
    agreed = group.terms(connection)
    found = history.with_noise(agreed, history.latest_rounds(connection, SHOWN))
    closed = [row for row in reversed(found) if row["state"] == "closed"]
    waits = awaited_now(connection, policy.schedule, now=now)
    return templates.get_template("page.html").render(
        group=group.fact(connection, "group") or "",
        round_label=round_label,
        open=next((_dated(row) for row in found if row["state"] == "open"), None),
        phase=phase(connection, agreed, now=now),
        why_it_rests=why_it_rests(agreed),
        waits=waits,
        mode=agreed.mode,
        mode_text=MODES[agreed.mode],
        needs=history.members_in_words(connection, agreed, now=now),
        members=enrolment.count_active(connection, now=now),
        last=closed[-1] if closed else None,
        verdict=_verdict(closed[-1]) if closed else "not judged",
        guard=(closed[-1]["guard"] or history.ERASED) if closed else "no round is closed yet",
        mechanism=history.mechanism_in_words(agreed),
        spent=history.spent_in_period(connection, agreed, now=now),
        period_days=agreed.period_days,
        charts=_charts(agreed, closed) | _drift(connection),
        rounds=[_dated(row) | {"verdict": _verdict(row)} for row in found if row["state"] != "open"][:LISTED],
        requests=[_dated(row) for row in history.requests(connection)],
    )


def _verdict(row: dict[str, Any]) -> str:
    """The guard's; silence is not the same as calm."""
    return str(row["verdict"] or "not judged")


def _charts(agreed: Terms, closed: Sequence[dict[str, Any]]) -> dict[str, str]:
    """One of each number over the closed rounds, oldest first."""
    names = [round_label(row["lineage"], row["round"]) for row in closed]

    def column(name: str) -> list[float | None]:
        return [row[name] for row in closed]

    budget, left = history.budget_over(agreed, closed)
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
    models = history.latest_models(connection, SHOWN)[::-1]
    names = [round_label(model.lineage, model.round) for model in models]
    return {"drift": chart(names, [model.drift for model in models], label="distance from the first ranker")}


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its times in words as well."""
    times = ("opened", "deadline", "closed", "asked", "done")
    return row | {f"{name}_text": iso_minute(row[name]) if row[name] else "" for name in times if name in row}
