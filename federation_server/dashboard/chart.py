"""A small chart over rounds as inline SVG: lines from zero on, with a scale and the rounds' names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 38, 10, 10, 22
"""margins, with room for the scale and the names"""
MOST_DOTS = 30
"""points of a line that are marked one by one; beyond that its last alone"""

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
