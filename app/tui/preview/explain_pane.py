"""Why the selected result ranks where it does."""

from __future__ import annotations

from textwrap import wrap

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from app.search.results import Contrast, Contribution, Explanation, Hit, title_of
from console.printable import safe_line
from console.wording import fit

SHOWN = 14
"""features that are listed"""
NOTHING = "·"
BAR = 6
"""cells of a bar that stands for a value of 1"""


class ExplainPane(VerticalScroll):
    """The summary, what sets the result apart from the row above it, then the features that moved it most."""

    HELP = "Why the result ranks where it does: compared with the row above it, and the features that moved it most."

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._explanation: Explanation | None = None
        self._text = Static(id="explain-text", markup=False)

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, explanation: Explanation | None) -> None:
        self._explanation = explanation
        self.scroll_home(animate=False)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = max(24, self.size.width - 2)
        self._text.update(explanation_text(self._explanation, width) if self._explanation else Text())


def explanation_text(explanation: Explanation, width: int) -> Text:
    """The whole pane as text, `width` cells wide."""
    hit = explanation.hit
    text = Text()
    text.append(fit(title_of(hit), width) + "\n", style="bold")
    told = [f"place {hit.rank}"]
    told += [f"by its words alone {hit.bm25_rank}"] if hit.bm25_rank else []
    told += [f"{explanation.score:.2f} points"] if explanation.contributions else []
    told += [f"ranked as {explanation.ranked_as}"] if explanation.ranked_as else []
    text.append(" · ".join(told) + "\n", style="dim")
    text.append("\n" + safe_line(explanation.summary) + "\n\n")
    if explanation.contrast is not None:
        _compare(text, hit, explanation.contrast, width)
    if not explanation.contributions:
        return text
    text.append("what it has".ljust(width - 18) + "shipped".rjust(9) + "learned".rjust(9) + "\n", style="dim")
    for contribution in explanation.contributions[:SHOWN]:
        text.append_text(_line(contribution, width))
    return text


def _compare(text: Text, hit: Hit, contrast: Contrast, width: int) -> None:
    """The parts in which two neighbours differ, and how much that is together."""
    other = contrast.other
    where = "the row above" if other.rank < hit.rank else "the row below"
    text.append(fit(f"against {where}: {title_of(other)}", width) + "\n", style="dim")
    told = [part for part in contrast.parts if points(part.ahead) != NOTHING]
    for part in told:
        text.append(fit(part.description, width - 10).ljust(width - 9) + points(part.ahead).rjust(9) + "\n")
    text.append("together".ljust(width - 9) + points(contrast.ahead).rjust(9) + "\n\n", style="bold")


def _line(contribution: Contribution, width: int) -> Text:
    room = max(8, width - BAR - 1 - 18)
    first, *more = wrap(safe_line(contribution.description or contribution.feature), room) or [""]
    line = Text()
    filled = max(0, min(BAR, round(contribution.value * BAR)))
    line.append("▪" * filled, style="bold")
    line.append("·" * (BAR - filled) + " ", style="dim")
    line.append(first.ljust(room))
    line.append(points(contribution.prior).rjust(9))
    line.append(
        points(contribution.learned).rjust(9), style="dim" if points(contribution.learned) == NOTHING else "bold"
    )
    line.append("".join(f"\n{'':{BAR + 1}}{rest}" for rest in more))
    return line.append("\n")


def points(value: float) -> str:
    """+1.25, −0.30, or a dot for nothing."""
    if not round(value, 2):
        return NOTHING
    return f"{'+' if value > 0 else '−'}{abs(value):.2f}"
