"""Small curves as inline SVG: the page loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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
