"""Does learning help? The places of what was opened, told in numbers and one small plot.

The numbers are `app.learning.outcomes`'s own, the same that `foltr-search stats` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from app.learning.outcomes import Outcome, caution, overall, verdict
from app.tui.key_queue import Panel

WIDTH = 72
"""cells inside the panel, at most"""


class StatsScreen(Panel[None]):
    """A panel over the screen; the numbers are read in a worker, for each width anew."""

    shows = True
    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,S,f6,enter", "dismiss", "Close")]

    def __init__(self, read: Callable[[], Sequence[Outcome]]) -> None:
        """`read` may take its time; it is called in a worker."""
        super().__init__()
        self._read = read

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="stats-panel"):
            yield Static("Does the learned order help?", id="stats-title")
            yield Static("Reading …", id="stats-text", classes="reading", markup=False)

    def on_resize(self) -> None:
        show = self.query_one("#stats-text", Static).update
        self.read(self._read, lambda found: show(stats_text(found, min(WIDTH, self.size.width - 12))))


BLOCKS = " ▁▂▃▄▅▆▇█"
PLOT_HEIGHT = 4


def columns_of(outcomes: Sequence[Outcome], n_columns: int) -> list[tuple[float, float]]:
    """(learned, BM25) mean reciprocal rank in `n_columns` stretches of equally many openings, oldest first."""
    n_columns = max(1, min(n_columns, len(outcomes)))
    edges = [round(i * len(outcomes) / n_columns) for i in range(n_columns + 1)]
    stretches = [overall(outcomes[a:b]) for a, b in pairwise(edges)]
    return [(one.mrr_learned, one.mrr_bm25) for one in stretches if one is not None]


def plot(values: Sequence[float], height: int) -> list[str]:
    """Columns of blocks for values in [0, 1], `height` lines, the top line first."""
    lines = []
    for level in range(height - 1, -1, -1):
        filled = [max(0.0, min(1.0, value * height - level)) for value in values]
        lines.append("".join(BLOCKS[round(part * 8)] for part in filled))
    return lines


def stats_text(outcomes: Sequence[Outcome], width: int) -> Text:
    text = Text()
    total = overall(outcomes)
    if total is None:
        text.append("Nothing was opened yet\n\n", style="bold")
        return text.append("Each time you open a result, its place is compared with the one by plain word matching.\n")
    text.append(verdict(outcomes) + "\n", style="bold")
    text.append(caution(outcomes) + "\n\n")
    text.append(f"{'':30}{'learned':>10}{'plain':>10}\n", style="dim")
    text.append(f"{'opened results that stood first':30}{total.first_learned:9.0%}{total.first_bm25:10.0%}\n")
    columns = columns_of(outcomes, max(8, width - 6))
    for name, values in (("learned", [c[0] for c in columns]), ("plain", [c[1] for c in columns])):
        text.append(f"\n{name}: how near the top they stood (full height: first), oldest on the left\n", style="dim")
        text.append("".join(f"  {line}\n" for line in plot(values, PLOT_HEIGHT)), "dim" if name == "plain" else "")
    return text
